"""The counts of all drains are added up in Redis, once, and outlive the drains."""

import asyncio
from collections.abc import Mapping

import pytest
from redis.asyncio import Redis

from tests.ports import free_port
from tests.waiting import PATIENCE_SECONDS, eventually
from tracker.ingest import drain_counters
from tracker.ingest.drain_counters import CounterPublisher, families
from tracker.metrics import DEAD_LETTERS, DRAINED, WEBHOOK_ATTEMPTS
from tracker.service.services import Services
from tracker.stores.builtin.servers import redis_url
from tracker.stores.redis import clients
from tracker.stores.redis.keys import DRAIN_COUNTER_SUMS

pytestmark = pytest.mark.redis


Published = Mapping[tuple[str, str], float]


async def published(redis: Redis) -> Published:
    """Return the sums by name and label, without those that nobody has counted."""
    return {
        (sample.name, next(iter(sample.labels.values()), "")): sample.value
        for family in families(await redis.hgetall(DRAIN_COUNTER_SUMS), ())
        for sample in family.samples
        if sample.value
    }


async def test_only_the_counts_since_the_last_publication_are_added(services: Services) -> None:
    DRAINED.labels("click").inc(1000)
    drain = CounterPublisher(services.stores.redis)
    await drain.publish()
    assert await published(services.stores.redis) == {}
    for _ in range(2):
        DRAINED.labels("click").inc(3)
        WEBHOOK_ATTEMPTS.labels("5xx").inc()
        DEAD_LETTERS.inc()
        await drain.publish()
    await drain.publish()
    assert await published(services.stores.redis) == {
        ("tracker_fleet_drained_total", "click"): 6,
        ("tracker_fleet_webhook_attempts_total", "5xx"): 2,
        ("tracker_fleet_dead_letters_total", ""): 2,
    }


async def test_counts_that_redis_did_not_take_are_added_the_next_time(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain = CounterPublisher(services.stores.redis)
    DRAINED.labels("click").inc(5)
    gone = clients.redis_for_requests(redis_url(free_port()))
    with monkeypatch.context() as patched:
        patched.setattr(drain, "_redis", gone)
        await drain.publish()
    await gone.aclose()
    DRAINED.labels("click").inc(1)
    await drain.publish()
    assert await published(services.stores.redis) == {("tracker_fleet_drained_total", "click"): 6}


async def test_a_running_drain_publishes_by_itself(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain_counters, "PUBLISH_EVERY_SECONDS", 0.01)
    stop = asyncio.Event()
    drain = CounterPublisher(services.stores.redis)
    running = asyncio.ensure_future(drain.run(stop))
    DRAINED.labels("click").inc(7)
    await eventually(lambda: published(services.stores.redis))
    stop.set()
    await asyncio.wait_for(running, PATIENCE_SECONDS)
    assert await published(services.stores.redis) == {("tracker_fleet_drained_total", "click"): 7}
