"""The folder of spool files that the processes of a DATA_DIR share, and its size limit."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tracker.journal.spool_file import SUFFIX, WAL_SUFFIX
from tracker.metrics import SPOOL_BYTES
from tracker.stores.startup.diagnosis import UnusableStore

GROUP_BYTES: Final = 1 << 20
"""Free bytes that the spool needs to be ready: some hundred records with long texts, or the pages
of a write-ahead log, which move to its database."""


class SpoolFull(OSError):
    """An entry would exceed the folder's size limit."""


class SpoolFolder:
    """The folder at `path`; `max_bytes` limits the total of its files, including damaged ones."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self.bytes_waiting = 0
        self._max_bytes = max_bytes
        self._bytes_in_use = 0

    def check_room(self, length: int) -> None:
        """Check for room. Raises SpoolFull if an entry of `length` bytes could exceed the limit."""
        self.measure()
        # The entry is in the write-ahead log and in the database for a time.
        growth = 2 * length + min(GROUP_BYTES, self._max_bytes // 3)
        if self._bytes_in_use + growth > self._max_bytes:
            raise SpoolFull(f"{self._bytes_in_use} of at most {self._max_bytes} bytes are in use")

    def check(self) -> None:
        """Check that a group of records can be written. Raises PermissionError, or OSError."""
        self.check_room(1)
        existing = next(one for one in (self.path, *self.path.parents) if one.exists())
        if not os.access(existing, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        disk = os.statvfs(existing)
        if disk.f_bavail * disk.f_frsize < GROUP_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def measure(self) -> list[Path]:
        """Return the files to replay, oldest first."""
        found = list(self._files())
        waiting = {path: size for path, size in found if path.suffix in (SUFFIX, WAL_SUFFIX)}
        self._bytes_in_use = sum(size for _, size in found)
        self.bytes_waiting = sum(waiting.values())
        SPOOL_BYTES.set(self._bytes_in_use)
        # An empty file is just being made.
        return sorted(path for path, size in waiting.items() if path.suffix == SUFFIX and size)

    def _files(self) -> Iterator[tuple[Path, int]]:
        try:
            found = os.scandir(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return
        with found:
            for one in found:
                with contextlib.suppress(FileNotFoundError):  # another process has replayed it
                    yield Path(one.path), one.stat(follow_symlinks=False).st_size


def check_no_old_files(folder: Path) -> None:
    """Raises UnusableStore if the folder has files of release 1.0.0, which this one cannot read."""
    names = ", ".join(sorted(one.name for one in folder.glob("*.spool")))
    if names:
        raise UnusableStore(
            f"{folder}: {names}: clicks of release 1.0.0, which this one cannot read. Start that "
            "one again until it has moved them to Redis"
        )
