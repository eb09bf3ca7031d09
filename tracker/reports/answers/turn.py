"""The turn of one request at the reports of a process: its permit, time limit and progress.

A request waits first in its account's queue, then in the common one. So accounts take turns, and no
account fills the common queue.

Reading counts needs a permit to read. To count clicks, a request exchanges it for a permit to
count, and keeps that until its end. It never holds two. `reports/limits` has their numbers.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

import pymongo
from pymongo.errors import PyMongoError

from tracker.errors import RateLimited, TooSlow, Unavailable
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

_WAIT_SECONDS: Final = int(limits.REPORT_SECONDS)
"""The Retry-After of a rejected request: the time limit of a running one."""

_MOST: Final = 0.9999
"""The fraction of a request that is almost done."""


class Permits:
    """The permits for one kind of work, which messages call `work`."""

    def __init__(self, work: str, permitted: limits.PermitLimits) -> None:
        self._work = work
        self._limits = permitted
        self._all = asyncio.Semaphore(permitted.of_all)
        # A semaphore lives as long as a request of the account waits or works.
        self._of_account: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()
        self._waiting = Counter[UUID]()

    @asynccontextmanager
    async def permit(self, account_id: UUID, seconds: float) -> AsyncIterator[None]:
        """Wait at most `seconds` for a permit, and hold it within the context.

        Raises RateLimited or Unavailable if too many requests wait, or no permit is free in time.
        """
        of_account = self._of_account.get(account_id)
        if of_account is None:
            of_account = asyncio.Semaphore(self._limits.of_account)
            self._of_account[account_id] = of_account
        async with AsyncExitStack() as permits:
            with self._queued(account_id):
                try:
                    async with asyncio.timeout(seconds):
                        await permits.enter_async_context(of_account)
                        await permits.enter_async_context(self._all)
                except TimeoutError:
                    raise self._too_many() from None
            yield

    @contextmanager
    def _queued(self, account_id: UUID) -> Iterator[None]:
        if self._waiting[account_id] >= self._limits.waiting_of_account:
            message = f"report: too many reports of the account that {self._work} wait; try again"
            raise RateLimited(message, _WAIT_SECONDS)
        if self._waiting.total() >= self._limits.waiting_of_all:
            raise self._too_many()
        self._waiting[account_id] += 1
        try:
            yield
        finally:
            self._waiting[account_id] -= 1
            self._waiting += Counter()  # drops accounts at zero

    def _too_many(self) -> Unavailable:
        message = f"report: too many reports that {self._work} are under way; try again"
        return Unavailable(message, {"Retry-After": str(_WAIT_SECONDS)})


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
