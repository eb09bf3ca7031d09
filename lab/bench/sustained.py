"""The search for the rate that a row sustains: the highest at which all that is accepted lands.

At full speed much of what is accepted lands later, and the first seconds are cheaper than a minute:
MongoDB has written less to its disk. Pure: the caller measures at the rates that it is told.
"""

from typing import Final

from lab.bench.measure import Measured

ATTEMPTS: Final = 4
"""Rates that are tried."""

_STEP: Final = 1.05
"""The factor to the next rate, until one was sustained and one was not."""

_MIN_SHARE: Final = 0.99
"""The share of the accepted that is stored two seconds after a load that is sustained."""


class Search:
    """The search of one row, which begins with the rate at which it lands at full speed.

    Measure at `rate`, `add` the result, and so on for ATTEMPTS times. `best` is the highest rate
    that was sustained, None if none was.
    """

    def __init__(self, landed_rate: float) -> None:
        self.rate = landed_rate
        self.best: Measured | None = None
        self._sustained: float | None = None
        self._failed: float | None = None

    def add(self, measured: Measured) -> None:
        if is_sustained(measured):
            self.best, self._sustained = measured, self.rate
        else:
            self._failed = self.rate
        if self._failed is None:
            self.rate *= _STEP
        elif self._sustained is None:
            self.rate /= _STEP
        else:
            self.rate = (self._sustained + self._failed) / 2


def is_sustained(measured: Measured) -> bool:
    """Return whether every request was sent in time, and nearly all that was accepted landed."""
    landed = measured.landed
    if landed is None or measured.outcome.unsent:
        return False
    return landed.settled >= landed.accepted * _MIN_SHARE
