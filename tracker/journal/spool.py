"""The spool: records wait on disk while Redis is unavailable.

- `append` returns once the entry is flushed to the disk.
- Each process appends to a file of its own (format: `journal/spool_file`), which it keeps locked,
  and begins another at FILE_BYTES.
- Any process replays the files that nobody has locked, in order, and deletes a file when all of it
  was sent. An interrupted replay keeps its place in the file while the process lives; the next
  process begins the file again. So an entry may be sent twice, but is never lost.
- A torn tail (a crash during an append, never answered) is reported and skipped. A file with other
  damage is renamed to `*.damaged` after all its whole entries are sent.
"""

import asyncio
import contextlib
import fcntl
import math
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from typing import BinaryIO, TypeVar

import structlog

from tracker.journal.spool_file import SpoolReader, frame
from tracker.journal.spool_folder import SpoolFolder

log = structlog.get_logger(__name__)

Send = Callable[[Sequence[bytes]], Awaitable[None]]
"""Sends all payloads in order, or raises and has sent none."""

Result = TypeVar("Result")

FILE_BYTES = 8 * 1024 * 1024
"""Size at which a file is finished. A new process may send that much twice, and a replay frees it
at once."""

FAILURE_SECONDS = 10.0
"""Time after a failed append in which `check` fails too."""


class Spool:
    """The spool of one process in `folder`, which is created when it is first needed.

    `max_bytes` bounds the total of the folder's files.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = SpoolFolder(folder, max_bytes)
        self._file: FileIO | None = None
        self._begun: dict[Path, SpoolReader] = {}
        self._failure: OSError | None = None
        self._failed_at = 0.0
        self._replaying = asyncio.Lock()
        # One thread each: appends keep their order and do not wait for reads, a cancelled read ends
        # before the next begins, and a slow disk never stops the event loop.
        self._writing = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool-write")
        self._reading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool-read")

    @property
    def bytes_waiting(self) -> int:
        """Return the bytes to be replayed, of all processes, at the last measurement."""
        return self._folder.bytes_waiting

    async def append(self, payload: bytes) -> None:
        """Store `payload` durably.

        Raises SpoolFull if there is no room, or another OSError if the disk fails.
        """
        try:
            await _run(self._writing, self._append, frame(payload))
        except OSError as error:
            self._failure, self._failed_at = error, time.monotonic()
            raise
        self._failure = None

    async def check(self) -> None:
        """Check the disk. Raises OSError if an append would fail, or has just failed."""
        await _run(self._writing, self._folder.check)
        if self._failure is not None and time.monotonic() - self._failed_at < FAILURE_SECONDS:
            raise self._failure

    async def replay(self, send: Send, until: float = math.inf) -> int:
        """Send every entry of files that no other process has locked. Return their number.

        The replay ends at the time `until` (of time.monotonic), or with an exception of `send`,
        which it passes on. The next replay continues there. A file that cannot be read is skipped.
        """
        async with self._replaying:
            sent = await self._replay_waiting(send, until)
            # Only now, so that repeated failing replays do not create a file each.
            if self._file is not None:
                await _run(self._writing, self._close_own)
                sent += await self._replay_waiting(send, until)
        return sent

    async def is_empty(self) -> bool:
        """Return whether the folder has no file to replay. Raises OSError if it cannot be read."""
        return not await _run(self._writing, self._folder.measure)

    async def close(self) -> None:
        """Close the files and end the threads. The next start replays the entries that wait."""
        await _run(self._writing, self._close_own)
        await _run(self._reading, self._close_begun)
        self._writing.shutdown()
        self._reading.shutdown()

    async def _replay_waiting(self, send: Send, until: float) -> int:
        sent = 0
        for path in await _run(self._writing, self._folder.measure):
            if time.monotonic() >= until:
                break
            try:
                sent += await self._replay_file(path, send, until)
            except OSError as error:
                log.error("spool file unreadable", file=path.name, error=str(error))
            await _run(self._writing, self._folder.measure)
        return sent

    async def _replay_file(self, path: Path, send: Send, until: float) -> int:
        reader = self._begun.get(path) or _open_unlocked(path)
        if reader is None:
            return 0
        self._begun[path] = reader
        sent = 0
        while time.monotonic() < until:
            batch = await _run(self._reading, reader.batch)
            if not batch:
                _finish(path, reader)
                del self._begun[path]
                break
            await send(batch)
            reader.mark_sent()
            sent += len(batch)
        return sent

    def _append(self, data: bytes) -> None:
        self._folder.check_room(len(data))
        if self._file is None:
            self._file = _open_new(self._folder.path)
        size = self._write(self._file, data)
        self._folder.record_write(len(data))
        if size >= FILE_BYTES:
            with contextlib.suppress(OSError):  # it is flushed
                self._close_own()

    def _write(self, file: FileIO, data: bytes) -> int:
        """Write and flush `data`. Return the new size of the file."""
        start, rest = 0, memoryview(data)
        try:
            start = file.tell()
            while rest:
                rest = rest[file.write(rest) :]
            os.fdatasync(file.fileno())
        except OSError:
            self._undo_write(file, start)
            raise
        return start + len(data)

    def _undo_write(self, file: FileIO, start: int) -> None:
        """Undo a failed write: its sender may send it again, so it must not be replayed."""
        try:
            file.truncate(start)
            file.seek(start)
        except OSError:
            with contextlib.suppress(OSError):
                self._close_own()

    def _close_own(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _close_begun(self) -> None:
        while self._begun:
            self._begun.popitem()[1].close()


async def _run(thread: Executor, function: Callable[..., Result], *arguments: object) -> Result:
    return await asyncio.get_running_loop().run_in_executor(thread, function, *arguments)


def _open_new(folder: Path) -> FileIO:
    """Return a new file. It is locked before it gets its name, so that no other replays it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{time.time_ns():020d}-{os.getpid()}.spool"
    unfinished = path.with_suffix(".new")
    file = unfinished.open("xb", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        unfinished.rename(path)
        _flush_names(folder)
        _flush_names(folder.parent)  # it may have just been created
    except OSError:
        file.close()
        raise
    return file


def _flush_names(folder: Path) -> None:
    """Flush the names in a folder: a crash of the machine may lose a new name, and its file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_unlocked(path: Path) -> SpoolReader | None:
    """Open a file; return None if another process has locked or replayed it.

    Raises OSError if it cannot be opened.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    if _lock_if_unlocked(file):
        return SpoolReader(file)
    file.close()
    return None


def _lock_if_unlocked(file: BinaryIO) -> bool:
    """Lock a file. Return False if another process has locked it, or has replayed it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(file.fileno()).st_nlink > 0


def _finish(path: Path, reader: SpoolReader) -> None:
    """Delete the file, or rename it if it is damaged; it stays locked until then."""
    if reader.torn_bytes:
        log.warning("spool file had a torn tail", file=path.name, bytes_unread=reader.torn_bytes)
    if reader.damaged_bytes:
        log.error(
            "spool file damaged",
            kept_as=path.with_suffix(".damaged").name,
            entries_replayed=reader.entries,
            bytes_unread=reader.damaged_bytes,
        )
        path.rename(path.with_suffix(".damaged"))
    else:
        path.unlink(missing_ok=True)
    reader.close()
    log.info("spool file replayed", file=path.name, entries=reader.entries)
