"""The longest turn of the event loop: the longest time that everything else in a process waited."""

import asyncio
import time
from typing import Final

from tracker.metrics import LONGEST_TURN

LOOK_SECONDS: Final = 0.01
"""The time between two looks at a busy process. A turn may have been longer than its figure by
this."""

REST_SECONDS: Final = 0.5
"""The time between two looks at a process at rest, which costs 0.1 ms to wake."""

_BUSY_SHARE: Final = 0.25
"""The share of a core that a busy process uses."""

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
    longest, pause = Longest(), LOOK_SECONDS
    # Not the loop's clock: uvloop's stands still during a turn, and counts milliseconds.
    now, used = time.perf_counter(), time.process_time()
    while True:
        due = now + pause
        await asyncio.sleep(pause)
        before, used_before = now, used
        now, used = time.perf_counter(), time.process_time()
        LONGEST_TURN.set(longest.add(max(0.0, now - due), now))
        is_busy = used - used_before > _BUSY_SHARE * (now - before)
        pause = LOOK_SECONDS if is_busy else REST_SECONDS
