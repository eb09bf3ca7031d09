"""`run.py` with a drain that fails at every start."""

import asyncio
import sys

import run
from tracker.ingest.consumer import Consumer


async def fail(self: Consumer, stop: asyncio.Event) -> None:
    raise RuntimeError("a mistake of ours")


Consumer.run = fail  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(run.main(sys.argv[1:]))
