"""The clock by which a server measures its clients, moved by a test."""

import asyncio
from typing import Any

from tests.clock import Clock
from tests.waiting import eventually
from tracker.http.server import Server


class _Loop:
    """An event loop whose time a test moves; its timers go by the real one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.time = Clock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


class ServerClock:
    """From now on time passes for `server` only in `pass_seconds`."""

    def __init__(self, server: Server) -> None:
        self._state: Any = server._state
        self._state.loop = _Loop(self._state.loop)
        self._state.loop.time.seconds = self._state.now

    async def pass_seconds(self, seconds: float) -> None:
        """Let time pass, and wait until the server has checked its connections."""
        time = self._state.loop.time
        time.seconds += seconds
        await eventually(lambda: self._state.now == time.seconds)
