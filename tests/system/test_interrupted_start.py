"""Ctrl-C while the service is still starting: it ends without printing a traceback."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.system.service import environment
from tests.waiting import PROCESS_PATIENCE_SECONDS, until

# `-X importtime` names each module on standard error once it is imported.
MODULES = ("argparse", "redis", "config.settings", "uvloop")


def start(variables: dict[str, str], *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *options, "run.py"],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("module", MODULES)
def test_an_interrupt_during_the_imports_prints_no_traceback(tmp_path: Path, module: str) -> None:
    with start(environment(DATA_DIR=str(tmp_path)), "-X", "importtime") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.rstrip().endswith(f"| {module}") or line.rstrip().endswith(f" {module}"):
                break
        else:
            pytest.fail(f"{module} is not imported")
        process.send_signal(signal.SIGINT)
        rest = [one for one in process.stderr if not one.startswith("import time:")]
        assert process.wait(PROCESS_PATIENCE_SECONDS) in (-signal.SIGINT, 130)
        assert rest == []


def test_an_interrupt_while_the_stores_start_prints_no_traceback(tmp_path: Path) -> None:
    with start(environment(DATA_DIR=str(tmp_path))) as process:
        until((tmp_path / "mongodb" / "mongod.log").exists)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PROCESS_PATIENCE_SECONDS)
    # The start may have been quicker than the signal: then it is a clean stop.
    assert process.returncode in (0, 130)
    assert "Traceback" not in errors
