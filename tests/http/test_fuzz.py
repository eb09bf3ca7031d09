"""A thousand inputs of the fuzzer, `python -m tests.http.fuzz`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.waiting import PROCESS_PATIENCE_SECONDS

COVERAGE = re.compile(r"#\d+\s+(?:INITED|DONE) +cov: (\d+) ft: (\d+)")
"""Branches and features that were reached: by the seeds, and in the end."""


def test_a_thousand_inputs_find_no_fault_and_come_further_than_the_seeds(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris is not there for every system")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    fuzz = [sys.executable, "-m", "tests.http.fuzz", f"-artifact_prefix={tmp_path}/"]
    done = subprocess.run(
        [*fuzz, "-seed=1", "-timeout=60", "-runs=1000"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert list(temporary.iterdir()) == []
    [seeds, end] = [tuple(map(int, found)) for found in COVERAGE.findall(done.stderr)]
    assert (0, 0) < seeds < end
