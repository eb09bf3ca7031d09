"""Periods that a report has counted: they are kept together, and tell how far it is."""

import time
from collections.abc import Callable
from typing import Final

from tracker.reports import limits
from tracker.reports.joint_counts.store import JointCounts, JointId, Kept

_KEEP_SECONDS: Final = 1.0
"""How long counts wait to be kept with others: about the work that a time limit costs."""


class Keeping:
    """Counts that are kept together, about once a second: each write waits for the disk.

    So many `rows` are not kept yet.
    """

    def __init__(self, joint: JointCounts) -> None:
        self._joint = joint
        self._new: dict[JointId, Kept] = {}
        self.rows = 0
        self._since = time.monotonic()

    async def add(self, one: JointId, kept: Kept) -> None:
        """Keep counts, at the end at the latest."""
        self._new[one] = kept
        self.rows += kept.table.rows
        if self.rows > limits.ROWS_AT_ONCE or time.monotonic() - self._since > _KEEP_SECONDS:
            await self.aclose()

    async def aclose(self) -> None:
        """Keep what is not kept yet."""
        new, self._new, self.rows = self._new, {}, 0
        if new:
            await self._joint.keep_all(new)
            # A day has all that its hours have.
            await self._joint.remove_hours([one for one in new if one.is_of_all_day()])
        self._since = time.monotonic()


class Steps:
    """The periods that are read so far, as a share of all."""

    def __init__(self, periods: int, note_share: Callable[[float], None]) -> None:
        self._periods = periods
        self._read = 0
        self._note_share = note_share

    def advance(self, periods: int) -> None:
        """Note that so many more periods are read."""
        self._read += periods
        self._note_share(self._read / self._periods)
