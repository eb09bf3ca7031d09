"""The counts of all drains are added up in Redis, once, and outlive the drains."""

import asyncio
import subprocess
import sys
from collections.abc import Mapping

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from config.settings import Settings
from tests.paths import ROOT
from tests.ports import free_port
from tests.waiting import PATIENCE_SECONDS, PROCESS_PATIENCE_SECONDS, eventually
from tracker.ingest import drain_counters
from tracker.ingest.drain_counters import CounterPublisher, families
from tracker.metrics import DEAD_LETTERS, DRAINED, WEBHOOK_ATTEMPTS
from tracker.service.services import Services
from tracker.stores.builtin.servers import redis_url
from tracker.stores.redis import clients
from tracker.stores.redis.keys import DRAIN_COUNTER_SUMS

pytestmark = pytest.mark.redis

# In a process of its own, for metrics are made on import, once.
LIVES = """
import asyncio, os, sys
from tracker.multiprocess_metrics import multiprocess_metrics

with multiprocess_metrics(2) as set_worker:
    from tracker.stores.redis import clients
    from tracker.ingest.drain_counters import CounterPublisher
    from tracker.metrics import DRAINED, WEBHOOK_ATTEMPTS

    async def publish(clicks):
        async with clients.redis_for_requests(sys.argv[1]) as redis:
            drain = CounterPublisher(redis)
            DRAINED.labels("click").inc(clicks)
            WEBHOOK_ATTEMPTS.labels("5xx").inc()
            await drain.publish()

    for clicks in (5, 1):
        pid = os.fork()
        if pid == 0:
            set_worker(0)
            asyncio.run(publish(clicks))
            os._exit(0)
        os.waitpid(pid, 0)
"""

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


async def test_the_sums_cover_all_drains_and_outlive_each(services: Services) -> None:
    for _ in range(3):
        drain = CounterPublisher(services.stores.redis)
        DRAINED.labels("event").inc(2)
        await drain.try_to_publish()
    assert await published(services.stores.redis) == {("tracker_fleet_drained_total", "event"): 6}


async def test_a_process_that_took_the_place_of_another_publishes_only_its_own(
    services: Services, settings: Settings
) -> None:
    """It goes on counting where the other stopped."""
    command = [sys.executable, "-c", LIVES, settings.redis_url]
    await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, check=True, timeout=PROCESS_PATIENCE_SECONDS
    )
    assert await published(services.stores.redis) == {
        ("tracker_fleet_drained_total", "click"): 6,
        ("tracker_fleet_webhook_attempts_total", "5xx"): 2,
    }


async def test_counts_that_redis_did_not_take_are_added_the_next_time(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    drain = CounterPublisher(services.stores.redis)
    DRAINED.labels("click").inc(5)
    gone = clients.redis_for_requests(redis_url(free_port()))
    with monkeypatch.context() as patched:
        patched.setattr(drain, "_redis", gone)
        with pytest.raises((RedisError, OSError)):
            await drain.publish()
        await drain.try_to_publish()
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


async def test_a_counter_that_a_newer_version_publishes_is_left_out(services: Services) -> None:
    await services.stores.redis.hset(DRAIN_COUNTER_SUMS, '["tracker_of_tomorrow", {}]', 1)
    assert await published(services.stores.redis) == {}
