import subprocess
import sys

from tests.paths import ROOT

RUN = """
import structlog
from lab.harness import failures_reported
with failures_reported("proof"):
    structlog.get_logger("tracker.noticed").warning("noticed", server="127.0.0.1:1")
    print("the result")
"""


def test_what_a_run_logs_is_not_in_its_output() -> None:
    run = subprocess.run(
        [sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == "the result\n"
    assert "noticed" in run.stderr
