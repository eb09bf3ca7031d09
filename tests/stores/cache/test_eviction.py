"""Copies make room in Redis, the longest unused first, before any other write is skipped."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.stores.cache.cached_thing import NAME, OLD, ThingLookup, cached
from tests.stores.redis.own_cluster import own_cluster
from tracker.service.services import Services
from tracker.stores.cache import eviction
from tracker.stores.cache.copies import UPDATE_SECONDS
from tracker.stores.cache.eviction import EVICTED_SHARE, UNUSED_SECONDS, CopyEviction
from tracker.stores.redis import keys
from tracker.stores.redis.clients import redis_for_requests
from tracker.stores.redis.memory_budget import (
    EVICT_FROM,
    EVICT_UNTIL,
    SKIPPED_FROM,
    Budget,
    OptionalWrite,
)

pytestmark = pytest.mark.redis

NAMES = [f"link:/{number}" for number in range(2 * EVICTED_SHARE)]
HOUR = 3600


@pytest.fixture
def copies(services: Services) -> CopyEviction:
    services.stores.budget.used = EVICT_FROM
    return services.copy_eviction


async def store(redis: Redis, names: Sequence[str], unused: int = 0) -> None:
    """Store copies that were last used `unused` seconds ago."""
    cache = cached(redis, ThingLookup(OLD))
    for name in names:
        await cache.get(name)
        if unused:
            await leave_unused(redis, name, unused)


async def leave_unused(redis: Redis, name: str, seconds: int) -> None:
    """Make Redis believe that the key was last used so long ago."""
    dumped: Any = await redis.dump(name)
    left = max(0, await redis.pttl(name))
    await redis.restore(name, left, dumped, replace=True, idletime=seconds)


async def missing(redis: Redis, names: Sequence[str]) -> list[str]:
    return [name for name in names if not await redis.exists(name)]


async def test_the_copies_that_were_unused_longest_go(
    services: Services, copies: CopyEviction
) -> None:
    redis = services.stores.redis
    await store(redis, NAMES)
    for number, name in enumerate(NAMES):
        await leave_unused(redis, name, HOUR - number)
    assert await copies.make_room() == 2
    assert await missing(redis, NAMES) == NAMES[:2]


async def test_what_was_used_a_moment_ago_stays(services: Services, copies: CopyEviction) -> None:
    redis = services.stores.redis
    await store(redis, NAMES)
    await leave_unused(redis, NAMES[0], UNUSED_SECONDS - 5)
    for name in NAMES[1:3]:
        await leave_unused(redis, name, UNUSED_SECONDS)
    await cached(redis, ThingLookup(OLD)).get(NAMES[1])
    assert await copies.make_room() == 1
    assert await missing(redis, NAMES) == [NAMES[2]]


async def test_keys_that_are_no_copies_stay(services: Services, copies: CopyEviction) -> None:
    redis, others = services.stores.redis, [keys.rate_limit("ip", "1"), keys.visitors("day", "ab")]
    await redis.set(others[0], 1)
    await redis.hset(others[1], "visitor", "click")
    await store(redis, [NAME])
    for name in (*others, NAME):
        await leave_unused(redis, name, HOUR)
    assert await copies.make_room() == 1
    assert await missing(redis, [*others, NAME]) == [NAME]


async def test_nothing_goes_with_room_or_while_another_process_evicts(
    services: Services, copies: CopyEviction
) -> None:
    await store(services.stores.redis, [NAME], HOUR)
    services.stores.budget.used = (EVICT_FROM + EVICT_UNTIL) / 2
    assert await copies.make_room() == 0
    services.stores.budget.used = EVICT_FROM
    await services.stores.redis.set(keys.COPIES_LEASE, "another")
    assert await copies.make_room() == 0


async def test_no_more_go_once_there_is_room(
    services: Services, copies: CopyEviction, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis = services.stores.redis
    await store(redis, NAMES, HOUR)

    async def measure(_: float) -> None:
        services.stores.budget.used = EVICT_UNTIL - 0.01

    monkeypatch.setattr("tracker.stores.cache.eviction.asyncio.sleep", measure)
    monkeypatch.setattr(eviction, "KEYS_AT_ONCE", 4)
    assert 1 <= await copies.make_room() <= 2


async def test_copies_on_all_servers_of_a_cluster_make_room(tmp_path: Path) -> None:
    with own_cluster(tmp_path) as cluster:
        async with redis_for_requests(cluster.url) as redis:
            await store(redis, NAMES, HOUR)
            budget = Budget()
            budget.used = EVICT_FROM
            made = CopyEviction(redis, budget, ["link"])
            evicted = await made.make_room()
            assert evicted >= 2
            assert len(await missing(redis, NAMES)) == evicted


def test_copies_go_before_anything_is_skipped_and_stay_while_a_change_needs_them() -> None:
    assert EVICT_UNTIL < EVICT_FROM < SKIPPED_FROM[OptionalWrite.COPY]
    assert UNUSED_SECONDS > UPDATE_SECONDS
