"""The longest turn of the event loop: the longest time that everything else in a process waited."""

import asyncio
import time
from typing import Final

from tracker.metrics import LONGEST_TURN

LOOK_SECONDS: Final = 0.01
"""The time between two looks. A turn may have been longer than its figure by this."""

WINDOW_SECONDS: Final = 15.0
"""A turn is shown for at least so long, and at most twice as long."""


class Longest:
    """The longest of the turns that ended in this window and the one before it."""

    def __init__(self) -> None:
        self._window = 0
        self._before = self._now = 0.0

    def add(self, seconds: float, at: float) -> float:
        """Add a turn that ended `at`, in seconds of any clock; return the longest."""
        window = int(at / WINDOW_SECONDS)
        if window != self._window:
            self._before = self._now if window == self._window + 1 else 0.0
            self._window, self._now = window, 0.0
        self._now = max(self._now, seconds)
        return max(self._before, self._now)


async def keep_measuring() -> None:
    """Look until cancelled how late the loop is."""
    longest = Longest()
    while True:
        # Not the loop's clock: uvloop's stands still during a turn, and counts milliseconds.
        due = time.perf_counter() + LOOK_SECONDS
        await asyncio.sleep(LOOK_SECONDS)
        now = time.perf_counter()
        LONGEST_TURN.set(longest.add(max(0.0, now - due), now))
