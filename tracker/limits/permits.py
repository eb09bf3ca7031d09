"""Permits for expensive work: few requests at once for each account and for the process.

A request waits first in its account's queue, then in the common one. So accounts take turns, and no
account fills the common queue.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple
from uuid import UUID
from weakref import WeakValueDictionary

from tracker.limits.account_limiter import AccountLimiter


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
        self._limits, self._seconds = permitted, seconds
        waiting = (permitted.waiting_of_account, permitted.waiting_of_all)
        self._waiting = AccountLimiter(name, plural, *waiting, seconds)
        self._all = asyncio.Semaphore(permitted.of_all)
        # A semaphore lives as long as a request of the account waits or works.
        self._of_account: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()

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
            with self._waiting.acquire(account_id):
                try:
                    async with asyncio.timeout(self._seconds if seconds is None else seconds):
                        await permits.enter_async_context(of_account)
                        await permits.enter_async_context(self._all)
                except TimeoutError:
                    raise self._waiting.too_many() from None
            yield
