"""A circuit breaker: for a moment after a store has failed, requests do not wait for it.

Only a fault of the store opens a breaker. Our own overload does not, such as a queue for a
connection or a blocked event loop. Otherwise the requests of one client could have those of all
others refused.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from tracker.loops import cancel_and_wait

OPEN_SECONDS: Final = 1.0
"""How long a store is left alone after it failed."""

_ROUNDS: Final = 4
"""Parts of a time limit, see `answer_within`."""

Result = TypeVar("Result")


class Overload(Exception):
    """An error of our own making, not of a store. It may also have the type of a store's error."""


class Breaker:
    """A circuit breaker: open for OPEN_SECONDS after each failure, closed otherwise."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        """Return whether to leave the store alone now."""
        return self._now() < self._open_until

    def record_failure(self, error: BaseException | None = None) -> None:
        """Open the breaker, unless `error` is an Overload."""
        if not isinstance(error, Overload):
            self._open_until = self._now() + OPEN_SECONDS

    def record_success(self) -> None:
        self._open_until = 0.0


async def answer_within(seconds: float, query: Coroutine[Any, Any, Result]) -> Result:
    """Return what `query` returns. Raises TimeoutError if the store does not answer in `seconds`.

    The time is counted in rounds. If the event loop is blocked, one round takes longer, and answers
    that have arrived meanwhile are read before the next one ends. So our own delay never looks like
    the store's.
    """
    task = asyncio.get_running_loop().create_task(query)
    try:
        for _ in range(_ROUNDS):
            await asyncio.wait({task}, timeout=seconds / _ROUNDS)
            if task.done():
                return task.result()
        raise TimeoutError
    finally:
        # Until it has ended: PyMongo's selection of a server waits in `asyncio.wait_for`, which on
        # Python 3.11 loses a cancellation that comes just as its own time is over.
        await cancel_and_wait(task)
        if not task.cancelled():
            task.exception()  # otherwise asyncio reports that nobody asked for it
