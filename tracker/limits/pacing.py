"""A pace for requests to the API, so that visitors come between them."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

LONG_ITERATION_SECONDS: Final = 0.002
"""An iteration of the event loop that takes longer has enough to do with what has begun: a request
to the API needs about as much of it, in parts, and fifty at once kept visitors for 120 ms."""

MAX_WAIT_SECONDS: Final = 0.01
"""How long none begins because of long iterations: whatever visitors do, the API is answered."""


class Pacing:
    """Lets requests begin in the order in which they came: one in an iteration of the event loop,
    if that before it was short.

    An idle loop iterates at once, so that nothing is slower where nobody else waits. What waits is
    bounded by the connections: a request of each.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._watching = False
        # When the present iteration began, and when the next request begins at the latest.
        self._since = 0.0
        self._latest = 0.0

    async def wait_turn(self) -> None:
        """Return when the request may begin."""
        loop = asyncio.get_running_loop()
        if self._watching:
            place = loop.create_future()
            self._waiting.append(place)
            await place
        else:
            self._watching = True
            self._begun(self._clock())
            loop.call_soon(self._next)

    def _begun(self, now: float) -> None:
        self._since = now
        self._latest = now + MAX_WAIT_SECONDS

    def _next(self) -> None:
        """Go on with the iteration that begins now."""
        while self._waiting and self._waiting[0].done():  # its request was given up
            self._waiting.popleft()
        if not self._waiting:
            self._watching = False
            return
        now = self._clock()
        if now - self._since <= LONG_ITERATION_SECONDS or now >= self._latest:
            self._waiting.popleft().set_result(None)
            self._begun(now)
        self._since = now
        asyncio.get_running_loop().call_soon(self._next)
