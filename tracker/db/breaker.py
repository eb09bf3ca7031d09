"""Remembers for a moment that a store is unavailable, so that not every request finds out by
waiting.

Only what a store does opens a breaker. Our own overload, such as a queue for a connection or an
event loop that stood still, says nothing of the store: if it opened a breaker, everybody would be
refused because of the requests of one.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

OPEN_SECONDS: Final = 1.0
"""How long a store is left alone after it failed."""

_ROUNDS: Final = 4
"""Parts of a time limit, see `answer_within`."""

Result = TypeVar("Result")


class Overload(Exception):
    """An error that we caused: raised instead of a store's error, or together with its type."""


class Breaker:
    """A circuit breaker: open for OPEN_SECONDS after each failure, closed otherwise."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        """Return whether to leave the store alone now."""
        return self._now() < self._open_until

    def failed(self, error: BaseException | None = None) -> None:
        """Open the breaker, unless `error` is an Overload."""
        if not isinstance(error, Overload):
            self._open_until = self._now() + OPEN_SECONDS

    def worked(self) -> None:
        """Close the breaker: the store has answered."""
        self._open_until = 0.0


async def answer_within(seconds: float, query: Coroutine[Any, Any, Result]) -> Result:
    """Return what `query` returns. Raises TimeoutError if the store does not answer in `seconds`.

    The time is counted in rounds. If the loop stands still, one round takes longer, and answers
    that have arrived are read before the next ends: our own delay never looks like the store's.
    """
    task = asyncio.get_running_loop().create_task(query)
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
