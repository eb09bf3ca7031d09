"""The pace of a consumer without a backlog: a rest after a batch, so that the next is larger. Pure.

A batch costs the same as hundreds of clicks: a transaction, a commit by a majority, the update of
each rollup. Steady traffic is stored every PACE_SECONDS. After a quiet time, a lone click and its
conversion are stored at once.
"""

from typing import Final

PACE_SECONDS: Final = 0.4
"""Time between two batches of steady traffic. A report shows a click within a second."""

_BATCHES_AT_ONCE: Final = 4
"""Batches without a rest after a quiet time, which lasts 4 * PACE_SECONDS."""

_MAX_WORKED_SECONDS: Final = 0.5
"""The longest rest after a batch that took long: it rests as long as it worked."""


class Pace:
    """The pace of one consumer. Times are of a monotonic clock."""

    def __init__(self) -> None:
        self._next_at = self._rested_at = 0.0

    def record(self, began: float, ended: float) -> None:
        """Record when a batch began and ended."""
        earliest = began - (_BATCHES_AT_ONCE - 1) * PACE_SECONDS
        self._next_at = max(self._next_at, earliest) + PACE_SECONDS
        self._rested_at = ended + min(ended - began, _MAX_WORKED_SECONDS)

    def rest(self, at: float) -> float:
        """Return the seconds from `at` until the next batch may begin."""
        return max(0.0, max(self._next_at, self._rested_at) - at)
