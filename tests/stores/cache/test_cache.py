"""The three levels of a cache: which one answers, and how long each remembers."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.stores.cache.cached_thing import NAME, NEW, OLD, Thing, ThingLookup, aged, cached
from tests.stores.redis.skipped_writes import skipped_writes
from tests.waiting import eventually
from tracker.errors import Unavailable
from tracker.service.services import Services
from tracker.stores.cache import cache as levels
from tracker.stores.cache import lookup, memory
from tracker.stores.redis.clients import redis_for_requests
from tracker.stores.redis.memory_budget import SKIPPED_FROM, Budget, OptionalWrite

pytestmark = [pytest.mark.redis, pytest.mark.usefixtures("long_memory")]


@pytest.mark.parametrize(
    ("thing", "in_memory", "in_redis"),
    [
        (OLD, "MEMORY_SECONDS", levels.COPY_SECONDS),
        (None, "MISS_MEMORY_SECONDS", levels.MISS_COPY_SECONDS),
    ],
    ids=["a value", "a miss"],
)
async def test_every_copy_expires(
    services: Services, thing: Thing | None, in_memory: str, in_redis: float
) -> None:
    things = ThingLookup(thing)
    cache = cached(services.stores.redis, things)
    assert await cache.get(NAME) == thing
    left = await services.stores.redis.pttl(NAME)
    assert in_redis - 5 < left / 1000 <= in_redis
    await services.stores.redis.delete(NAME)
    aged(cache, getattr(memory, in_memory) - 100)
    assert await cache.get(NAME) == thing
    assert things.asked == [NAME]
    aged(cache, 100)
    assert await cache.get(NAME) == thing
    assert things.asked == [NAME, NAME]


@pytest.mark.parametrize("thing", [OLD, None], ids=["a value", "a miss"])
async def test_what_one_process_has_read_the_others_find_in_redis(
    services: Services, thing: Thing | None
) -> None:
    things = ThingLookup(thing)
    for _ in range(2):
        cache = cached(services.stores.redis, things)
        assert [await cache.get(NAME), await cache.get(NAME)] == [thing, thing]
    assert things.asked == [NAME]


@pytest.mark.parametrize(
    ("thing", "kind"),
    [(OLD, OptionalWrite.COPY), (None, OptionalWrite.MISS)],
    ids=["a value", "a miss"],
)
async def test_without_room_redis_keeps_no_copies_but_still_takes_what_is_new(
    services: Services, thing: Thing | None, kind: OptionalWrite
) -> None:
    budget, before = Budget(), skipped_writes(kind)
    budget.used = SKIPPED_FROM[kind]
    cache = cached(services.stores.redis, ThingLookup(thing), budget=budget)
    assert await cache.get(NAME) == thing
    assert await services.stores.redis.keys("*") == []
    assert skipped_writes(kind) == before + 1
    await cache.created(NAME, NEW)
    assert await cached(services.stores.redis, ThingLookup(OLD)).get(NAME) == NEW


async def test_simultaneous_look_ups_of_many_names_are_one_query(services: Services) -> None:
    things = ThingLookup(OLD)
    cache = cached(services.stores.redis, things)
    names = [f"link:/{number}" for number in range(300)]
    await services.stores.redis.config_resetstat()
    assert await asyncio.gather(*map(cache.get, names + names)) == [OLD] * 600
    assert things.questions == [names]
    stats = await services.stores.redis.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] <= 4


async def test_a_visitor_who_leaves_does_not_take_the_look_up_of_others_along(
    services: Services,
) -> None:
    things = ThingLookup(OLD)
    things.open.clear()
    cache = cached(services.stores.redis, things)
    first, second = (asyncio.ensure_future(cache.get(NAME)) for _ in range(2))
    await things.asked_for(1)
    first.cancel()
    things.open.set()
    assert await second == OLD


async def test_an_error_reaches_all_that_wait_and_is_not_remembered(services: Services) -> None:
    things = ThingLookup(OLD)
    things.error = ValueError("a bug")
    cache = cached(services.stores.redis, things)
    outcomes = await asyncio.gather(*(cache.get(NAME) for _ in range(3)), return_exceptions=True)
    assert outcomes == [things.error] * 3
    things.error = None
    assert await cache.get(NAME) == OLD


async def test_memory_is_bounded_and_the_oldest_goes_first(services: Services) -> None:
    things = ThingLookup(OLD)
    cache = cached(services.stores.redis, things, max_values=3)
    for name in "abcd":
        await cache.get(name)
    assert list(cache._memory.values) == ["b", "c", "d"]


async def test_a_closed_cache_asks_redis_for_nothing_more(services: Services) -> None:
    """The client of Redis may be closed by then, and a new connection would stay open."""
    things = ThingLookup(OLD)
    things.open.clear()
    async with redis_for_requests(services.settings.redis_url) as redis:
        cache = cached(redis, things)
        look_up = asyncio.ensure_future(cache.get(NAME))
        await things.asked_for(1)
        await cache.close()
        assert not cache._loading
        things.open.set()
        with pytest.raises(Unavailable):
            await look_up
    assert await services.stores.redis.exists(NAME) == 0


async def test_a_value_in_steady_use_is_refreshed_before_it_expires(
    services: Services,
) -> None:
    cache = cached(services.stores.redis, ThingLookup(OLD))
    await cache.get(NAME)
    aged(cache, memory.MEMORY_SECONDS * 0.8)
    held = cache.peek(NAME)
    assert held is not None
    await eventually(lambda: cache.peek(NAME) is not held)
    refreshed = cache.peek(NAME)
    assert refreshed is not None
    assert refreshed.loaded_at > held.loaded_at


async def test_a_value_that_cannot_be_read_fails_alone(services: Services) -> None:
    class Odd(ThingLookup):
        async def find(self, names: Sequence[str]) -> dict[str, Any]:
            return {name: OLD if name == NAME else None for name in names} | {"link:/b": 7}

        def value_of(self, found: Any) -> Thing | None:
            if found == 7:
                raise ValueError("not a thing")
            return super().value_of(found)

    cache = cached(services.stores.redis, Odd(OLD))
    outcomes = await asyncio.gather(cache.get(NAME), cache.get("link:/b"), return_exceptions=True)
    assert outcomes[0] == OLD
    assert isinstance(outcomes[1], ValueError)


async def test_waiting_behind_other_look_ups_is_no_failure_of_mongodb(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each query is answered in time, but the last of many look-ups waits much longer."""
    monkeypatch.setattr(lookup, "LOAD_SECONDS", 2.0)

    class Slow(ThingLookup):
        async def find(self, names: Sequence[str]) -> dict[str, Thing]:
            await asyncio.sleep(0.6)
            return await super().find(names)

    things = Slow(OLD)
    cache = cached(services.stores.redis, things)
    names = [f"link:/{number}" for number in range(2000)]
    assert await asyncio.gather(*map(cache.get, names)) == [OLD] * 2000
    assert len(things.questions) == 4
    assert not cache._batched_lookup._breaker.is_open
