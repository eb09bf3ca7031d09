"""Consumers of a test, and what they have left of the journal."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from tests.conversions import scene
from tests.waiting import PATIENCE_SECONDS
from tracker.ingest.consumer import Consumer
from tracker.ingest.record import Record
from tracker.service.services import Services

STALE = 0.2


class Applied:
    """A drain that counts what it applies. It applies nothing if `fails` raises."""

    def __init__(
        self, services: Services, fails: Callable[[Sequence[Record]], object] = lambda _: None
    ) -> None:
        self._drain = scene.drain_of(services)
        self._fails = fails
        self.attempts: list[float] = []
        self.attempted = asyncio.Condition()
        self.records = 0

    async def apply(self, records: Sequence[Record]) -> None:
        self.attempts.append(time.monotonic())
        try:
            self._fails(records)
            await self._drain.apply(records)
            self.records += len(records)
        finally:
            async with self.attempted:
                self.attempted.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with self.attempted:
            await asyncio.wait_for(self.attempted.wait_for(condition), PATIENCE_SECONDS)


class Outage:
    """An outage of a store: `error` at the first `times` batches."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error = error
        self.times = times

    def __call__(self, records: Sequence[Record]) -> None:
        if records and self.times:
            self.times -= 1
            raise self.error


def consumer_of(services: Services, applied: Applied, stale: float = 10.0) -> Consumer:
    return Consumer(services.stores.redis, services.stores.redis_blocking, applied.apply, stale)


@contextlib.asynccontextmanager
async def running(consumer: Consumer) -> AsyncIterator[None]:
    """Run `consumer` while the block runs, and stop it."""
    stop = asyncio.Event()
    task = asyncio.create_task(consumer.run(stop))
    try:
        yield
        stop.set()
        await asyncio.wait_for(task, PATIENCE_SECONDS)
    finally:
        task.cancel()


async def clicks_in(services: Services) -> int:
    return await services.stores.mongodb["clicks"].count_documents({})


async def pending_in(services: Services) -> int:
    summary: Any = await services.stores.redis.xpending("journal", "drain")
    return int(summary["pending"])


async def dead_letters(services: Services) -> list[dict[bytes, bytes]]:
    letters: Any = await services.stores.redis.xrange("journal:dead")
    return [fields for _, fields in letters]
