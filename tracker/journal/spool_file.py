"""A spool file: an SQLite database with a row for each entry, which one process has locked.

SQLite goes on writing to a file that has lost its name, so the spool looks at `is_named` before it
answers. A file has two names: the database's, and that of its write-ahead log (`-wal`).
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SUFFIX: Final = ".sqlite"
WAL_SUFFIX: Final = f"{SUFFIX}-wal"

BATCH_ENTRIES = 100
BATCH_BYTES = 1024 * 1024
"""A batch ends with the entry that reaches one of these."""

CHECKPOINT_PAGES: Final = 240
"""Pages of 4 KiB that the log holds. A lone click fills one of them."""

_LOCK_SECONDS: Final = 1.0
"""How long a new file waits for a process that takes it for a dead one's."""

# The locking mode comes first: without it SQLite shares an index of the log between processes.
_SET_UP: Final = (
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}",
    "PRAGMA cache_size = -512",
    "CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, payload BLOB NOT NULL)",
)


class SpoolFileDamaged(OSError):
    """SQLite finds the file damaged."""


class SpoolFile:
    """The file at `path`, locked until it is closed. Every method may raise OSError."""

    def __init__(self, path: Path, lock_seconds: float = 0.0) -> None:
        """Open a file. Raises BlockingIOError if another process has locked it."""
        self.path = path
        self.payload_bytes = self.sent_entries = 0
        self._read_to = self._sent_to = 0
        with _as_os_error():
            self._database = sqlite3.connect(
                f"{path.as_uri()}?mode=rw",  # never makes a file that was replayed meanwhile
                uri=True,
                timeout=lock_seconds,
                isolation_level=None,  # each statement is a transaction
                check_same_thread=False,
            )
        try:
            with _as_os_error():
                for statement in _SET_UP:
                    self._database.execute(statement)
            self._identities = {one: _identity(one) for one in _names(path)}
        except OSError:
            self.close()
            raise

    @property
    def is_named(self) -> bool:
        try:
            return self._identities == {one: _identity(one) for one in self._identities}
        except (FileNotFoundError, NotADirectoryError):
            return False

    def append(self, payload: bytes) -> None:
        """Write an entry to the disk. An error undoes it."""
        with _as_os_error():
            self._database.execute("INSERT INTO entries (payload) VALUES (?)", (payload,))
        self.payload_bytes += len(payload)

    def undo(self) -> None:
        """Delete the last entry: its sender may send it again, so it must not be replayed."""
        with _as_os_error():
            self._database.execute("DELETE FROM entries WHERE id = (SELECT max(id) FROM entries)")

    def batch(self) -> list[bytes]:
        """Return the next payloads, about BATCH_ENTRIES or BATCH_BYTES; none at the end.

        They are the same until `mark_sent` is called, or after an OSError.
        """
        payloads: list[bytes] = []
        length = 0
        with _as_os_error():
            try:
                for number, payload in self._unsent(BATCH_ENTRIES):
                    self._read_to = number
                    payloads.append(payload)
                    length += len(payload)
                    if length >= BATCH_BYTES:
                        break
            except sqlite3.Error:
                if not payloads:  # else the entries before the bad page are a batch
                    raise
        return payloads

    def mark_sent(self, entries: int) -> None:
        self._sent_to = self._read_to
        self.sent_entries += entries

    def copy(self) -> "SpoolFile":
        """Return a new file with the entries that are not sent."""
        copy = create(self.path.parent)
        try:
            with _as_os_error(), copy._database as database:
                database.execute("BEGIN")
                database.executemany("INSERT INTO entries VALUES (?, ?)", self._unsent(-1))
        except OSError:
            copy.remove()
            raise
        copy.payload_bytes = self.payload_bytes
        return copy

    def remove(self) -> None:
        """Remove the names that still are this file's, and close it."""
        for path, identity in self._identities.items():
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                if _identity(path) == identity:
                    path.unlink()
        self.close()

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # answered entries are on the disk
            self._database.close()

    def _unsent(self, limit: int) -> Iterator[tuple[int, bytes]]:
        query = "SELECT id, payload FROM entries WHERE id > ? ORDER BY id LIMIT ?"
        return self._database.execute(query, (self._sent_to, limit))


def create(folder: Path) -> SpoolFile:
    """Return a new file that only this user may read. Make `folder` if needed. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{time.time_ns():020d}-{os.getpid()}{SUFFIX}"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        file = SpoolFile(path, _LOCK_SECONDS)
        for named_in in (folder, folder.parent):
            flush_names(named_in)
    except OSError:
        for left in _names(path):
            left.unlink(missing_ok=True)
        raise
    return file


def set_aside(path: Path) -> Path:
    """Rename a damaged file, whose rest the program `sqlite3` may recover; return its new path."""
    kept = path.with_suffix(".damaged")
    with contextlib.suppress(FileNotFoundError):
        path.with_suffix(WAL_SUFFIX).rename(f"{kept}-wal")
    return path.rename(kept)


def _names(path: Path) -> tuple[Path, Path]:
    """Return the paths of a file, in the order in which they are removed: the log needs both."""
    return path.with_suffix(WAL_SUFFIX), path


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def flush_names(folder: Path) -> None:
    """Flush a folder: a crash of the machine may lose a new name, and so its file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_BUSY:
                raise BlockingIOError(str(error)) from error
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                raise SpoolFileDamaged(str(error)) from error
        raise OSError(str(error)) from error
