"""Drains share the partitions of the journal out, and each partition is read by one of them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from config.settings import Settings
from tests.conversions.scene import drain_of
from tests.factories import make_click
from tests.waiting import PATIENCE_SECONDS, becomes, eventually
from tracker.ingest.consumer import Consumer
from tracker.ingest.partition_readers import PartitionReaders, share_of
from tracker.journal.backlog import Backlog
from tracker.service.services import Services
from tracker.stores.redis import keys
from tracker.stores.redis.lease import Lease

pytestmark = pytest.mark.redis

PARTITIONS = 4


def readers(services: Services, partitions: int = PARTITIONS) -> PartitionReaders:
    apply = drain_of(services).apply

    def consumer(stream: str) -> Consumer:
        return Consumer(services.stores.redis, services.stores.redis_blocking, apply, stream=stream)

    return PartitionReaders(services.stores.redis, partitions, consumer)


@asynccontextmanager
async def closing(*some: PartitionReaders) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for one in some:
            await one.close()


async def until(condition: Callable[[], bool], *adjusted: PartitionReaders) -> None:
    """Adjust the readers, as their loops do, until the condition holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            for one in adjusted:
                await one.adjust()


async def append(settings: Settings, clicks: int) -> None:
    """Append clicks of as many links to the partitions, as a web process does."""
    services = Services(msgspec.structs.replace(settings, journal_partitions=PARTITIONS))
    try:
        for _ in range(clicks):
            await services.journal.journal.append(make_click())
    finally:
        await services.stop()
        await services.close()


async def until_stored(services: Services, clicks: int) -> None:
    await becomes(lambda: services.stores.mongodb["clicks"].count_documents({}), clicks)


async def entries_in(services: Services) -> int:
    return (await Backlog(services.stores.redis, PARTITIONS).measure()).entries


@pytest.mark.parametrize("drains", range(1, 9))
@pytest.mark.parametrize("partitions", [1, 2, 4, 7, 64])
def test_shares_add_up_and_differ_by_one_at_most(drains: int, partitions: int) -> None:
    shares = [share_of(place, drains, partitions) for place in range(drains)]
    assert sum(shares) == partitions
    assert max(shares) - min(shares) <= 1


async def test_a_drain_alone_reads_every_partition(services: Services, settings: Settings) -> None:
    alone = readers(services)
    async with closing(alone):
        await alone.adjust()
        assert alone.partitions == {0, 1, 2, 3}
        await append(settings, 50)
        await until_stored(services, 50)
        await becomes(lambda: entries_in(services), 0)


async def test_a_second_drain_gets_half_and_all_when_the_first_has_stopped(
    services: Services,
) -> None:
    first, second = readers(services), readers(services)
    async with closing(first, second):
        await first.adjust()
        await until(lambda: len(first.partitions) == len(second.partitions) == 2, first, second)
        assert first.partitions | second.partitions == {0, 1, 2, 3}
        await first.close()
        await until(lambda: len(second.partitions) == PARTITIONS, second)


async def test_a_partition_whose_lease_another_has_by_now_is_given_back(services: Services) -> None:
    drain = readers(services)
    async with closing(drain):
        await drain.adjust()
        await services.stores.redis.delete(keys.partition_lease(2))
        assert await Lease(services.stores.redis, keys.partition_lease(2), 60).acquire()
        await drain.adjust()
        assert drain.partitions == {0, 1, 3}


async def test_partitions_of_a_drain_that_was_killed_are_taken_when_its_leases_end(
    services: Services,
) -> None:
    for number in range(PARTITIONS):
        assert await Lease(services.stores.redis, keys.partition_lease(number), 0.05).acquire()
    drain = readers(services)
    async with closing(drain):
        await until(lambda: len(drain.partitions) == PARTITIONS, drain)


async def test_with_one_partition_what_is_left_of_others_is_read_until_it_is_stored(
    services: Services, settings: Settings
) -> None:
    await append(settings, 50)
    drain = readers(services, partitions=1)
    left = set(range(1, PARTITIONS))
    async with closing(drain):
        await drain.adjust()
        assert drain.partitions == left
        await until(lambda: not drain.partitions, drain)
        clicks_of_the_first = await services.stores.redis.xlen(keys.JOURNAL)
        await until_stored(services, 50 - clicks_of_the_first)


async def test_a_drain_that_is_stopped_gives_everything_back(services: Services) -> None:
    drain, stop = readers(services), asyncio.Event()
    running = asyncio.create_task(drain.run(stop))
    await eventually(lambda: len(drain.partitions) >= PARTITIONS)
    stop.set()
    await asyncio.wait_for(running, PATIENCE_SECONDS)
    assert await services.stores.redis.keys("partition:*") == []
    assert await services.stores.redis.zcard(keys.DRAINS) == 0
