"""Permits for expensive work: few requests at once for each account and for the process.

A request waits first in its account's queue, then in the common one. So accounts take turns, and no
account fills the common queue.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import NamedTuple
from uuid import UUID
from weakref import WeakValueDictionary

from tracker.errors import RateLimited, Unavailable


class PermitLimits(NamedTuple):
    """How many requests of an account, and of all, may work at once, or wait."""

    of_account: int
    of_all: int
    waiting_of_account: int
    waiting_of_all: int


class Permits:
    """The permits for one kind of work, which messages call `name` and `plural`.

    A request waits at most `seconds`; a rejected one may try again after that time.
    """

    def __init__(self, name: str, plural: str, permitted: PermitLimits, seconds: float) -> None:
        self._name, self._plural = name, plural
        self._limits = permitted
        self._seconds, self._retry_seconds = seconds, max(1, round(seconds))
        self._all = asyncio.Semaphore(permitted.of_all)
        # A semaphore lives as long as a request of the account waits or works.
        self._of_account: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()
        self._waiting = Counter[UUID]()

    @asynccontextmanager
    async def permit(self, account_id: UUID, seconds: float | None = None) -> AsyncIterator[None]:
        """Wait for a permit, at most `seconds` if they are given, and hold it within the context.

        Raises RateLimited or Unavailable if too many requests wait, or no permit is free in time.
        """
        of_account = self._of_account.get(account_id)
        if of_account is None:
            of_account = asyncio.Semaphore(self._limits.of_account)
            self._of_account[account_id] = of_account
        async with AsyncExitStack() as permits:
            with self._queued(account_id):
                try:
                    async with asyncio.timeout(self._seconds if seconds is None else seconds):
                        await permits.enter_async_context(of_account)
                        await permits.enter_async_context(self._all)
                except TimeoutError:
                    raise self._too_many() from None
            yield

    @contextmanager
    def _queued(self, account_id: UUID) -> Iterator[None]:
        if self._waiting[account_id] >= self._limits.waiting_of_account:
            message = f"{self._name}: the account waits for too many {self._plural}; try again"
            raise RateLimited(message, self._retry_seconds)
        if self._waiting.total() >= self._limits.waiting_of_all:
            raise self._too_many()
        self._waiting[account_id] += 1
        try:
            yield
        finally:
            self._waiting[account_id] -= 1
            self._waiting += Counter()  # drops accounts at zero

    def _too_many(self) -> Unavailable:
        message = f"{self._name}: too many {self._plural} are under way; try again"
        return Unavailable(message, {"Retry-After": str(self._retry_seconds)})
