"""A Redis at its maxmemory is drained: what makes room again works there, on every version."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError

from tests.conversions import scene
from tests.factories import make_click
from tests.ingest import ledger
from tracker.ingest.consumer import Consumer
from tracker.ingest.partition_readers import PartitionReaders
from tracker.ingest.record import ENTRY_DECODER
from tracker.journal.dead_letters import DeadLetters
from tracker.service.services import Services

pytestmark = pytest.mark.redis


@asynccontextmanager
async def full(redis: Redis) -> AsyncIterator[None]:
    """Make Redis refuse writes that need memory, however much is deleted meanwhile."""
    await redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(OutOfMemoryError):
            await redis.set("x", "y")
        yield
    finally:
        await redis.config_set("maxmemory", 0)


async def test_all_entries_are_stored_acknowledged_and_deleted(services: Services) -> None:
    await scene.drained(services)
    for _ in range(300):
        await services.journal.journal.append(make_click())
    async with full(services.stores.redis):
        assert await scene.drained(services) == 300
        assert await services.stores.redis.xlen("journal") == 0
        pending: Any = await services.stores.redis.xpending("journal", "drain")
        assert pending["pending"] == 0
    await ledger.check(services)


async def test_a_drain_that_starts_takes_its_partitions(services: Services) -> None:
    apply = scene.drain_of(services).apply
    readers = PartitionReaders(
        services.stores.redis,
        4,
        lambda stream: Consumer(
            services.stores.redis, services.stores.redis_blocking, apply, stream=stream
        ),
    )
    async with full(services.stores.redis):
        await readers.adjust()
        assert readers.partitions == {0, 1, 2, 3}
        await readers.close()


async def test_an_entry_that_was_deleted_before_it_was_acknowledged_is_forgotten(
    services: Services,
) -> None:
    """A drain that dies between the two steps leaves such an entry."""
    await asyncio.gather(*(services.journal.journal.append(make_click()) for _ in range(3)))
    apply = scene.drain_of(services).apply
    consumer = Consumer(services.stores.redis, services.stores.redis_blocking, apply, stale=0.0)
    await consumer._reader.prepare()
    read: Any = await services.stores.redis.xreadgroup("drain", "dead", {"journal": ">"})
    await services.stores.redis.xdel("journal", *(one for one, _ in read[0][1]))
    for _ in range(2):  # Redis 6.2 returns the ids that it has taken over with the next read
        await scene.burst(consumer)
    pending: Any = await services.stores.redis.xpending("journal", "drain")
    assert pending["pending"] == 0


async def test_dead_letters_can_be_dropped(services: Services) -> None:
    for _ in range(3):
        await services.stores.redis.xadd("journal:dead", {"1": "a", "id": "1-1", "reason": "so"})
    letters = DeadLetters(services.stores.redis, ENTRY_DECODER)
    async with full(services.stores.redis):
        [first, *_] = await letters.read_after(None, 1)
        assert await letters.drop(first.id)
        assert await letters.drop_all() == 2
    assert await letters.count() == 0
