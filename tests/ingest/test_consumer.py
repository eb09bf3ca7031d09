"""The journal is drained once, whatever dies on the way."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from tests.conversions import scene
from tests.factories import make_click
from tests.ingest.consuming import (
    STALE,
    Applied,
    Outage,
    clicks_in,
    consumer_of,
    pending_in,
    running,
)
from tests.waiting import eventually
from tracker.ingest.consumer import Consumer
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis


async def test_entries_of_a_dead_consumer_are_taken_over(services: Services) -> None:
    for _ in range(25):
        await services.journal.journal.append(make_click())
    dead = consumer_of(services, Applied(services, Outage(AutoReconnect("killed"), 25)))
    await dead._reader.prepare()
    while await pending_in(services) < 25:
        with pytest.raises(AutoReconnect):
            await dead._step(block=None)
        dead._reader._unfinished = False
    applied = Applied(services)
    async with running(consumer_of(services, applied, STALE)):
        await applied.until(lambda: applied.records == 25)
    assert await clicks_in(services) == 25
    assert await pending_in(services) == await services.stores.redis.xlen("journal") == 0


async def test_entries_of_a_living_consumer_are_left_to_it(services: Services) -> None:
    await services.journal.journal.append(make_click())
    slow = consumer_of(services, Applied(services, Outage(AutoReconnect("busy"), 1)))
    with pytest.raises(AutoReconnect):
        await scene.burst(slow)
    assert await scene.burst(consumer_of(services, Applied(services))) == 0
    assert await scene.burst(slow) == 1


async def test_a_stop_finishes_the_batch_in_progress(services: Services) -> None:
    stop = asyncio.Event()
    applied = Applied(services, lambda records: stop.set() if records else None)
    for _ in range(3):
        await services.journal.journal.append(make_click())
    await consumer_of(services, applied).run(stop)
    assert await clicks_in(services) == 3
    assert await services.stores.redis.xlen("journal") == 0


async def test_a_consumer_that_leaves_is_deregistered(services: Services) -> None:
    await services.journal.journal.append(make_click())
    consumer = consumer_of(services, Applied(services))
    await scene.burst(consumer)
    await consumer.deregister()
    assert await services.stores.redis.xinfo_consumers("journal", "drain") == []


async def test_a_read_that_comes_late_loses_nothing_to_a_consumer_that_leaves(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection was lost, but Redis executes it just before the consumer is removed."""
    await services.journal.journal.append(make_click())
    consumer = consumer_of(services, Applied(services))
    await consumer._reader.prepare()
    execute: Any = services.stores.redis.execute_command

    async def after_a_late_read(*arguments: Any, **options: Any) -> Any:
        if arguments[0] in ("XGROUP DELCONSUMER", "EVALSHA"):
            await services.stores.redis_blocking.xreadgroup(
                "drain", consumer._name, {"journal": ">"}
            )
        return await execute(*arguments, **options)

    monkeypatch.setattr(services.stores.redis, "execute_command", after_a_late_read)
    await consumer.deregister()
    monkeypatch.undo()
    assert await pending_in(services) == 1
    assert await scene.burst(consumer_of(services, Applied(services), stale=0.0)) == 1
    assert await clicks_in(services) == 1


async def test_a_batch_that_takes_long_is_claimed_again_and_again(services: Services) -> None:
    await services.journal.journal.append(make_click())
    applied, done = Applied(services), asyncio.Event()

    async def slowly(records: Sequence[Record]) -> None:
        await done.wait()
        await applied.apply(records)

    idle = 0

    async def is_claimed_again() -> bool:
        nonlocal idle
        before = idle
        [entry] = await services.stores.redis.xpending_range("journal", "drain", "-", "+", 1)
        idle = int(entry["time_since_delivered"])
        return idle < before

    slow = Consumer(services.stores.redis, services.stores.redis_blocking, slowly, STALE)
    await slow._reader.prepare()
    async with running(slow):
        await eventually(lambda: pending_in(services))
        for _ in range(3):
            await eventually(is_claimed_again)
        done.set()
        await applied.until(lambda: applied.records == 1)
