"""The exports that a process is sending: few at once, and an end for all when the service stops."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final
from uuid import UUID

from tracker.errors import Unavailable
from tracker.limits.account_limiter import AccountLimiter

MAX_OF_ACCOUNT: Final = 2
MAX_EXPORTS: Final = 8

RETRY_SECONDS: Final = 30

End = Callable[[str], None]
"""A function that ends an export, given the reason."""


class RunningExports:
    """The exports under way."""

    def __init__(self, per_account: int = MAX_OF_ACCOUNT, total: int = MAX_EXPORTS) -> None:
        self._limiter = AccountLimiter("export", "exports", per_account, total, RETRY_SECONDS)
        self._running: list[End] = []
        self._none_runs = asyncio.Event()
        self._none_runs.set()
        self._stopping = False

    @property
    def count(self) -> int:
        return len(self._running)

    @contextmanager
    def running(self, account_id: UUID, end: End) -> Iterator[None]:
        """Count an export. Raises RateLimited or Unavailable if too many run, or on shutdown."""
        if self._stopping:
            retry = {"Retry-After": str(RETRY_SECONDS)}
            raise Unavailable("export: the service is about to stop; try again", retry)
        with self._limiter.acquire(account_id):
            self._running.append(end)
            self._none_runs.clear()
            try:
                yield
            finally:
                self._running.remove(end)
                if not self._running:
                    self._none_runs.set()

    async def finish(self, seconds: float) -> None:
        """Wait at most `seconds` for the exports under way, end the rest, and begin no more."""
        self._stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._none_runs.wait()
        for end in tuple(self._running):
            end("the service stops")
