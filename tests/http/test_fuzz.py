"""A few seconds of the fuzzer, `python -m tests.http.fuzz`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_import_order import ROOT

pytest.importorskip("atheris", reason="atheris is not there for every system")


def test_a_few_seconds_of_fuzzing_find_no_fault(tmp_path: Path) -> None:
    options = ("-max_total_time=4", "-timeout=10", "-verbosity=0", f"-artifact_prefix={tmp_path}/")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.http.fuzz", *options],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert list(temporary.iterdir()) == []
