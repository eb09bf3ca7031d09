"""A circuit breaker: for a moment after a store has failed, requests do not wait for it.

Our own overload does not open it, or one client could have every other one refused.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from tracker.loops import cancel_and_wait

OPEN_SECONDS: Final = 1.0

_ROUNDS: Final = 4

Result = TypeVar("Result")


class Overload(Exception):
    """An error of our own making. It may also have the type of a store's error."""


class Breaker:
    """A circuit breaker: open for OPEN_SECONDS after each failure, closed otherwise."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        return self._now() < self._open_until

    def record_failure(self, error: BaseException | None = None) -> None:
        """Open the breaker, unless `error` is an Overload."""
        if not isinstance(error, Overload):
            self._open_until = self._now() + OPEN_SECONDS

    def record_success(self) -> None:
        self._open_until = 0.0


async def answer_within(seconds: float, query: Coroutine[Any, Any, Result]) -> Result:
    """Run `query`. Raises TimeoutError if the store does not answer in `seconds`.

    Time is counted in rounds, so that a blocked event loop never looks like a slow store.
    """
    task = asyncio.get_running_loop().create_task(query)
    try:
        for _ in range(_ROUNDS):
            await asyncio.wait({task}, timeout=seconds / _ROUNDS)
            if task.done():
                return task.result()
        raise TimeoutError
    finally:
        # PyMongo's selection of a server waits in `asyncio.wait_for`. On Python 3.11 that loses a
        # cancellation that comes just as its own time is over.
        await cancel_and_wait(task)
        if not task.cancelled():
            task.exception()  # otherwise asyncio reports that nobody asked for it
