"""Three levels: which one answers, what each remembers, and what happens when one is away."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pymongo.errors import AutoReconnect, PyMongoError
from redis.asyncio import Redis

from tests.db.own_redis import nobody
from tracker.db import cache as levels
from tracker.db.breaker import Breaker
from tracker.db.cache import Cache, Versioned
from tracker.db.connect import redis_for_requests
from tracker.errors import Unavailable
from tracker.services import Services

NAME = "link:/a"


class Thing(Versioned, frozen=True, kw_only=True):
    text: str


OLD, NEW = Thing(version=1, text="old"), Thing(version=2, text="new")


class Record:
    """The record that the cache reads through; `open` lets look-ups pass."""

    def __init__(self, thing: Thing | None) -> None:
        self.thing = thing
        self.error: Exception | None = None
        self.asked: list[str] = []
        self.open = asyncio.Event()
        self.open.set()

    async def load(self, name: str) -> Thing | None:
        self.asked.append(name)
        found = self.thing
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return found

    async def asked_for(self, times: int) -> None:
        while len(self.asked) < times:
            await asyncio.sleep(0)


def cached(
    redis: Redis, load: Callable[[str], Awaitable[Thing | None]], entries: int = 100
) -> Cache[Thing]:
    cache = Cache(redis, Breaker(), Thing, load, entries)
    cache.verified = True
    return cache


def aged(cache: Cache[Any], seconds: float) -> None:
    """As if `seconds` had passed for what is in memory."""
    for name, entry in cache._entries.items():
        cache._entries[name] = entry._replace(loaded=entry.loaded - seconds)


async def test_a_value_is_loaded_once_and_then_in_memory(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record.load)
    assert [await cache.get(NAME) for _ in range(3)] == [OLD] * 3
    assert record.asked == [NAME]


async def test_another_process_finds_it_in_redis(services: Services) -> None:
    record = Record(OLD)
    await cached(services.redis, record.load).get(NAME)
    assert await cached(services.redis, record.load).get(NAME) == OLD
    assert record.asked == [NAME]


@pytest.mark.parametrize(
    ("thing", "in_memory", "in_redis"),
    [
        (OLD, levels.IN_MEMORY, levels.IN_REDIS),
        (None, levels.MISS_IN_MEMORY, levels.MISS_IN_REDIS),
    ],
    ids=["a value", "a miss"],
)
async def test_every_copy_expires(
    services: Services, thing: Thing | None, in_memory: float, in_redis: float
) -> None:
    record = Record(thing)
    cache = cached(services.redis, record.load)
    assert await cache.get(NAME) == thing
    left = await services.redis.pttl(NAME)
    assert in_redis - 5 < left / 1000 <= in_redis
    aged(cache, in_memory - 1)
    assert await cache.get(NAME) == thing
    await services.redis.delete(NAME)
    aged(cache, 1)
    assert await cache.get(NAME) == thing
    assert record.asked == [NAME, NAME]


async def test_a_miss_is_remembered_by_every_process(services: Services) -> None:
    record = Record(None)
    for _ in range(2):
        cache = cached(services.redis, record.load)
        assert [await cache.get(NAME), await cache.get(NAME)] == [None, None]
    assert record.asked == [NAME]


async def test_a_hundred_simultaneous_look_ups_are_one(services: Services) -> None:
    record = Record(OLD)
    record.open.clear()
    cache = cached(services.redis, record.load)
    gets = [asyncio.ensure_future(cache.get(NAME)) for _ in range(100)]
    await record.asked_for(1)
    record.open.set()
    assert await asyncio.gather(*gets) == [OLD] * 100
    assert record.asked == [NAME]


async def test_a_visitor_who_leaves_does_not_take_the_look_up_of_others_along(
    services: Services,
) -> None:
    record = Record(OLD)
    record.open.clear()
    cache = cached(services.redis, record.load)
    first, second = (asyncio.ensure_future(cache.get(NAME)) for _ in range(2))
    await record.asked_for(1)
    first.cancel()
    record.open.set()
    assert await second == OLD


async def test_an_error_reaches_all_that_wait_and_is_not_remembered(services: Services) -> None:
    record = Record(OLD)
    record.error = ValueError("a bug")
    cache = cached(services.redis, record.load)
    outcomes = await asyncio.gather(*(cache.get(NAME) for _ in range(3)), return_exceptions=True)
    assert outcomes == [record.error] * 3
    record.error = None
    assert await cache.get(NAME) == OLD


async def test_memory_is_bounded_and_the_oldest_goes_first(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record.load, entries=3)
    for name in "abcd":
        await cache.get(name)
    assert list(cache._entries) == ["b", "c", "d"]


@pytest.mark.parametrize(("first", "second"), [(OLD, NEW), (NEW, OLD)])
async def test_an_older_version_never_replaces_a_newer_one_in_redis(
    services: Services, first: Thing, second: Thing
) -> None:
    cache = cached(services.redis, Record(None).load)
    for thing in (first, second):
        await cache.changed(NAME, thing, thing.version)
    assert await cached(services.redis, Record(None).load).get(NAME) == NEW


async def test_a_late_miss_does_not_replace_a_new_value(services: Services) -> None:
    record = Record(None)
    record.open.clear()
    late = cached(services.redis, record.load)
    get = asyncio.ensure_future(late.get(NAME))
    await record.asked_for(1)
    await cached(services.redis, record.load).changed(NAME, NEW, NEW.version)
    record.open.set()
    assert await get is None
    assert await cached(services.redis, record.load).get(NAME) == NEW


async def test_a_removed_value_stays_removed_whatever_a_late_look_up_found(
    services: Services,
) -> None:
    record = Record(OLD)
    record.open.clear()
    late = cached(services.redis, record.load)
    get = asyncio.ensure_future(late.get(NAME))
    await record.asked_for(1)
    await cached(services.redis, record.load).changed(NAME, None, NEW.version)
    record.open.set()
    assert await get == OLD
    assert await cached(services.redis, record.load).get(NAME) is None


async def test_a_look_up_under_way_during_a_change_is_not_kept(services: Services) -> None:
    record = Record(OLD)
    record.open.clear()
    cache = cached(services.redis, record.load)
    get = asyncio.ensure_future(cache.get(NAME))
    await record.asked_for(1)
    record.thing = NEW
    await cache.changed(NAME, NEW, NEW.version)
    new_get = asyncio.ensure_future(cache.get(NAME))
    record.open.set()
    assert await get == OLD
    assert await new_get == NEW
    assert await cache.get(NAME) == NEW


async def test_what_redis_still_held_while_it_was_told_is_not_kept(services: Services) -> None:
    cache = cached(services.redis, Record(OLD).load)
    await cache.get(NAME)
    await services.redis.client_pause(300, all=False)
    change = asyncio.ensure_future(cache.changed(NAME, NEW, NEW.version))
    await asyncio.sleep(0)
    assert await cache.get(NAME) == OLD
    assert not change.done()
    await change
    assert await cache.get(NAME) == NEW


@pytest.mark.parametrize("known", [True, False], ids=["Redis had it", "Redis did not"])
async def test_whatever_is_read_during_a_change_is_forgotten_soon_if_the_writer_dies(
    services: Services, known: bool
) -> None:
    record = Record(OLD)
    writer, reader = (cached(services.redis, record.load) for _ in range(2))
    if known:
        await writer.get(NAME)
    await writer.changing(NAME)
    assert await reader.get(NAME) == OLD
    record.thing = NEW
    left = await services.redis.pttl(NAME)
    assert 0 < left <= levels.WHILE_CHANGING * 1000
    await services.redis.pexpire(NAME, 1)
    reader.forget_all()
    await asyncio.sleep(0.01)
    assert await reader.get(NAME) == NEW


async def test_one_of_two_writers_may_die(services: Services) -> None:
    cache = cached(services.redis, Record(OLD).load)
    await cache.changing(NAME)
    await cache.changing(NAME)
    await cache.changed(NAME, OLD, OLD.version)
    assert 0 < await services.redis.pttl(NAME) <= levels.WHILE_CHANGING * 1000


async def test_a_change_is_refused_when_redis_cannot_be_told() -> None:
    async with redis_for_requests(nobody()) as away:
        with pytest.raises(Unavailable):
            await cached(away, Record(OLD).load).changing(NAME)


async def test_a_full_redis_does_not_hinder_a_change(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record.load)
    await cache.get(NAME)
    await services.redis.config_set("maxmemory", 1)
    try:
        for name in (NAME, "link:/not-in-redis"):
            await cache.changing(name)
            await cache.changed(name, NEW, NEW.version)
    finally:
        await services.redis.config_set("maxmemory", 0)
    assert 0 < await services.redis.pttl(NAME) <= levels.WHILE_CHANGING * 1000


async def test_a_copy_of_another_release_counts_as_none(services: Services) -> None:
    await services.redis.hset(NAME, mapping={"version": 1, "value": b"\x81\xa1x\x01"})
    assert await cached(services.redis, Record(OLD).load).get(NAME) == OLD


async def test_unverified_memory_is_trusted_for_a_second_only(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record.load)
    await cache.get(NAME)
    cache.verified = False
    await cached(services.redis, record.load).changed(NAME, NEW, NEW.version)
    aged(cache, levels.UNVERIFIED * 0.9)
    assert await cache.get(NAME) == OLD
    aged(cache, levels.UNVERIFIED * 0.1)
    assert await cache.get(NAME) == NEW


async def test_with_redis_away_the_record_answers(services: Services) -> None:
    record = Record(OLD)
    async with redis_for_requests(nobody()) as away:
        cache = cached(away, record.load)
        assert await cache.get(NAME) == OLD
        assert await cache.get("link:/b") == OLD
        await cache.changed(NAME, NEW, NEW.version)
        record.thing = NEW
        assert await cache.get(NAME) == NEW


async def test_with_both_away_a_value_in_memory_is_served_however_old_it_is(
    services: Services,
) -> None:
    record = Record(OLD)
    async with redis_for_requests(nobody()) as away:
        cache = cached(away, record.load)
        await cache.get(NAME)
        record.error = AutoReconnect("away")
        aged(cache, 100_000)
        assert await cache.get(NAME) == OLD
        with pytest.raises(Unavailable):
            await cache.get("link:/b")
        cache.forget(NAME)
        with pytest.raises(Unavailable):
            await cache.get(NAME)


async def test_what_was_forgotten_during_a_failing_look_up_is_not_served() -> None:
    record = Record(OLD)
    async with redis_for_requests(nobody()) as away:
        cache = cached(away, record.load)
        await cache.get(NAME)
        aged(cache, 100)
        record.open.clear()
        record.error = AutoReconnect("away")
        get = asyncio.ensure_future(cache.get(NAME))
        await record.asked_for(2)
        cache.forget(NAME)
        record.open.set()
        with pytest.raises(Unavailable):
            await get


async def test_a_record_that_hangs_is_waited_for_once_and_then_left_alone(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(levels, "LOAD_SECONDS", 1.0)
    record = Record(OLD)
    cache = cached(services.redis, record.load)
    await cache.get(NAME)
    aged(cache, 100)
    await services.redis.delete(NAME)
    record.open.clear()
    assert await cache.get(NAME) == OLD
    begun = time.monotonic()
    assert await cache.get(NAME) == OLD
    with pytest.raises(Unavailable):
        await cache.get("link:/b")
    assert time.monotonic() - begun < 0.8
    assert record.asked == [NAME, NAME]


async def test_what_redis_holds_is_served_while_the_record_is_away(services: Services) -> None:
    record = Record(OLD)
    await cached(services.redis, record.load).get(NAME)
    record.error = PyMongoError("away")
    cache = cached(services.redis, record.load)
    with pytest.raises(Unavailable):
        await cache.get("link:/b")
    assert await cache.get(NAME) == OLD


async def test_a_value_in_steady_use_is_read_again_before_its_life_is_over(
    services: Services,
) -> None:
    cache = cached(services.redis, Record(OLD).load)
    await cache.get(NAME)
    aged(cache, levels.IN_MEMORY * 0.8)
    held = cache._entries[NAME]
    assert cache.known(NAME) is held
    async with asyncio.timeout(5):
        while cache._entries[NAME] is held:
            await asyncio.sleep(0)
    assert cache._entries[NAME].loaded > held.loaded


async def test_reading_again_in_vain_is_not_begun_by_every_request() -> None:
    record = Record(OLD)
    cache = cached(redis_for_requests(nobody()), record.load)
    await cache.get(NAME)
    record.error = AutoReconnect("away")
    aged(cache, levels.IN_MEMORY * 0.8)
    for _ in range(3):
        assert cache.known(NAME) is not None
        await record.asked_for(2)
        await asyncio.sleep(0.01)
    assert len(record.asked) == 2
