"""A drain that keeps failing ends its process, whose exit code shows that."""

import subprocess
import sys

import pytest

from config.settings import Settings
from tests.paths import ROOT
from tests.system.service import START_SECONDS, STOP_SECONDS, environment


@pytest.mark.parametrize("role", ["all", "drain"])
def test_a_process_whose_drain_is_given_up_exits_with_1(settings: Settings, role: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.system.broken_drain", "--role", role],
        cwd=ROOT,
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=START_SECONDS + STOP_SECONDS,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == (
        "run.py: the loop drain failed again and again; the log says why"
    )
