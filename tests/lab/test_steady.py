"""`make steady` names what was unsteady in any of its runs, and leaves no process behind."""

import signal
import subprocess
import sys
from pathlib import Path

from lab.steady import BUSY
from tests.lab.proofs import parents, started_by
from tests.paths import ROOT
from tests.waiting import PROCESS_PATIENCE_SECONDS


def steady(folder: Path, suite: str) -> "subprocess.Popen[str]":
    """Start a run whose suite is a script, with the order in `seed`."""
    script = folder / "suite.py"
    script.write_text(f"import os, time\nseed = os.environ['SEED']\n{suite}")
    return subprocess.Popen(
        [sys.executable, "-m", "lab.steady", "--runs", "2", sys.executable, str(script)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_every_run_has_another_seed_and_its_output_is_read(tmp_path: Path) -> None:
    suite = """
print("unsteady: tests/test_a.py::test_a[b c]")
print("FAILED tests/test_a.py::test_" + seed + " - assert 1 == 2")
"""
    with steady(tmp_path, suite) as process:
        printed, _ = process.communicate(timeout=PROCESS_PATIENCE_SECONDS)
    assert process.returncode == 1
    *_, often, first, second = printed.splitlines()
    seeds = sorted(one.partition("SEED=")[2].rstrip(")") for one in (first, second))
    assert len({*seeds}) == 2
    assert often.startswith("unsteady 2 x: tests/test_a.py::test_a[b c] (SEED=")
    assert sorted((first, second)) == [
        f"failed 1 x: tests/test_a.py::test_{seed} (SEED={seed})" for seed in seeds
    ]


def test_an_interrupt_ends_the_suite_and_the_busy_processes(tmp_path: Path) -> None:
    with steady(tmp_path, "time.sleep(600)") as process:
        try:
            started = started_by(process.pid, BUSY + 1)
            process.send_signal(signal.SIGINT)
            assert process.wait(PROCESS_PATIENCE_SECONDS) == 130
        finally:
            process.kill()
    assert not started & parents().keys()
