"""Remembers for a moment that a store is away, so that not every request finds out by waiting."""

import time
from collections.abc import Callable

PAUSE = 1.0
"""Seconds to leave a store alone after it failed."""


class Breaker:
    """Open (do not ask) for PAUSE seconds after each failure; closed otherwise."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        return self._now() < self._open_until

    def failed(self) -> None:
        self._open_until = self._now() + PAUSE

    def worked(self) -> None:
        self._open_until = 0.0
