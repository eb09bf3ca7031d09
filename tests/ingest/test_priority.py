"""Consumers that others come before: one that helps, and that of the overflow."""

import asyncio

import pytest

from tests.conversions.scene import drain_of
from tests.factories import make_click
from tests.ingest.consuming import clicks_in, running
from tests.waiting import PATIENCE_SECONDS, becomes
from tracker.ingest import priority as module
from tracker.ingest.consumer import Consumer
from tracker.ingest.priority import unless_behind, while_behind
from tracker.journal.entry import encode, fields_of
from tracker.service.services import Services
from tracker.stores.redis.keys import OVERFLOW

pytestmark = pytest.mark.redis


def consumer_of(services: Services) -> Consumer:
    return Consumer(services.stores.redis, services.stores.redis_blocking, drain_of(services).apply)


async def overflowing(services: Services) -> None:
    await services.stores.redis.xadd(OVERFLOW, fields_of(encode([make_click()])))


async def until_stored(services: Services, clicks: int) -> None:
    await becomes(lambda: clicks_in(services), clicks)


async def test_a_helper_has_a_turn_only_while_the_other_is_behind(services: Services) -> None:
    other, stop = consumer_of(services), asyncio.Event()
    priority = while_behind(other)
    waiting = asyncio.create_task(priority.may_read(stop))
    other.behind.set()
    assert await waiting
    stop.set()
    assert not await priority.may_read(stop)


async def test_the_overflow_is_read_while_no_other_is_behind(services: Services) -> None:
    other = consumer_of(services)
    drain = drain_of(services)
    priority = unless_behind(lambda: [other])
    overflow = Consumer(
        services.stores.redis,
        services.stores.redis_blocking,
        drain.apply,
        stream=OVERFLOW,
        priority=priority,
    )
    async with running(overflow):
        await overflowing(services)
        await until_stored(services, 1)


async def test_the_overflow_waits_while_another_is_behind_but_not_for_ever(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAIT_SECONDS", 0.2)
    other, stop = consumer_of(services), asyncio.Event()
    other.behind.set()
    priority = unless_behind(lambda: [other])
    waiting = asyncio.create_task(priority.may_read(stop))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert await asyncio.wait_for(waiting, PATIENCE_SECONDS)
