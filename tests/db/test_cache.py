"""Three levels: which one answers, what each remembers, and what happens when one is away."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from pymongo.errors import AutoReconnect, PyMongoError
from redis.asyncio import Redis

from tests.db.own_redis import nobody
from tests.db.test_budget import skipped_writes
from tracker.db import cache as levels
from tracker.db import memory, origin
from tracker.db.breaker import Breaker
from tracker.db.budget import SKIPPED_FROM, Budget, OptionalWrite
from tracker.db.cache import Cache, Versioned
from tracker.db.connect import redis_for_requests
from tracker.db.origin import Source
from tracker.errors import RateLimited, Unavailable
from tracker.limits.allowance import Allowance
from tracker.metrics import LOOK_UPS_SHARED
from tracker.service.services import Services

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
        self.questions: list[list[str]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def find(self, names: Sequence[str]) -> dict[str, Thing]:
        self.asked += names
        self.questions.append(list(names))
        found = self.thing
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return {} if found is None else dict.fromkeys(names, found)

    def value_of(self, found: Thing) -> Thing | None:
        return found

    async def close(self) -> None:
        pass

    async def asked_for(self, times: int) -> None:
        while len(self.asked) < times:
            await asyncio.sleep(0)


def cached(
    redis: Redis,
    source: Source[Thing],
    max_values: int = 100,
    misses: Allowance | None = None,
    budget: Budget | None = None,
) -> Cache[Thing]:
    cache = Cache(redis, Breaker(), Thing, source, max_values, misses, budget)
    cache.verified = True
    return cache


def aged(cache: Cache[Any], seconds: float) -> None:
    """As if `seconds` had passed for what is in memory."""
    for entries in (cache._memory.values, cache._memory.misses):
        for name, entry in entries.items():
            entries[name] = entry._replace(loaded_at=entry.loaded_at - seconds)


async def test_a_value_is_loaded_once_and_then_in_memory(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record)
    assert [await cache.get(NAME) for _ in range(3)] == [OLD] * 3
    assert record.asked == [NAME]


async def test_another_process_finds_it_in_redis(services: Services) -> None:
    record = Record(OLD)
    await cached(services.redis, record).get(NAME)
    assert await cached(services.redis, record).get(NAME) == OLD
    assert record.asked == [NAME]


@pytest.mark.parametrize(
    ("thing", "in_memory", "in_redis"),
    [
        (OLD, memory.MEMORY_SECONDS, levels.REDIS_SECONDS),
        (None, memory.MISS_MEMORY_SECONDS, levels.MISS_REDIS_SECONDS),
    ],
    ids=["a value", "a miss"],
)
async def test_every_copy_expires(
    services: Services, thing: Thing | None, in_memory: float, in_redis: float
) -> None:
    record = Record(thing)
    cache = cached(services.redis, record)
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
        cache = cached(services.redis, record)
        assert [await cache.get(NAME), await cache.get(NAME)] == [None, None]
    assert record.asked == [NAME]


@pytest.mark.parametrize(
    ("thing", "kind"),
    [(OLD, OptionalWrite.COPY), (None, OptionalWrite.MISS)],
    ids=["a value", "a miss"],
)
async def test_without_room_redis_keeps_no_copy_and_what_changes_all_the_same(
    services: Services, thing: Thing | None, kind: OptionalWrite
) -> None:
    budget, before = Budget(), skipped_writes(kind)
    budget.used = SKIPPED_FROM[kind]
    cache = cached(services.redis, Record(thing), budget=budget)
    assert await cache.get(NAME) == thing
    assert await services.redis.keys("*") == []
    assert skipped_writes(kind) == before + 1
    await cache.begin_update(NAME)
    await cache.changed(NAME, NEW, NEW.version)
    assert await cached(services.redis, Record(OLD)).get(NAME) == NEW


async def test_a_hundred_simultaneous_look_ups_are_one(services: Services) -> None:
    record = Record(OLD)
    record.open.clear()
    cache = cached(services.redis, record)
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
    cache = cached(services.redis, record)
    first, second = (asyncio.ensure_future(cache.get(NAME)) for _ in range(2))
    await record.asked_for(1)
    first.cancel()
    record.open.set()
    assert await second == OLD


async def test_an_error_reaches_all_that_wait_and_is_not_remembered(services: Services) -> None:
    record = Record(OLD)
    record.error = ValueError("a bug")
    cache = cached(services.redis, record)
    outcomes = await asyncio.gather(*(cache.get(NAME) for _ in range(3)), return_exceptions=True)
    assert outcomes == [record.error] * 3
    record.error = None
    assert await cache.get(NAME) == OLD


async def test_memory_is_bounded_and_the_oldest_goes_first(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record, max_values=3)
    for name in "abcd":
        await cache.get(name)
    assert list(cache._memory.values) == ["b", "c", "d"]


@pytest.mark.parametrize(("first", "second"), [(OLD, NEW), (NEW, OLD)])
async def test_an_older_version_never_replaces_a_newer_one_in_redis(
    services: Services, first: Thing, second: Thing
) -> None:
    cache = cached(services.redis, Record(None))
    for thing in (first, second):
        await cache.changed(NAME, thing, thing.version)
    assert await cached(services.redis, Record(None)).get(NAME) == NEW


async def test_a_late_miss_does_not_replace_a_new_value(services: Services) -> None:
    record = Record(None)
    record.open.clear()
    late = cached(services.redis, record)
    get = asyncio.ensure_future(late.get(NAME))
    await record.asked_for(1)
    await cached(services.redis, record).changed(NAME, NEW, NEW.version)
    record.open.set()
    assert await get is None
    assert await cached(services.redis, record).get(NAME) == NEW


async def test_a_removed_value_stays_removed_whatever_a_late_look_up_found(
    services: Services,
) -> None:
    record = Record(OLD)
    record.open.clear()
    late = cached(services.redis, record)
    get = asyncio.ensure_future(late.get(NAME))
    await record.asked_for(1)
    await cached(services.redis, record).changed(NAME, None, NEW.version)
    record.open.set()
    assert await get == OLD
    assert await cached(services.redis, record).get(NAME) is None


async def test_a_look_up_under_way_during_a_change_is_not_kept(services: Services) -> None:
    record = Record(OLD)
    record.open.clear()
    cache = cached(services.redis, record)
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
    cache = cached(services.redis, Record(OLD))
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
    writer, reader = (cached(services.redis, record) for _ in range(2))
    if known:
        await writer.get(NAME)
    await writer.begin_update(NAME)
    assert await reader.get(NAME) == OLD
    record.thing = NEW
    left = await services.redis.pttl(NAME)
    assert 0 < left <= levels.UPDATE_SECONDS * 1000
    await services.redis.pexpire(NAME, 1)
    reader.forget_all()
    await asyncio.sleep(0.01)
    assert await reader.get(NAME) == NEW


async def test_one_of_two_writers_may_die(services: Services) -> None:
    cache = cached(services.redis, Record(OLD))
    await cache.begin_update(NAME)
    await cache.begin_update(NAME)
    await cache.changed(NAME, OLD, OLD.version)
    assert 0 < await services.redis.pttl(NAME) <= levels.UPDATE_SECONDS * 1000


async def test_a_change_is_refused_when_redis_cannot_be_told() -> None:
    async with redis_for_requests(nobody()) as away:
        with pytest.raises(Unavailable):
            await cached(away, Record(OLD)).begin_update(NAME)


async def test_a_full_redis_does_not_hinder_a_change(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record)
    await cache.get(NAME)
    await services.redis.config_set("maxmemory", 1)
    try:
        for name in (NAME, "link:/not-in-redis"):
            await cache.begin_update(name)
            await cache.changed(name, NEW, NEW.version)
    finally:
        await services.redis.config_set("maxmemory", 0)
    assert 0 < await services.redis.pttl(NAME) <= levels.UPDATE_SECONDS * 1000


async def test_a_copy_of_another_release_counts_as_none(services: Services) -> None:
    await services.redis.hset(NAME, mapping={"version": 1, "value": b"\x81\xa1x\x01"})
    assert await cached(services.redis, Record(OLD)).get(NAME) == OLD


async def test_unverified_memory_is_trusted_for_a_second_only(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record)
    await cache.get(NAME)
    cache.verified = False
    await cached(services.redis, record).changed(NAME, NEW, NEW.version)
    aged(cache, levels.UNVERIFIED_SECONDS * 0.9)
    assert await cache.get(NAME) == OLD
    aged(cache, levels.UNVERIFIED_SECONDS * 0.1)
    assert await cache.get(NAME) == NEW


async def test_with_redis_away_the_record_answers(services: Services) -> None:
    record = Record(OLD)
    async with redis_for_requests(nobody()) as away:
        cache = cached(away, record)
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
        cache = cached(away, record)
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
        cache = cached(away, record)
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
    monkeypatch.setattr(origin, "LOAD_SECONDS", 1.0)
    record = Record(OLD)
    cache = cached(services.redis, record)
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


async def test_a_closed_cache_asks_redis_for_nothing_more(services: Services) -> None:
    """Its client may be closed by then, and a connection that is made anew stays open."""
    record = Record(OLD)
    record.open.clear()
    async with redis_for_requests(services.settings.redis_url) as redis:
        cache = cached(redis, record)
        look_up = asyncio.ensure_future(cache.get(NAME))
        await record.asked_for(1)
        await cache.close()
        assert not cache._loading
        record.open.set()
        await asyncio.gather(look_up, return_exceptions=True)
        assert look_up.cancelled()
    assert await services.redis.exists(NAME) == 0


async def test_what_redis_holds_is_served_while_the_record_is_away(services: Services) -> None:
    record = Record(OLD)
    await cached(services.redis, record).get(NAME)
    record.error = PyMongoError("away")
    cache = cached(services.redis, record)
    with pytest.raises(Unavailable):
        await cache.get("link:/b")
    assert await cache.get(NAME) == OLD


async def test_a_value_in_steady_use_is_read_again_before_its_life_is_over(
    services: Services,
) -> None:
    cache = cached(services.redis, Record(OLD))
    await cache.get(NAME)
    aged(cache, memory.MEMORY_SECONDS * 0.8)
    held = cache._memory.values[NAME]
    assert cache.peek(NAME) is held
    async with asyncio.timeout(5):
        while cache._memory.values[NAME] is held:
            await asyncio.sleep(0)
    assert cache._memory.values[NAME].loaded_at > held.loaded_at


async def test_reading_again_in_vain_is_not_begun_by_every_request() -> None:
    record = Record(OLD)
    cache = cached(redis_for_requests(nobody()), record)
    await cache.get(NAME)
    record.error = AutoReconnect("away")
    aged(cache, memory.MEMORY_SECONDS * 0.8)
    for _ in range(3):
        assert cache.peek(NAME) is not None
        await record.asked_for(2)
        await asyncio.sleep(0.01)
    assert len(record.asked) == 2


async def test_what_many_ask_for_at_once_is_one_question(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record)
    names = [f"link:/{number}" for number in range(300)]
    await services.redis.config_resetstat()
    assert await asyncio.gather(*map(cache.get, names)) == [OLD] * 300
    assert record.questions == [names]
    stats = await services.redis.info("commandstats")
    assert stats["cmdstat_evalsha"]["calls"] <= 4


async def test_one_that_cannot_be_read_is_an_error_of_its_own(services: Services) -> None:
    class Odd(Record):
        async def find(self, names: Sequence[str]) -> dict[str, Any]:
            return {name: OLD if name == NAME else None for name in names} | {"link:/b": 7}

        def value_of(self, found: Any) -> Thing | None:
            if found == 7:
                raise ValueError("not a thing")
            return super().value_of(found)

    cache = cached(services.redis, Odd(OLD))
    outcomes = await asyncio.gather(cache.get(NAME), cache.get("link:/b"), return_exceptions=True)
    assert outcomes[0] == OLD
    assert isinstance(outcomes[1], ValueError)


async def test_misses_push_no_value_out_of_memory(services: Services) -> None:
    record = Record(OLD)
    cache = cached(services.redis, record, max_values=10)
    await cache.get(NAME)
    record.thing = None
    for number in range(50):
        await cache.get(f"link:/{number}")
    assert cache.peek(NAME) is not None
    assert len(cache._memory.misses) == 2


async def test_to_wait_for_the_turn_of_others_is_no_failure_of_mongodb(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question is answered in time; the last of a crowd waits much longer."""
    monkeypatch.setattr(origin, "LOAD_SECONDS", 1.0)

    class Slow(Record):
        async def find(self, names: Sequence[str]) -> dict[str, Thing]:
            await asyncio.sleep(0.4)
            return await super().find(names)

    record = Slow(OLD)
    cache = cached(services.redis, record)
    names = [f"link:/{number}" for number in range(2000)]
    assert await asyncio.gather(*map(cache.get, names)) == [OLD] * 2000
    assert len(record.questions) == 4
    assert not cache._origin._breaker.is_open


STRANGER, VISITOR = "203.0.113.7", "203.0.113.8"


async def test_whoever_asks_for_too_much_that_is_not_there_waits_in_a_share(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin, "SHARED_REST_SECONDS", 0)
    record = Record(None)
    cache = cached(services.redis, record, misses=Allowance(5, now=lambda: 0.0))
    for number in range(5):
        assert await cache.get(f"link:/first-{number}", STRANGER) is None
    before = LOOK_UPS_SHARED.labels("answered")._value.get()
    names = [f"link:/{number}" for number in range(250)]
    assert await asyncio.gather(*(cache.get(name, STRANGER) for name in names)) == [None] * 250
    assert [len(question) for question in record.questions[5:]] == [100, 100, 50]
    assert LOOK_UPS_SHARED.labels("answered")._value.get() == before + 250
    # Redis has no room for what a stranger makes up.
    assert not await services.redis.exists(*names)


async def test_what_exists_is_found_also_for_a_client_beyond_its_allowance(
    services: Services,
) -> None:
    misses = Allowance(1, now=lambda: 0.0)
    misses.spend(STRANGER)
    cache = cached(services.redis, Record(OLD), misses=misses)
    assert await cache.get(NAME, STRANGER) == OLD
    assert await services.redis.exists(NAME)
    assert await cache.get(NAME, STRANGER) == OLD


async def test_others_do_not_wait_for_the_share(services: Services) -> None:
    misses = Allowance(1, now=lambda: 0.0)
    misses.spend(STRANGER)
    record = Record(OLD)
    cache = cached(services.redis, record, misses=misses)
    in_share = asyncio.ensure_future(cache.get(NAME, STRANGER))
    await record.asked_for(1)
    assert await cache.get(NAME, VISITOR) == OLD
    assert not in_share.done()
    assert await in_share == OLD


async def test_a_full_share_refuses_only_those_it_is_for(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin, "SHARED_WAITING_NAMES", 10)
    misses = Allowance(1, now=lambda: 0.0)
    misses.spend(STRANGER)
    record = Record(None)
    record.open.clear()
    cache = cached(services.redis, record, misses=misses)
    gets = [asyncio.ensure_future(cache.get(f"link:/{n}", STRANGER)) for n in range(120)]
    await record.asked_for(10)
    record.open.set()
    visited = await cache.get("link:/visited", VISITOR)
    outcomes = await asyncio.gather(*gets, return_exceptions=True)
    assert visited is None
    assert {type(one) for one in outcomes} == {type(None), RateLimited}
    assert outcomes.count(None) >= 10
    # What is in steady use is still read again in time.
    aged(cache, memory.MISS_MEMORY_SECONDS * 0.8)
    assert cache.peek("link:/visited") is not None
    assert list(cache._loading) == ["link:/visited"]
