"""Places: how many requests of an account, and of all, may do one kind of work at once.

A request first waits in the line of its account, then in the line of all. So an account has no more
places in the line of all than it may use, and accounts take turns, whatever each of them asks for.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, NamedTuple
from uuid import UUID
from weakref import WeakValueDictionary

from tracker.errors import RateLimited, Unavailable
from tracker.reports.limits import REPORT_SECONDS

RETRY_SECONDS: Final = int(REPORT_SECONDS)
"""The Retry-After of a rejected request: the time limit of one that holds a place."""


class PlaceLimits(NamedTuple):
    """The places of an account and of all, and how many requests may wait for them."""

    of_account: int
    of_all: int
    waiting_of_account: int
    waiting_of_all: int


class Places:
    """The places for one kind of work. Messages say that too many reports `what`."""

    def __init__(self, what: str, limits: PlaceLimits) -> None:
        self._what = what
        self._limits = limits
        self._all = asyncio.Semaphore(limits.of_all)
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
            of_account = asyncio.Semaphore(self._limits.of_account)
            self._of_account[account_id] = of_account
        with self._in_line(account_id):
            try:
                async with asyncio.timeout(seconds):
                    await self._take(of_account)
            except TimeoutError:
                raise self._too_many() from None
        try:
            yield
        finally:
            self._all.release()
            of_account.release()

    async def _take(self, of_account: asyncio.Semaphore) -> None:
        await of_account.acquire()
        try:
            await self._all.acquire()
        except BaseException:
            of_account.release()
            raise

    @contextmanager
    def _in_line(self, account_id: UUID) -> Iterator[None]:
        if self._waiting[account_id] >= self._limits.waiting_of_account:
            message = f"report: too many reports of the account that {self._what} wait; try again"
            raise RateLimited(message, RETRY_SECONDS)
        if self._waiting.total() >= self._limits.waiting_of_all:
            raise self._too_many()
        self._waiting[account_id] += 1
        try:
            yield
        finally:
            self._waiting[account_id] -= 1
            self._waiting += Counter()  # drops accounts at zero

    def _too_many(self) -> Unavailable:
        message = f"report: too many reports that {self._what} are under way; try again"
        return Unavailable(message, {"Retry-After": str(RETRY_SECONDS)})
