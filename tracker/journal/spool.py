"""The spool: records wait on disk while Redis is unavailable.

- `append` returns once the entry is flushed to the disk, in the process's own file.
- Processes lock their files until they are replayed. Any process replays unlocked files, in order.
- An interrupted replay may send an entry twice, but an entry is never lost.
- A file that loses its name is written again from its descriptor.
- A damaged file becomes `*.damaged`, after the entries before the damage are sent.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import structlog

from tracker.journal.spool_file import SpoolFile, SpoolFileDamaged, create, set_aside
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

_LOG_SECONDS: Final = 5.0


class Spool:
    """The spool of one process. `max_bytes` limits the files of all processes in `folder`."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = SpoolFolder(folder, max_bytes)
        self._file_bytes = max(FILE_BYTES, max_bytes // MOST_FILES)
        self._own: SpoolFile | None = None
        self._finished: dict[Path, SpoolFile] = {}
        self._failure: OSError | None = None
        self._failed_at = 0.0
        self._log_at = 0.0
        self._replaying = asyncio.Lock()
        # One thread: a slow disk never blocks the event loop, and appends keep their order.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool")

    @property
    def bytes_waiting(self) -> int:
        """Return the bytes of this DATA_DIR to replay, as of the last append or replay."""
        return self._folder.bytes_waiting

    async def append(self, payload: bytes) -> None:
        """Store `payload` durably. Raises SpoolFull, or another OSError if the disk fails."""
        try:
            await self._run(self._append, payload)
        except OSError as error:
            self._failure, self._failed_at = error, time.monotonic()
            raise
        self._failure = None

    async def check(self) -> None:
        """Check the disk. Raises OSError if an append would fail, or has just failed."""
        await self._run(self._folder.check)
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
            if self._own is not None:
                await self._run(self._finish_own)
                sent += await self._replay_waiting(send, until)
        return sent

    async def restore(self) -> None:
        """Rewrite the files of this process that lost their names. Errors are logged."""
        if self._own is None and not self._finished:
            return
        async with self._replaying:
            await self._run(self._restore)

    async def is_empty(self) -> bool:
        """Return whether there is nothing to replay. Raises OSError if that is unknown."""
        return not (await self._run(self._find) or self._own)

    async def close(self) -> None:
        await self.restore()
        await self._run(self._close_files)
        self._thread.shutdown()

    async def _run(self, function: Callable[..., Result], *arguments: object) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    async def _replay_waiting(self, send: Send, until: float) -> int:
        sent = 0
        for path in await self._run(self._find):
            try:
                while time.monotonic() < until and (batch := await self._run(self._batch, path)):
                    await send(batch)
                    self._finished[path].mark_sent(len(batch))
                    sent += len(batch)
            except OSError as error:
                log.error("spool file unreadable", file=path.name, error=str(error))
        return sent

    # The methods below run in the thread.

    def _find(self) -> list[Path]:
        # A removed file that cannot be written again is sent from its descriptor.
        found = {*self._folder.measure(), *self._finished}
        return sorted(found if self._own is None else found - {self._own.path})

    def _batch(self, path: Path) -> list[bytes]:
        """Return the next batch of a file; at its end none, and remove it."""
        try:
            if path not in self._finished:
                if not path.exists():  # another process has replayed it
                    return []
                self._finished[path] = SpoolFile(path)
            batch = self._finished[path].batch()
        except BlockingIOError:  # another process has locked it
            return []
        except SpoolFileDamaged as error:
            self._set_aside(path, error)
            return []
        if not batch:
            file = self._finished.pop(path)
            file.remove()
            self._folder.measure()
            log.info("spool file replayed", file=path.name, entries=file.sent_entries)
        return batch

    def _set_aside(self, path: Path, error: SpoolFileDamaged) -> None:
        kept, file = set_aside(path), self._finished.pop(path, None)
        if file is not None:
            file.close()
        log.error(
            "spool file damaged",
            kept_as=kept.name,
            entries_replayed=file.sent_entries if file else 0,
            error=str(error),
        )

    def _append(self, payload: bytes) -> None:
        self._folder.check_room(len(payload))
        try:
            if self._own is None:
                self._own = create(self._folder.path)
            self._own.append(payload)
            try:
                self._name_own()
            except OSError:
                self._own.undo()
                raise
        except OSError:
            self._finish_own()  # the next append begins another file
            raise
        with contextlib.suppress(OSError):  # only the sizes are unknown
            self._folder.measure()
        if self._own.payload_bytes >= self._file_bytes:
            self._finish_own()

    def _name_own(self) -> None:
        if self._own is not None and not self._own.is_named:
            self._own = self._restored(self._own)
            if not self._own.is_named:
                raise OSError("spool files are removed as fast as they are written")

    def _restore(self) -> None:
        try:
            self._name_own()
            for path, file in [*self._finished.items()]:
                if not file.is_named:
                    copy = self._restored(file)
                    del self._finished[path]
                    self._finished[copy.path] = copy
        except OSError as error:
            if time.monotonic() >= self._log_at:
                self._log_at = time.monotonic() + _LOG_SECONDS
                log.error("a removed spool file cannot be written again", error=str(error))

    def _restored(self, file: SpoolFile) -> SpoolFile:
        copy = file.copy()
        file.remove()
        SPOOL_RESTORED.inc()
        log.error(
            "spool file was removed or renamed; its entries are written again",
            file=file.path.name,
            written_as=copy.path.name,
        )
        return copy

    def _finish_own(self) -> None:
        if self._own is not None:
            self._finished[self._own.path] = self._own
            self._own = None

    def _close_files(self) -> None:
        self._finish_own()
        while self._finished:
            self._finished.popitem()[1].close()
