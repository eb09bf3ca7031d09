"""Newly counted periods: the batches that cache them, and the progress of a report."""

import time
from collections.abc import Callable
from typing import Final

from tracker.reports import limits
from tracker.reports.joint_counts.store import JointCounts, JointId, NewCounts

_BATCH_SECONDS: Final = 1.0
"""How long counts wait for a batch. A time limit loses at most this much work."""


class CacheBatch:
    """A batch of counts to cache, written about once a second: each write waits for the disk."""

    def __init__(self, joint: JointCounts) -> None:
        self._joint = joint
        self._new: dict[JointId, NewCounts] = {}
        self.rows = 0
        self._since = time.monotonic()

    async def add(self, one: JointId, new: NewCounts) -> None:
        self._new[one] = new
        self.rows += new.table.rows
        if self.rows > limits.ROWS_AT_ONCE or time.monotonic() - self._since > _BATCH_SECONDS:
            await self.aclose()

    async def aclose(self) -> None:
        """Write the rest of the batch."""
        new, self._new, self.rows = self._new, {}, 0
        if new:
            await self._joint.store_all(new)
            # A day's counts by all dimensions replace its hours.
            await self._joint.remove_hours([one for one in new if one.is_day_by_all()])
        self._since = time.monotonic()


class PeriodProgress:
    """The fraction of the periods that are read."""

    def __init__(self, periods: int, on_progress: Callable[[float], None]) -> None:
        self._periods = periods
        self._read = 0
        self._on_progress = on_progress

    def advance(self, periods: int) -> None:
        self._read += periods
        self._on_progress(self._read / self._periods)
