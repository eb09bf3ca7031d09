"""A pace for API requests, so that visitors are answered between them. Used by `tracker/web`."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

LONG_ITERATION_SECONDS: Final = 0.002
"""A longer iteration of the event loop is busy enough. An API request takes about that long, and
fifty that began at once delayed visitors by 120 ms."""

MAX_WAIT_SECONDS: Final = 0.01
"""The longest that visitors keep the next API request waiting."""


class Pacing:
    """A queue that starts one request per iteration of the loop, in order, after a short one."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._running = False
        # When this iteration began, and the latest time at which the next request may start.
        self._since = 0.0
        self._latest = 0.0

    async def wait_turn(self) -> None:
        loop = asyncio.get_running_loop()
        if self._running:
            turn = loop.create_future()
            self._waiting.append(turn)
            await turn
        else:
            self._running = True
            self._mark_started(self._clock())
            loop.call_soon(self._start_next)

    def _mark_started(self, now: float) -> None:
        self._since = now
        self._latest = now + MAX_WAIT_SECONDS

    def _start_next(self) -> None:
        while self._waiting and self._waiting[0].done():  # its request was cancelled
            self._waiting.popleft()
        if not self._waiting:
            self._running = False
            return
        now = self._clock()
        if now - self._since <= LONG_ITERATION_SECONDS or now >= self._latest:
            self._waiting.popleft().set_result(None)
            self._mark_started(now)
        self._since = now
        asyncio.get_running_loop().call_soon(self._start_next)
