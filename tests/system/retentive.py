"""`run.py` whose caches remember for an hour: only a notification shows them a change."""

import sys

import run
from tracker.stores.cache import memory

memory.MEMORY_SECONDS = memory.UNSETTLED_SECONDS = 3600.0  # type: ignore[misc]
memory.MISS_MEMORY_SECONDS = 3600.0  # type: ignore[misc]

if __name__ == "__main__":
    sys.exit(run.main(sys.argv[1:]))
