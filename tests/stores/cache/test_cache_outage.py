"""A cache still answers while Redis, MongoDB or both are unavailable."""

import asyncio

import pytest
from pymongo.errors import AutoReconnect, PyMongoError

from tests.stores.cache.cached_thing import NAME, NEW, OLD, ThingLookup, aged, cached
from tests.stores.counted_breaker import CountedBreaker
from tests.stores.redis.own_redis import unavailable_redis
from tracker.errors import Unavailable
from tracker.service.services import Services
from tracker.stores.cache import cache as levels
from tracker.stores.cache import lookup, memory
from tracker.stores.redis.clients import redis_for_requests

pytestmark = [pytest.mark.redis, pytest.mark.usefixtures("long_memory")]


async def test_the_source_answers_while_redis_is_unavailable(services: Services) -> None:
    things = ThingLookup(OLD)
    async with redis_for_requests(unavailable_redis()) as unavailable:
        cache = cached(unavailable, things)
        assert await cache.get(NAME) == OLD
        assert await cache.get("link:/b") == OLD
        await cache.created("link:/new", NEW)
        things.thing = NEW
        with pytest.raises(Unavailable):
            await cache.changed(NAME, NEW, NEW.version)
        assert await cache.get(NAME) == NEW


async def test_a_value_in_memory_is_served_at_any_age_while_both_stores_are_unavailable(
    services: Services,
) -> None:
    things = ThingLookup(OLD)
    async with redis_for_requests(unavailable_redis()) as unavailable:
        cache = cached(unavailable, things)
        await cache.get(NAME)
        things.error = AutoReconnect("unavailable")
        aged(cache, 100_000)
        assert await cache.get(NAME) == OLD
        with pytest.raises(Unavailable):
            await cache.get("link:/b")
        cache.forget(NAME)
        with pytest.raises(Unavailable):
            await cache.get(NAME)


async def test_a_value_forgotten_during_a_failing_look_up_is_not_served() -> None:
    things = ThingLookup(OLD)
    async with redis_for_requests(unavailable_redis()) as unavailable:
        cache = cached(unavailable, things)
        await cache.get(NAME)
        aged(cache, memory.MEMORY_SECONDS)
        things.open.clear()
        things.error = AutoReconnect("unavailable")
        get = asyncio.ensure_future(cache.get(NAME))
        await things.asked_for(2)
        cache.forget(NAME)
        things.open.set()
        with pytest.raises(Unavailable):
            await get


async def test_a_source_that_hangs_is_waited_for_once_and_then_left_alone(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "LOAD_SECONDS", 1.0)
    things = ThingLookup(OLD)
    cache = cached(services.stores.redis, things)
    await cache.get(NAME)
    aged(cache, memory.MEMORY_SECONDS)
    await services.stores.redis.delete(NAME)
    things.open.clear()
    cache._batched_lookup._breaker = CountedBreaker()
    assert await cache.get(NAME) == OLD
    assert await cache.get(NAME) == OLD
    with pytest.raises(Unavailable):
        await cache.get("link:/b")
    assert things.asked == [NAME, NAME]


async def test_a_copy_in_redis_is_served_while_the_source_is_unavailable(
    services: Services,
) -> None:
    things = ThingLookup(OLD)
    await cached(services.stores.redis, things).get(NAME)
    things.error = PyMongoError("unavailable")
    cache = cached(services.stores.redis, things)
    with pytest.raises(Unavailable):
        await cache.get("link:/b")
    assert await cache.get(NAME) == OLD


async def test_a_failed_refresh_is_not_repeated_by_every_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(levels, "REFRESH_PAUSE_SECONDS", 3600.0)
    things = ThingLookup(OLD)
    cache = cached(redis_for_requests(unavailable_redis()), things)
    await cache.get(NAME)
    things.error = AutoReconnect("unavailable")
    aged(cache, memory.UNSETTLED_SECONDS * 0.8)
    for _ in range(3):
        assert cache.peek(NAME) is not None
        await things.asked_for(2)
        await asyncio.sleep(0.01)
    assert len(things.asked) == 2
