"""`run.py` with timeouts of seconds for its clients, for tests that wait for them to pass."""

import sys

import msgspec

import run
from tracker.service import http_servers

HEAD_AND_BODY_SECONDS = 3.0

LINGER_SECONDS = 1.0

http_servers.LIMITS = msgspec.structs.replace(  # type: ignore[misc]
    http_servers.LIMITS,
    head_seconds=HEAD_AND_BODY_SECONDS,
    body_seconds=HEAD_AND_BODY_SECONDS,
    linger_seconds=LINGER_SECONDS,
)

if __name__ == "__main__":
    sys.exit(run.main(sys.argv[1:]))
