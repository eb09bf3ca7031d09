"""The clock by which a server measures its clients, moved by a test."""

import asyncio
from typing import Any, cast

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
        self._state = server._state
        loop = _Loop(self._state.loop)
        self._clock = loop.time
        self._clock.seconds = self._state.now
        self._state.loop = cast(asyncio.AbstractEventLoop, loop)

    async def pass_seconds(self, seconds: float) -> None:
        """Let time pass, and wait until the server has checked its connections."""
        self._clock.seconds += seconds
        await eventually(lambda: self._state.now == self._clock.seconds)
