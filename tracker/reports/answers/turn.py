"""The turn of one request at the reports of a process: its place, its time limit, how far it is.

A request first waits in the line of its account, then in the line of all. So an account has no more
places in the line of all than it may use, and accounts take turns, whatever each of them asks for.

A request reads what is counted already in a place for reading. Once it has to count clicks, it
gives that up and goes on in a place for counting, until its end. It never holds two. How many
places there are is in `reports/limits`, and how many bytes a request may take in `reports/memory`.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

import pymongo
from pymongo.errors import PyMongoError

from tracker.errors import RateLimited, TooSlow, Unavailable
from tracker.reports import limits
from tracker.reports.joint_counts.fingerprints import Fingerprints
from tracker.reports.joint_counts.unattributed import Unattributed
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.time_limit import is_time_limit, told_apart

PROGRESS_HEADER: Final = "X-Report-Progress"
"""The header with the share of a report that is counted and kept, from 0 to 1."""

_RETRY_SECONDS: Final = 1

_WAIT_SECONDS: Final = int(limits.REPORT_SECONDS)
"""The Retry-After of a rejected request: the time limit of one that holds a place."""

_MOST: Final = 0.9999
"""The share of a request that is almost done."""


class Places:
    """The places for one kind of work. Messages say that too many reports `what`."""

    def __init__(self, what: str, bounds: limits.PlaceLimits) -> None:
        self._what = what
        self._bounds = bounds
        self._all = asyncio.Semaphore(bounds.of_all)
        # A semaphore lives as long as somebody of the account waits or works.
        self._of_account: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()
        self._waiting = Counter[UUID]()

    @asynccontextmanager
    async def place(self, account_id: UUID, seconds: float) -> AsyncIterator[None]:
        """Wait for a place of the account, at most `seconds`, and hold it within the context.

        - Raises RateLimited if too many requests of the account wait.
        - Raises Unavailable if too many of all accounts wait, or no place was free in time.
        """
        of_account = self._of_account.get(account_id)
        if of_account is None:
            of_account = asyncio.Semaphore(self._bounds.of_account)
            self._of_account[account_id] = of_account
        async with AsyncExitStack() as held:
            with self._in_line(account_id):
                try:
                    async with asyncio.timeout(seconds):
                        await held.enter_async_context(of_account)
                        await held.enter_async_context(self._all)
                except TimeoutError:
                    raise self._too_many() from None
            yield

    @contextmanager
    def _in_line(self, account_id: UUID) -> Iterator[None]:
        if self._waiting[account_id] >= self._bounds.waiting_of_account:
            message = f"report: too many reports of the account that {self._what} wait; try again"
            raise RateLimited(message, _WAIT_SECONDS)
        if self._waiting.total() >= self._bounds.waiting_of_all:
            raise self._too_many()
        self._waiting[account_id] += 1
        try:
            yield
        finally:
            self._waiting[account_id] -= 1
            self._waiting += Counter()  # drops accounts at zero

    def _too_many(self) -> Unavailable:
        message = f"report: too many reports that {self._what} are under way; try again"
        return Unavailable(message, {"Retry-After": str(_WAIT_SECONDS)})


class Progress:
    """How far a request is: the parts that are done, and the share of the one in progress."""

    def __init__(self) -> None:
        self._parts, self._done, self._within = 1, 0, 0.0

    def expect(self, parts: int) -> None:
        self._parts = max(parts, 1)

    def note_share(self, share: float) -> None:
        """Note the share of the part in progress that is done."""
        self._within = share

    def finish_part(self) -> None:
        self._done += 1
        self._within = 0.0

    @property
    def share(self) -> float:
        """Return the share of the request that is done: below 1 while it is not."""
        return min((self._done + self._within) / self._parts, _MOST)

    @property
    def text(self) -> str:
        """Return the share as its header has it: some days of two years are seen in 24 parts."""
        return f"{self.share:.4f}"


class Turn:
    """The turn of a request. With `is_thorough` days are counted for many other reports too.

    All its parts read one snapshot, so they share its `marks` and its `unattributed` conversions.
    """

    def __init__(
        self, database: Database, account_id: UUID, reading: Places, counting: Places
    ) -> None:
        self.account_id = account_id
        self.is_thorough = False
        self.progress = Progress()
        self.marks: dict[UUID | None, Fingerprints] = {}
        self.unattributed = Unattributed()
        self._database = database
        self._reading, self._counting = reading, counting
        self._is_counting = False
        self._until = time.monotonic() + limits.REPORT_SECONDS
        self._place = AsyncExitStack()

    async def __aenter__(self) -> "Turn":
        await self._place.enter_async_context(self._reading.place(self.account_id, self._left()))
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._place.aclose()

    async def begin_counting(self) -> None:
        """Go on in a place for counting.

        Raises RateLimited or Unavailable if too many reports wait for one.
        """
        if not self._is_counting:
            self._is_counting = True
            await self._place.aclose()
            left = self._left()
            await self._place.enter_async_context(self._counting.place(self.account_id, left))

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """Limit the reads within the context to the time that is left.

        Raises TooSlow, which says how far the request is, if that is not enough, AutoReconnect if
        MongoDB does not answer at all.
        """
        left = self._left()
        if left <= 0:
            raise self._too_slow()
        try:
            async with told_apart(self._database):
                with pymongo.timeout(left):
                    yield
        except PyMongoError as error:
            if is_time_limit(error):
                raise self._too_slow() from None
            raise

    def _left(self) -> float:
        return self._until - time.monotonic()

    def _too_slow(self) -> TooSlow:
        percent = int(self.progress.share * 100)
        return TooSlow(
            f"report: not done after {limits.REPORT_SECONDS:.0f} seconds; {percent}% is counted "
            "and kept: try again, or ask for fewer days",
            _RETRY_SECONDS,
            {PROGRESS_HEADER: self.progress.text},
        )
