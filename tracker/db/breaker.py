"""Remembers for a moment that a store is unavailable, so that not every request finds out by
waiting.

Only what a store does opens a breaker. What is of our own making, such as a queue for a connection
or an event loop that stood still, says nothing of the store: who took it for a failure would
refuse everybody because of the requests of one.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

PAUSE = 1.0
"""Seconds to leave a store alone after it failed."""

_ROUNDS: Final = 4

Result = TypeVar("Result")


class Overload(Exception):
    """An error of our own making: raised instead of a store's error, or together with its type."""


class Breaker:
    """A circuit breaker: open for PAUSE seconds after each failure, closed otherwise."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        """Return whether the store is to be left alone now."""
        return self._now() < self._open_until

    def failed(self, error: BaseException | None = None) -> None:
        """Open it, unless `error` is an Overload."""
        if not isinstance(error, Overload):
            self._open_until = self._now() + PAUSE

    def worked(self) -> None:
        """Close it: the store has answered."""
        self._open_until = 0.0


async def answer_within(seconds: float, asking: Coroutine[Any, Any, Result]) -> Result:
    """Return what `asking` returns. Raises TimeoutError if the store does not answer in `seconds`.

    The time is counted in rounds: if the loop stands still, one round takes longer, and what has
    come meanwhile is read before the next ends. So our own delay never looks like the store's.
    """
    task = asyncio.get_running_loop().create_task(asking)
    try:
        for _ in range(_ROUNDS):
            await asyncio.wait({task}, timeout=seconds / _ROUNDS)
            if task.done():
                return task.result()
        raise TimeoutError
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
