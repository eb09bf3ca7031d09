"""A spool file that this process has locked. `copy` writes it again if its name is removed."""

import contextlib
import fcntl
import os
import time
from io import FileIO
from pathlib import Path
from typing import Final

from tracker.journal.spool_file import SpoolReader, frame, marker_of, name_with_marker, new_marker

_COPY_BYTES: Final = 1024 * 1024


class LockedFile:
    """The file at `path`. It stays locked until it is closed."""

    def __init__(self, path: Path, file: FileIO) -> None:
        self.path = path
        self._file = file
        self._marker = marker_of(path)
        self._size = os.fstat(file.fileno()).st_size

    @property
    def is_open(self) -> bool:
        """Return whether it can be appended to: a failed append may have closed it."""
        return not self._file.closed

    @property
    def size(self) -> int:
        return self._size

    @property
    def is_named(self) -> bool:
        """Return whether `path` still leads to this file. Raises OSError if that is unknown."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._file.fileno()))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def append(self, payload: bytes) -> int:
        """Write and flush an entry, and return its position. An OSError undoes the write."""
        start = self._size
        try:
            _write(self._file, frame(payload, self._marker))
            os.fdatasync(self._file.fileno())
        except OSError:
            self.cut(start)
            raise
        self._size = self._file.tell()
        return start

    def cut(self, start: int) -> None:
        """Undo an append: its sender may send it again, so it must not be replayed."""
        try:
            self._file.truncate(start)
            self._size = self._file.seek(start)
        except OSError:
            self.close()

    def copy(self) -> "LockedFile":
        """Return a flushed copy under a new name. Raises OSError."""
        return _create(self.path.parent, self._marker, self)

    def reader(self) -> SpoolReader:
        return SpoolReader(self._file, self._marker)

    def write_into(self, copy: FileIO) -> None:
        position = 0
        while chunk := os.pread(self._file.fileno(), _COPY_BYTES, position):
            _write(copy, chunk)
            position += len(chunk)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # answered entries are flushed
            self._file.close()


def create(folder: Path) -> LockedFile:
    """Return a new file. `folder` is created if needed. Raises OSError."""
    return _create(folder, new_marker(), None)


def open_unlocked(path: Path) -> LockedFile | None:
    """Open a file; return None if another process has locked or replayed it. Raises OSError."""
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        return None
    if _try_lock(file):
        return LockedFile(path, file)
    file.close()
    return None


def _create(folder: Path, marker: bytes, original: LockedFile | None) -> LockedFile:
    """Create a file, locked and filled before it has its name, so nobody replays it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = name_with_marker(f"{time.time_ns():020d}-{os.getpid()}", marker)
    unfinished, path = folder / f"{name}.new", folder / f"{name}.spool"
    file = unfinished.open("x+b", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        if original is not None:
            original.write_into(file)
            os.fdatasync(file.fileno())
        unfinished.rename(path)
        _flush_names(folder)
        _flush_names(folder.parent)  # it may have just been created
    except OSError:
        for left in (unfinished, path):  # a failed file is not replayed, and takes no room
            with contextlib.suppress(OSError):
                left.unlink()
        file.close()
        raise
    return LockedFile(path, file)


def _write(file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _flush_names(folder: Path) -> None:
    """Flush a folder: a crash of the machine may lose a new name, and so its file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(file: FileIO) -> bool:
    """Lock a file. Return False if another process has locked it, or has replayed it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(file.fileno()).st_nlink > 0
