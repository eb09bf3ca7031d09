"""The spool: records wait on disk while Redis is unavailable.

- `append` returns once the entry is flushed to the disk, in the process's own file.
- Processes lock their files until they are replayed. Any process replays unlocked files, in order.
- An interrupted replay may send an entry twice, but an entry is never lost.
- A file that loses its name is written again from its descriptor.
- A torn tail (a crash before the answer) is skipped. A damaged file becomes `*.damaged`.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import structlog

from tracker.journal.locked_file import LockedFile, create, open_unlocked
from tracker.journal.spool_file import HEADER_BYTES, SpoolReader
from tracker.journal.spool_folder import SpoolFolder
from tracker.metrics import SPOOL_RESTORED

log = structlog.get_logger(__name__)

Send = Callable[[Sequence[bytes]], Awaitable[None]]
"""Sends all payloads in order, or none and raises."""

Result = TypeVar("Result")

FILE_BYTES = 8 * 1024 * 1024
"""Size at which a file is finished. A new process may repeat this much; a replay then frees it."""

MOST_FILES = 64
"""Files of a full spool, about: a process has its own open until they are replayed."""

FAILURE_SECONDS = 10.0
"""Time after a failed append in which `check` fails too."""

_COPIES: Final = 3
_LOG_SECONDS: Final = 5.0


class _Replay(NamedTuple):
    """The replay of a finished file, which this process has locked."""

    file: LockedFile
    reader: SpoolReader


class Spool:
    """The spool of one process. `max_bytes` limits the files of all processes in `folder`."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = SpoolFolder(folder, max_bytes)
        self._file_bytes = max(FILE_BYTES, max_bytes // MOST_FILES)
        self._file: LockedFile | None = None
        self._replays: dict[Path, _Replay] = {}
        self._failure: OSError | None = None
        self._failed_at = 0.0
        self._log_at = 0.0
        self._replaying = asyncio.Lock()
        # One thread each: appends keep their order and do not wait for reads. A slow disk never
        # blocks the event loop.
        self._writing = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool-write")
        self._reading = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool-read")

    @property
    def bytes_waiting(self) -> int:
        return self._folder.bytes_waiting

    async def append(self, payload: bytes) -> None:
        """Store `payload` durably. Raises SpoolFull, or another OSError if the disk fails."""
        try:
            await _run(self._writing, self._append, payload)
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

        An error of `send`, or the time `until` (of time.monotonic), ends it; the next replay
        resumes there.
        """
        async with self._replaying:
            sent = await self._replay_waiting(send, until)
            # Only now, so that repeated failing replays do not create a file each.
            if self._file is not None:
                await _run(self._writing, self._finish_own)
                sent += await self._replay_waiting(send, until)
        return sent

    async def restore(self) -> None:
        """Rewrite the files of this process that lost their names. Errors are logged."""
        if self._file is None and not self._replays:
            return
        async with self._replaying:
            for replaced in await _run(self._writing, self._restore):
                await _run(self._reading, replaced.close)

    async def is_empty(self) -> bool:
        """Return whether there is nothing to replay. Raises OSError if that is unknown."""
        found = await _run(self._writing, self._folder.measure)
        return not (found or self._replays or self._file)

    async def close(self) -> None:
        await self.restore()
        await _run(self._writing, self._finish_own)
        await _run(self._reading, self._close_replays)
        self._writing.shutdown()
        self._reading.shutdown()

    async def _replay_waiting(self, send: Send, until: float) -> int:
        sent = 0
        found = await _run(self._writing, self._folder.measure)
        # A removed file that cannot be written again is sent from its descriptor.
        for path in sorted({*found, *self._replays}):
            if time.monotonic() >= until:
                break
            try:
                sent += await self._replay_file(path, send, until)
            except OSError as error:
                log.error("spool file unreadable", file=path.name, error=str(error))
            await _run(self._writing, self._folder.measure)
        return sent

    async def _replay_file(self, path: Path, send: Send, until: float) -> int:
        replay = self._replays.get(path) or _open_replay(path)
        if replay is None:
            return 0
        self._replays[path] = replay
        sent = 0
        while time.monotonic() < until:
            batch = await _run(self._reading, replay.reader.batch)
            if not batch:
                _finish(replay)
                del self._replays[path]
                break
            await send(batch)
            replay.reader.mark_sent()
            sent += len(batch)
        return sent

    def _append(self, payload: bytes) -> None:
        length = HEADER_BYTES + len(payload)
        self._folder.check_room(length)
        if self._file is None or not self._file.is_open:
            self._file = create(self._folder.path)
        start = self._file.append(payload)
        self._folder.record_write(length)
        try:
            self._restore_own()
        except OSError:
            self._file.cut(start)
            raise
        if start + length >= self._file_bytes:
            self._finish_own()

    def _restore_own(self) -> None:
        copies = 0
        while self._file is not None and not self._file.is_named:
            if copies == _COPIES:
                raise OSError("spool files are removed as fast as they are written")
            replaced, self._file = self._file, self._copy(self._file)
            replaced.close()
            copies += 1

    def _restore(self) -> list[LockedFile]:
        replaced = []
        try:
            if self._file is not None and self._file.is_open:
                self._restore_own()
            for path, replay in [*self._replays.items()]:
                if not replay.file.is_named:
                    copy = self._copy(replay.file)
                    self._replays[copy.path] = _Replay(copy, copy.reader())
                    replaced.append(self._replays.pop(path).file)
        except OSError as error:
            if time.monotonic() >= self._log_at:
                self._log_at = time.monotonic() + _LOG_SECONDS
                log.error("a removed spool file cannot be written again", error=str(error))
        return replaced

    def _copy(self, file: LockedFile) -> LockedFile:
        copy = file.copy()
        SPOOL_RESTORED.inc()
        with contextlib.suppress(OSError):  # only the sizes are unknown
            self._folder.measure()
        log.error(
            "spool file was removed or renamed; its entries are written again",
            file=file.path.name,
            written_as=copy.path.name,
            bytes=copy.size,
        )
        return copy

    def _finish_own(self) -> None:
        file, self._file = self._file, None
        if file is not None and file.is_open:
            self._replays[file.path] = _Replay(file, file.reader())

    def _close_replays(self) -> None:
        while self._replays:
            self._replays.popitem()[1].file.close()


async def _run(thread: Executor, function: Callable[..., Result], *arguments: object) -> Result:
    return await asyncio.get_running_loop().run_in_executor(thread, function, *arguments)


def _open_replay(path: Path) -> _Replay | None:
    file = open_unlocked(path)
    return None if file is None else _Replay(file, file.reader())


def _finish(replay: _Replay) -> None:
    """Delete the file, or rename it if it is damaged; it stays locked until then."""
    path, reader = replay.file.path, replay.reader
    if reader.torn_bytes:
        log.warning("spool file had a torn tail", file=path.name, bytes_unread=reader.torn_bytes)
    if reader.damaged_bytes:
        log.error(
            "spool file damaged",
            kept_as=path.with_suffix(".damaged").name,
            entries_replayed=reader.entries,
            bytes_unread=reader.damaged_bytes,
        )
    if replay.file.is_named:
        if reader.damaged_bytes:
            path.rename(path.with_suffix(".damaged"))
        else:
            path.unlink(missing_ok=True)
    replay.file.close()
    log.info("spool file replayed", file=path.name, entries=reader.entries)
