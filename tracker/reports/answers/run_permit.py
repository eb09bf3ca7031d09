"""The permit of one request for reports.

Reading counts needs a permit to read. To count clicks, a request exchanges it for a permit to
count, and keeps that until its end. It never holds two. `reports/limits` has their numbers.
"""

import time
from contextlib import AsyncExitStack
from uuid import UUID

from tracker.limits.permits import Permits


class RunPermit:
    """The permit to read or to count, within a context. No wait is longer than `until`.

    Raises RateLimited or Unavailable if too many requests wait.
    """

    def __init__(self, account_id: UUID, reading: Permits, counting: Permits, until: float) -> None:
        self._account_id = account_id
        self._reading, self._counting = reading, counting
        self._is_counting = False
        self._until = until
        self._permit = AsyncExitStack()

    async def __aenter__(self) -> "RunPermit":
        await self._take(self._reading)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._permit.aclose()

    async def begin_counting(self) -> None:
        """Exchange the permit for one to count."""
        if not self._is_counting:
            self._is_counting = True
            await self._permit.aclose()
            await self._take(self._counting)

    async def _take(self, permits: Permits) -> None:
        left = self._until - time.monotonic()
        await self._permit.enter_async_context(permits.permit(self._account_id, left))
