"""A thousand inputs of the fuzzer, `python -m tests.http.fuzz`, and what makes a run worthless."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.http.fuzz_progress import followed
from tests.paths import ROOT
from tests.waiting import PROCESS_PATIENCE_SECONDS

BLIND = """\
INFO: seed corpus: files: 285 min: 3b max: 1537b total: 26142b rss: 54Mb
#286	INITED exec/s: 286 rss: 56Mb
WARNING: no interesting inputs were found so far. Is the code instrumented for coverage?
#512	pulse  corp: 1/1b lim: 8 exec/s: 256 rss: 57Mb
#2000	DONE   corp: 1/1b lim: 21 exec/s: 200 rss: 57Mb
"""
SEEING = """\
#286	INITED cov: 532 ft: 1371 corp: 102/12157b exec/s: 0 rss: 58Mb
#400	DONE   cov: {} ft: {} corp: {}/13107b lim: 1537 exec/s: 0 rss: 58Mb
"""


def fuzzed(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    pytest.importorskip("atheris", reason="atheris is not there for every system")
    temporary = folder / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.http.fuzz", f"-artifact_prefix={folder}/"),
            *("-seed=1", "-timeout=60", *options),
        ],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
        check=False,
    )
    assert list(temporary.iterdir()) == []
    return done


def test_a_thousand_inputs_find_no_fault_and_come_further_than_the_seeds(tmp_path: Path) -> None:
    done = fuzzed(tmp_path, "-runs=1000")
    assert done.returncode == 0, done.stderr[-3000:]
    progress = followed(io.StringIO(done.stderr), io.StringIO())
    assert 0 < progress.seeds.branches <= progress.end.branches
    assert progress.seeds.features < progress.end.features
    assert 50 < progress.seeds.corpus < progress.end.corpus


def test_a_run_that_comes_no_further_than_its_seeds_fails(tmp_path: Path) -> None:
    done = fuzzed(tmp_path, "-runs=1")
    assert done.returncode == 1
    assert "fuzz: nothing that the seeds do not reach was reached\n" in done.stderr


@pytest.mark.parametrize(
    ("printed", "fault"),
    [
        ("", "the fuzzer is blind: it sees no coverage of what it executes"),
        (BLIND, "the fuzzer is blind: it sees no coverage of what it executes"),
        (SEEING.format(532, 1371, 102), "nothing that the seeds do not reach was reached"),
        (SEEING.format(532, 1371, 103), "nothing that the seeds do not reach was reached"),
        (SEEING.format(532, 1380, 102), "nothing that the seeds do not reach was reached"),
        (SEEING.format(533, 1380, 103), None),
    ],
)
def test_the_output_of_libfuzzer_shows_whether_it_saw_and_grew(
    printed: str, fault: str | None
) -> None:
    copy = io.StringIO()
    assert followed(io.StringIO(printed), copy).fault == fault
    assert copy.getvalue() == printed
