"""The plan of a batch is pure; what it plans is shown by `test_exactly_once`."""

import subprocess
import sys

from tests.paths import ROOT
from tests.waiting import PROCESS_PATIENCE_SECONDS

IMPORTED = "import sys, tracker.ingest.plan; print(*sys.modules)"


def test_planning_imports_no_store_no_client_and_no_effect() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
        timeout=PROCESS_PATIENCE_SECONDS,
    )
    found = {name for name in done.stdout.split() if name.count(".") < 2}
    assert "tracker.ingest" in found
    assert not found & {"pymongo", "redis", "structlog", "tracker.metrics", "tracker.stores"}
