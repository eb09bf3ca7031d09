"""The consumer applies entries in batches of a bounded size, in order, and leaves none behind."""

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from pymongo.errors import AutoReconnect

from tests.conversions import scene
from tests.factories import make_conversion
from tests.ingest.consuming import running
from tests.waiting import PATIENCE_SECONDS, becomes
from tracker.ingest.consumer import Consumer
from tracker.ingest.priority import while_behind
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis


class Batches:
    """A drain that records the event ids of its batches. The attempts that `fails` names fail."""

    def __init__(self, fails: Callable[[int], bool] = lambda _: False) -> None:
        self._fails = fails
        self.attempts: list[list[int]] = []
        self.applied: list[list[int]] = []
        self.changed = asyncio.Condition()

    async def apply(self, records: Sequence[Record]) -> None:
        numbers = [one.id for one in records if isinstance(one.id, int)]
        self.attempts.append(numbers)
        if self._fails(len(self.attempts)):
            raise AutoReconnect("unavailable")
        self.applied.append(numbers)
        async with self.changed:
            self.changed.notify_all()

    async def until(self, records: int) -> None:
        async with self.changed:
            await asyncio.wait_for(
                self.changed.wait_for(lambda: sum(map(len, self.applied)) >= records),
                PATIENCE_SECONDS,
            )

    def in_order(self) -> list[int]:
        return [number for batch in self.applied for number in batch]


class Commands:
    """A reading client that records how many entries each command asks for."""

    def __init__(self, services: Services) -> None:
        self._redis = services.stores.redis_blocking
        self.counts: list[int] = []

    async def xreadgroup(
        self, group: str, name: str, streams: Any, count: int, block: int | None
    ) -> Any:
        self.counts.append(count)
        return await self._redis.xreadgroup(group, name, streams, count=count, block=block)


def consumer_of(services: Services, batches: Batches, batch: int) -> Consumer:
    """Return a consumer whose entries never become stale while a test runs."""
    return Consumer(
        services.stores.redis, services.stores.redis_blocking, batches.apply, 60.0, batch
    )


async def appended(services: Services, sizes: Sequence[int]) -> int:
    """Append entries of so many events each, numbered from 1; return the number of events."""
    number = 0
    pipeline = services.stores.redis.pipeline(transaction=False)
    for size in sizes:
        events = [make_conversion(number + more) for more in range(1, size + 1)]
        number += size
        pipeline.xadd("journal", {b"1": msgspec.msgpack.encode(events)})
    await pipeline.execute()
    return number


RANDOM = Random(1)
SIZES = {
    "one each": [1] * 150,
    "full": [500] * 8,
    "mixed": [RANDOM.choice((1, 2, 20, 499, 500)) for _ in range(40)],
    "small, then full": [1] * 120 + [500] * 6,
    "full, then small": [500] * 6 + [1] * 120,
    "empty ones": [0, 3, 0, 0, 4, 0],
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("batch", [1, 50, 1000])
async def test_a_batch_holds_no_more_than_the_bound_unless_one_entry_does(
    services: Services, sizes: list[int], batch: int
) -> None:
    events = await appended(services, sizes)
    batches = Batches()
    assert await scene.burst(consumer_of(services, batches, batch)) == len(sizes)
    assert batches.in_order() == list(range(1, events + 1))
    starts = {1 + sum(sizes[:at]) for at in range(len(sizes))}
    for numbers in batches.applied:
        entries = sum(start in numbers for start in starts)
        assert len(numbers) <= batch or entries == 1


async def test_a_backlog_of_full_entries_is_not_read_at_once(services: Services) -> None:
    """An entry that is read takes memory, and no other consumer gets it before it is stale."""
    await appended(services, [500] * 40)
    consumer = consumer_of(services, Batches(), 1000)
    await consumer._reader.prepare()
    for _ in range(3):
        entries = await consumer._step(block=None)
    assert entries == 2


async def test_large_entries_share_a_batch_up_to_32_mb_and_are_then_read_one_by_one(
    services: Services,
) -> None:
    large = "x" * (12 << 20)
    for number in range(1, 8):
        entry = [make_conversion(number, metadata=large)]
        await services.stores.redis.xadd("journal", {b"1": msgspec.msgpack.encode(entry)})
    batches = Batches()
    consumer = consumer_of(services, batches, 300)
    assert await consumer._step(block=None) == 3  # as nothing is known of their size
    assert batches.applied == [[1, 2], [3]]
    assert [await consumer._step(block=None) for _ in range(3)] == [2, 2, 0]
    assert batches.applied[2:] == [[4, 5], [6, 7]]


async def test_after_failures_batches_become_small_and_then_large_again(services: Services) -> None:
    events = await appended(services, [1] * 90)
    batches = Batches(lambda attempt: 2 <= attempt <= 4)
    async with running(consumer_of(services, batches, 8)):
        await batches.until(events)
    sizes = [len(one) for one in batches.attempts]
    assert sizes[:5] == [8, 8, 4, 2, 1]
    assert max(sizes[5:]) == 8
    assert batches.in_order() == list(range(1, events + 1))
    assert await services.stores.redis.xlen("journal") == 0


async def test_a_batch_is_gathered_by_several_commands(services: Services) -> None:
    """Each command is small, because Redis answers no click meanwhile."""
    await appended(services, [1] * 700)
    commands = Commands(services)
    batches = Batches()
    consumer = Consumer(services.stores.redis, commands, batches.apply, 60.0, 800)  # type: ignore[arg-type]
    assert await consumer._step(block=None) == 700
    # The first is small, as nothing is known of the entries.
    assert commands.counts == [8, 32, 128, 200, 200, 200]
    assert max(map(len, batches.applied)) == 700


async def test_a_helper_applies_batches_while_the_other_is_at_work_and_behind(
    services: Services,
) -> None:
    events = await appended(services, [1] * 100)
    own, helped = Batches(), Batches()

    async def apply_beside_the_helper(records: Sequence[Record]) -> None:
        await own.apply(records)
        if len(own.applied) == 2:
            await helped.until(1)

    stores = services.stores.redis, services.stores.redis_blocking
    consumer = Consumer(*stores, apply_beside_the_helper, 60.0, 10)
    helper = Consumer(*stores, helped.apply, 60.0, 10, priority=while_behind(consumer))
    async with running(consumer), running(helper):
        await helped.until(1)
        await becomes(lambda: services.stores.redis.xlen("journal"), 0)
    assert sorted([*own.in_order(), *helped.in_order()]) == list(range(1, events + 1))
