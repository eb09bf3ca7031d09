"""Where records wait on disk while Redis is away.

`append` returns once the entry is flushed to the disk. Each process appends to a file of its own
(its format: `clicks/spool_file`), which it holds locked; a file that nobody holds is replayed by
whoever finds it, in order, and deleted only when all of it was sent. So an entry may be sent twice,
but is never lost. A torn tail (a crash in mid-append, never answered) is reported and skipped. Of a
file damaged otherwise every whole entry is sent, and the file is set aside as `*.damaged`.
"""

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from typing import BinaryIO, TypeVar

import structlog

from tracker.clicks.spool_file import SpoolReader, entry
from tracker.clicks.spool_folder import SpoolFolder

log = structlog.get_logger(__name__)

Send = Callable[[bytes], Awaitable[None]]
Result = TypeVar("Result")


class Spool:
    """`folder` is made when it is first needed. `max_bytes` bounds the total of its files."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = SpoolFolder(folder, max_bytes)
        self._file: FileIO | None = None
        # One thread: appends keep their order, and a slow disk never stops the event loop.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool")

    @property
    def bytes_waiting(self) -> int:
        """To be replayed, in files of every process; as of the last append or look."""
        return self._folder.bytes_waiting

    async def append(self, payload: bytes) -> None:
        """Durable when it returns. Raises SpoolFull, or another OSError if the disk refuses."""
        await self._in_thread(self._append, entry(payload))

    async def replay(self, send: Send) -> int:
        """Send every entry that no other process holds; the number of entries sent.

        What `send` raises ends the replay and leaves the file for the next one. A file that cannot
        be read is left too, and does not hold up the others.
        """
        await self._in_thread(self._close_own)
        sent = 0
        for path in await self._in_thread(self._folder.measure):
            try:
                sent += await _replay_file(path, send)
            except OSError as error:
                log.error("spool file unreadable", file=path.name, error=str(error))
        await self._in_thread(self._folder.measure)
        return sent

    async def is_empty(self) -> bool:
        """Whether no file waits. Looks at the folder; raises OSError."""
        return not await self._in_thread(self._folder.measure)

    async def close(self) -> None:
        await self._in_thread(self._close_own)
        self._thread.shutdown()

    async def _in_thread(self, function: Callable[..., Result], *arguments: object) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, function, *arguments)

    def _append(self, data: bytes) -> None:
        self._folder.check_room(len(data))
        if self._file is None:
            self._file = _open_new(self._folder.path)
        self._write(self._file, data)
        self._folder.grew(len(data))

    def _write(self, file: FileIO, data: bytes) -> None:
        start, rest = 0, memoryview(data)
        try:
            start = file.tell()
            while rest:
                rest = rest[file.write(rest) :]
            os.fdatasync(file.fileno())
        except OSError:
            self._take_back(file, start)
            raise

    def _take_back(self, file: FileIO, start: int) -> None:
        """What was refused must not be replayed: its sender may send it again."""
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


def _open_new(folder: Path) -> FileIO:
    """A file that is locked before it has the name that others look for: one might replay and
    delete it otherwise."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{time.time_ns():020d}-{os.getpid()}.spool"
    unfinished = path.with_suffix(".new")
    file = unfinished.open("xb", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        unfinished.rename(path)
        _flush_names(folder)
        _flush_names(folder.parent)  # it may have been made just now
    except OSError:
        file.close()
        raise
    return file


def _flush_names(folder: Path) -> None:
    """Until then a crash of the machine may forget a new name, and the file with it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


async def _replay_file(path: Path, send: Send) -> int:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return 0
    with file:
        if not _is_ours_now(file):
            return 0
        reader = SpoolReader(file)
        # In a thread: what is damaged may be long, and is searched to its end.
        while (payload := await asyncio.to_thread(reader.read)) is not None:
            await send(payload)
        _finish(path, reader)
    log.info("spool file replayed", file=path.name, entries=reader.entries)
    return reader.entries


def _is_ours_now(file: BinaryIO) -> bool:
    """Not if another process holds it, or has replayed and removed it since it was opened."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return os.fstat(file.fileno()).st_nlink > 0


def _finish(path: Path, reader: SpoolReader) -> None:
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
