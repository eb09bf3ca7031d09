"""`run.py` on a slow machine: it waits longer for its stores, and its reports may take longer."""

import sys

import run
from tests.patience import be_patient
from tests.waiting import PROCESS_PATIENCE_SECONDS
from tracker.reports import limits

be_patient(setattr)
limits.REPORT_SECONDS = limits.MEMORY_SECONDS = PROCESS_PATIENCE_SECONDS  # type: ignore[misc]

if __name__ == "__main__":
    sys.exit(run.main(sys.argv[1:]))
