"""What a load was answered, compared with what is stored and what reports say."""

import os
import subprocess
import sys
from typing import Final
from uuid import UUID

import orjson

from config.settings import Settings
from lab.load.mixed import Mixed
from lab.load.stores import Stores
from lab.processes import ROOT, variables_of

_AT_ONCE: Final = 10_000
_VERIFY_SECONDS: Final = 600


async def lost(traffic: Mixed, stores: Stores) -> int:
    """Return how many of the answered ids are not stored."""
    missing = 0
    for first in range(0, traffic.clicks, _AT_ONCE):
        ids = [UUID(bytes=one) for one in traffic.click_ids(first, _AT_ONCE)]
        missing += await stores.missing("clicks", ids)
    for first in range(0, len(traffic.event_ids), _AT_ONCE):
        events = traffic.event_ids[first : first + _AT_ONCE].tolist()
        missing += await stores.missing("events", events)
    return missing


def differences(settings: Settings) -> int:
    """Return how many figures of reports differ from what is stored, by `scripts.verify`."""
    done = subprocess.run(
        [sys.executable, "-m", "scripts.verify", "--json"],
        cwd=ROOT,
        env=os.environ | variables_of(settings),
        stdout=subprocess.PIPE,
        timeout=_VERIFY_SECONDS,
        check=False,
    )
    return sum(row["differences"] for row in orjson.loads(done.stdout))
