"""Where records wait on disk while Redis is away.

A file is a run of entries: magic, length, CRC-32, payload. `append` returns once the entry is
flushed to the disk. Each process appends to a file of its own, which it holds locked; a file
that nobody holds is replayed by whoever finds it, in order, and deleted only when all of it was
sent. So an entry may be sent twice, but is never lost. A torn tail (a crash in mid-append, never
answered) is reported and skipped; a file damaged otherwise is set aside as `*.damaged`.
"""

import asyncio
import contextlib
import fcntl
import os
import struct
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path
from typing import BinaryIO

import structlog

log = structlog.get_logger(__name__)

_HEADER = struct.Struct(">4sII")
_MAGIC = b"TRK1"


class Spool:
    """`folder` is made when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: FileIO | None = None
        # One thread: appends keep their order, and a slow disk never stops the event loop.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool")

    async def append(self, payload: bytes) -> None:
        """Durable when it returns. Raises OSError if the disk refuses."""
        await self._in_thread(self._append, payload)

    async def replay(self, send: Callable[[bytes], Awaitable[None]]) -> int:
        """Send every entry that no other process holds; the number of entries sent.

        What `send` raises ends the replay and leaves the file for the next one. A file that cannot
        be read is left too, and does not hold up the others.
        """
        await self._in_thread(self._close_own)
        sent = 0
        for path in self._files():
            try:
                sent += await self._replay_file(path, send)
            except OSError as error:
                log.error("spool file unreadable", file=path.name, error=str(error))
        return sent

    def is_empty(self) -> bool:
        return not self._files()

    async def close(self) -> None:
        await self._in_thread(self._close_own)
        self._thread.shutdown()

    async def _in_thread(self, function: Callable[..., None], *arguments: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def _append(self, payload: bytes) -> None:
        if self._file is None:
            self._file = self._open_own()
        file, start = self._file, 0
        entry = memoryview(_HEADER.pack(_MAGIC, len(payload), zlib.crc32(payload)) + payload)
        try:
            start = file.tell()
            while entry:
                entry = entry[file.write(entry) :]
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

    def _open_own(self) -> FileIO:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._folder / f"{time.time_ns():020d}-{os.getpid()}.spool"
        file = path.with_suffix(".new").open("xb", buffering=0)
        try:
            # Locked before it has the name that others look for, or one might replay and delete it.
            fcntl.flock(file, fcntl.LOCK_EX)
            path.with_suffix(".new").rename(path)
            _flush_names(self._folder)
            _flush_names(self._folder.parent)  # it may have been made just now
        except OSError:
            file.close()
            raise
        return file

    def _close_own(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.spool")) if self._folder.exists() else []

    async def _replay_file(self, path: Path, send: Callable[[bytes], Awaitable[None]]) -> int:
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return 0
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return 0
            sent = 0
            for payload in _entries(file):
                await send(payload)
                sent += 1
            _finish(path, file)
        log.info("spool file replayed", file=path.name, entries=sent)
        return sent


def _flush_names(folder: Path) -> None:
    """Until then a crash of the machine may forget a new name, and the file with it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _entries(file: BinaryIO) -> Iterator[bytes]:
    """The whole entries from the start; leaves the file after the last of them."""
    size = os.fstat(file.fileno()).st_size
    while True:
        start = file.tell()
        header = file.read(_HEADER.size)
        if len(header) == _HEADER.size:
            magic, length, checksum = _HEADER.unpack(header)
            # A damaged length may be gigabytes: not even room is made for them.
            if magic == _MAGIC and length <= size - file.tell():
                payload = file.read(length)
                if zlib.crc32(payload) == checksum:
                    yield payload
                    continue
        file.seek(start)
        return


def _finish(path: Path, file: BinaryIO) -> None:
    rest = file.read()
    if not rest:
        path.unlink(missing_ok=True)
    elif _is_torn(rest):
        log.warning("spool file had a torn tail", file=path.name, bytes_unread=len(rest))
        path.unlink(missing_ok=True)
    else:
        log.error("spool file damaged", file=path.name, bytes_unread=len(rest))
        path.rename(path.with_suffix(".damaged"))


def _is_torn(rest: bytes) -> bool:
    """Whether `rest` can be the beginning of one entry: all there is after the whole ones."""
    if not rest.startswith(_MAGIC[: len(rest)]) or _MAGIC in rest[1:]:
        return False
    if len(rest) < _HEADER.size:
        return True
    _, length, checksum = _HEADER.unpack_from(rest)
    payload = rest[_HEADER.size :]
    return len(payload) < int(length) and zlib.crc32(payload) != int(checksum)
