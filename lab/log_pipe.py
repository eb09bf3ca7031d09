"""A log that is read as fast as it is written, or not at all. Linux."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_READ_BYTES: Final = 65_536


class LogPipe:
    """A named pipe that a process logs to, read by the running loop unless that is paused."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path = path
        # Open it for writing too, so that the process can open it at any time.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._pipe, self._read)
        self.read_bytes = 0

    @contextmanager
    def unread(self) -> Iterator[None]:
        self._loop.remove_reader(self._pipe)
        try:
            yield
        finally:
            self._loop.add_reader(self._pipe, self._read)

    def close(self) -> None:
        self._loop.remove_reader(self._pipe)
        os.close(self._pipe)
        self._path.unlink()

    def _read(self) -> None:
        with suppress(BlockingIOError):
            self.read_bytes += len(os.read(self._pipe, _READ_BYTES))
