"""The turn of one request at the reports of a process: its permit, time limit and progress.

Reading counts needs a permit to read. To count clicks, a request exchanges it for a permit to
count, and keeps that until its end. It never holds two. `reports/limits` has their numbers.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final
from uuid import UUID

import pymongo
from pymongo.errors import PyMongoError

from tracker.errors import TooSlow
from tracker.limits.permits import Permits
from tracker.reports import limits
from tracker.reports.columns import Columns
from tracker.reports.joint_counts.fingerprints import Fingerprints
from tracker.reports.joint_counts.scope import RecentKey
from tracker.reports.joint_counts.unattributed import Unattributed
from tracker.reports.rollups.shared_rollups import SharedRollups
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.time_limit import TimeLimits, is_time_limit

PROGRESS_HEADER: Final = "X-Report-Progress"
"""The header with the fraction of a report that is counted and cached, from 0 to 1."""

_RETRY_SECONDS: Final = 1

_MOST: Final = 0.9999
"""The fraction of a request that is almost done."""


class Progress:
    """The progress of a request: its finished parts, and a fraction of the current one."""

    def __init__(self) -> None:
        self._parts, self._done, self._within = 1, 0, 0.0

    def expect(self, parts: int) -> None:
        self._parts = max(parts, 1)

    def set_fraction(self, fraction: float) -> None:
        """Set the finished fraction of the current part."""
        self._within = fraction

    def finish_part(self) -> None:
        self._done += 1
        self._within = 0.0

    @property
    def fraction(self) -> float:
        """Return the finished fraction of the request, always below 1."""
        return min((self._done + self._within) / self._parts, _MOST)

    @property
    def text(self) -> str:
        """Return the fraction for its header. Even one day of two years changes it."""
        return f"{self.fraction:.4f}"


class Turn:
    """The turn of a request. With `is_thorough` days are counted by all dimensions.

    All its parts read one snapshot, so they share fingerprints, `unattributed` conversions, the
    counts of `recent` documents, and `rollups` if there are many parts. `combinations` are the
    dimensions of each part that rollups do not answer.
    """

    def __init__(
        self, database: Database, account_id: UUID, reading: Permits, counting: Permits
    ) -> None:
        self.account_id = account_id
        self.is_thorough = False
        self.combinations: Sequence[Sequence[str]] = ()
        self.progress = Progress()
        self.fingerprints: dict[UUID | None, Fingerprints] = {}
        self.rollups: SharedRollups | None = None
        self.recent: dict[RecentKey, Columns] = {}
        self.unattributed = Unattributed()
        self._database = database
        self._reading, self._counting = reading, counting
        self._is_counting = False
        self._until = time.monotonic() + limits.REPORT_SECONDS
        self._permit = AsyncExitStack()

    async def __aenter__(self) -> "Turn":
        await self._permit.enter_async_context(self._reading.permit(self.account_id, self._left()))
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._permit.aclose()

    async def begin_counting(self) -> None:
        """Exchange the permit for one to count. Raises as `Permits.permit`."""
        if not self._is_counting:
            self._is_counting = True
            await self._permit.aclose()
            left = self._left()
            await self._permit.enter_async_context(self._counting.permit(self.account_id, left))

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """Limit the reads within the context to the remaining time.

        Raises TooSlow with the progress, or AutoReconnect if MongoDB does not answer at all.
        """
        left = self._left()
        if left <= 0:
            raise self._too_slow()
        try:
            async with TimeLimits(self._database):
                with pymongo.timeout(left):
                    yield
        except PyMongoError as error:
            if is_time_limit(error):
                raise self._too_slow() from None
            raise

    def _left(self) -> float:
        return self._until - time.monotonic()

    def _too_slow(self) -> TooSlow:
        percent = int(self.progress.fraction * 100)
        return TooSlow(
            f"report: not done after {limits.REPORT_SECONDS:.0f} seconds; {percent}% is counted "
            "and cached: try again, or ask for fewer days",
            _RETRY_SECONDS,
            {PROGRESS_HEADER: self.progress.text},
        )
