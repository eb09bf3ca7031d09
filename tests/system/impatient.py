"""`run.py` that gives its clients seconds only, for tests that wait for that to pass."""

import sys

import msgspec

import run
from tracker.service import front

SECONDS = 3.0
"""For a head, and for a body."""

LINGER_SECONDS = 1.0

front.LIMITS = msgspec.structs.replace(  # type: ignore[misc]
    front.LIMITS, head_seconds=SECONDS, body_seconds=SECONDS, linger_seconds=LINGER_SECONDS
)

if __name__ == "__main__":
    sys.exit(run.main(sys.argv[1:]))
