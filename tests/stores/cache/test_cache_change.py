"""A change reaches every copy, whatever is read, lost or late meanwhile."""

import asyncio
from pathlib import Path

import pytest

from tests.stores.cache.cached_thing import NAME, NEW, OLD, Thing, ThingLookup, aged, cached
from tests.stores.redis.own_redis import own_redis
from tracker.errors import Unavailable
from tracker.service.services import Services
from tracker.stores.cache import cache as levels
from tracker.stores.cache import memory
from tracker.stores.cache.copies import UPDATE_SECONDS
from tracker.stores.redis.clients import redis_for_requests

pytestmark = [pytest.mark.redis, pytest.mark.usefixtures("long_memory")]


@pytest.mark.parametrize(("first", "second"), [(OLD, NEW), (NEW, OLD)])
async def test_an_older_version_never_replaces_a_newer_one_in_redis(
    services: Services, first: Thing, second: Thing
) -> None:
    cache = cached(services.stores.redis, ThingLookup(None))
    for thing in (first, second):
        await cache.created(NAME, thing)
    assert await cached(services.stores.redis, ThingLookup(None)).get(NAME) == NEW


@pytest.mark.parametrize(
    ("found", "written"), [(None, NEW), (OLD, None)], ids=["a miss", "a removed value"]
)
@pytest.mark.parametrize("changed", [True, False], ids=["changed", "the writer died"])
async def test_a_late_look_up_replaces_no_newer_change(
    services: Services, found: Thing | None, written: Thing | None, changed: bool
) -> None:
    things = ThingLookup(found)
    things.open.clear()
    late, writer = (cached(services.stores.redis, things) for _ in range(2))
    get = asyncio.ensure_future(late.get(NAME))
    await things.asked_for(1)
    await writer.begin_update(NAME)
    things.thing = written
    if changed:
        await writer.changed(NAME, written, NEW.version)
    things.open.set()
    assert await get == found
    assert not (await late._copies.find(NAME)).current
    assert await cached(services.stores.redis, things).get(NAME) == written


async def test_a_look_up_that_a_change_overtakes_is_not_kept(services: Services) -> None:
    things = ThingLookup(OLD)
    things.open.clear()
    cache = cached(services.stores.redis, things)
    get = asyncio.ensure_future(cache.get(NAME))
    await things.asked_for(1)
    things.thing = NEW
    await cache.changed(NAME, NEW, NEW.version)
    new_get = asyncio.ensure_future(cache.get(NAME))
    things.open.set()
    assert await get == OLD
    assert await new_get == NEW
    assert await cache.get(NAME) == NEW


@pytest.mark.parametrize("known", [True, False], ids=["Redis had it", "Redis did not"])
async def test_a_value_read_during_a_change_is_forgotten_soon_if_the_writer_dies(
    services: Services, known: bool
) -> None:
    things = ThingLookup(OLD)
    writer, reader = (cached(services.stores.redis, things) for _ in range(2))
    if known:
        await writer.get(NAME)
    await writer.begin_update(NAME)
    assert await reader.get(NAME) == OLD
    things.thing = NEW
    aged(reader, memory.UNSETTLED_SECONDS)
    assert await reader.get(NAME) == NEW
    assert 0 < await services.stores.redis.pttl(NAME) <= UPDATE_SECONDS * 1000


async def test_one_of_two_writers_may_die(services: Services) -> None:
    cache = cached(services.stores.redis, ThingLookup(OLD))
    await cache.begin_update(NAME)
    await cache.begin_update(NAME)
    await cache.changed(NAME, OLD, OLD.version)
    assert 0 < await services.stores.redis.pttl(NAME) <= UPDATE_SECONDS * 1000


async def test_a_change_that_redis_did_not_hear_of_is_not_answered(tmp_path: Path) -> None:
    things = ThingLookup(OLD)
    with own_redis(tmp_path) as server:
        async with redis_for_requests(server.url) as redis:
            cache = cached(redis, things)
            await cache.begin_update(NAME)
            server.kill()
            with pytest.raises(Unavailable):
                await cache.changed(NAME, NEW, NEW.version)


async def test_a_full_redis_does_not_hinder_a_change(services: Services) -> None:
    things = ThingLookup(OLD)
    cache = cached(services.stores.redis, things)
    await cache.get(NAME)
    await services.stores.redis.config_set("maxmemory", 1)
    try:
        things.thing = NEW
        for name in (NAME, "link:/not-in-redis"):
            await cache.begin_update(name)
            await cache.changed(name, NEW, NEW.version)
            assert await cached(services.stores.redis, things).get(name) == NEW
    finally:
        await services.stores.redis.config_set("maxmemory", 0)
    assert await services.stores.redis.exists(NAME, "link:/not-in-redis") == 0


async def test_unverified_memory_is_trusted_for_a_short_time_only(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert levels.UNVERIFIED_SECONDS == 1.0
    monkeypatch.setattr(levels, "UNVERIFIED_SECONDS", 1000.0)
    things = ThingLookup(OLD)
    cache = cached(services.stores.redis, things)
    await cache.get(NAME)
    cache.verified = False
    await cached(services.stores.redis, things).begin_update(NAME)
    things.thing = NEW
    aged(cache, levels.UNVERIFIED_SECONDS * 0.9)
    assert await cache.get(NAME) == OLD
    aged(cache, levels.UNVERIFIED_SECONDS * 0.1)
    assert await cache.get(NAME) == NEW
