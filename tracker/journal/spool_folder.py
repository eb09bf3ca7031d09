"""The folder of spool files that the processes of a DATA_DIR share, and its size limit."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import structlog

from tracker.metrics import SPOOL_BYTES

log = structlog.get_logger(__name__)

MEASURE_SECONDS = 1.0

GROUP_BYTES = 1 << 20
"""Free bytes that the spool needs to be ready: some hundred records with long texts."""

LEFTOVER_SECONDS = 60.0
"""Age after which a file without its final name counts as left by a dead process."""


class SpoolFull(OSError):
    """An entry would exceed the folder's size limit."""


class SpoolFolder:
    """The folder at `path`; `max_bytes` limits the total of its files, including damaged ones."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self.bytes_waiting = 0
        """Bytes still to be replayed, of all processes."""
        self._max_bytes = max_bytes
        self._bytes = 0
        self._measure_at = 0.0

    def check_room(self, length: int) -> None:
        """Check for room. Raises SpoolFull if `length` more bytes exceed the limit."""
        if time.monotonic() >= self._measure_at:
            self.measure()
        if self._bytes + length > self._max_bytes:
            raise SpoolFull(f"{self._bytes} of at most {self._max_bytes} bytes are in use")

    def check(self) -> None:
        """Check that a group of records can be written. Raises PermissionError, or OSError."""
        self.check_room(min(GROUP_BYTES, max(1, self._max_bytes // 10)))
        existing = next(one for one in (self.path, *self.path.parents) if one.exists())
        if not os.access(existing, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        disk = os.statvfs(existing)
        if disk.f_bavail * disk.f_frsize < GROUP_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def record_write(self, length: int) -> None:
        self._record_sizes(self._bytes + length, self.bytes_waiting + length)

    def measure(self) -> list[Path]:
        """Return the files to replay, oldest first. Remove unfinished files of dead processes."""
        self._measure_at = time.monotonic() + MEASURE_SECONDS
        waiting, total = {}, 0
        for path, about in self._files():
            total += about.st_size
            if path.suffix == ".spool":
                waiting[path] = about.st_size
            elif path.suffix == ".new" and time.time() - about.st_mtime > LEFTOVER_SECONDS:
                _remove_if_left(path)
        self._record_sizes(total, sum(waiting.values()))
        return sorted(waiting)

    def _record_sizes(self, total: int, waiting: int) -> None:
        self._bytes, self.bytes_waiting = total, waiting
        SPOOL_BYTES.set(total)

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        try:
            found = os.scandir(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return
        with found:
            for one in found:
                with contextlib.suppress(FileNotFoundError):  # another process has replayed it
                    yield Path(one.path), one.stat(follow_symlinks=False)


def _remove_if_left(path: Path) -> None:
    """Remove an unfinished file unless a process has locked it: nothing in it was answered."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
        log.warning("leftover of an unfinished spool file removed", file=path.name)
