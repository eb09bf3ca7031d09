"""A copy in Redis is trusted only where and while no change can be missing from it."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pymongo.errors import AutoReconnect
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.factories import create_event_config, create_link
from tests.stores.cache.cached_thing import NAME, NEW, OLD, Thing, ThingLookup, cached
from tests.stores.redis.own_redis import OwnRedis, own_redis
from tests.waiting import becomes
from tracker.ids import new_id
from tracker.links.domain import namespace_of
from tracker.loops import cancel_and_wait
from tracker.service.services import Services
from tracker.stores.cache import filling
from tracker.stores.cache.cache import Cache
from tracker.stores.redis import keys
from tracker.stores.redis.clients import (
    check_server_ids,
    known_server_id,
    redis_for_requests,
)
from tracker.stores.redis.memory_budget import EVICT_FROM
from tracker.stores.redis.server_id import UNKNOWN_SERVER

pytestmark = pytest.mark.redis


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnRedis]:
    with own_redis(tmp_path) as server:
        yield server


async def trusted(cache: Cache[Thing]) -> bool:
    return (await cache._copies.find(NAME)).current


async def test_what_is_created_is_found_by_every_process_in_redis_alone(services: Services) -> None:
    things = ThingLookup(None)
    await cached(services.stores.redis, things).created(NAME, NEW)
    assert await cached(services.stores.redis, things).get(NAME) == NEW
    assert things.asked == []


async def test_after_a_restart_no_copy_is_trusted_that_may_lack_a_change(server: OwnRedis) -> None:
    things = ThingLookup(OLD)
    async with redis_for_requests(server.url) as redis:
        cache = cached(redis, things)
        await cache.get(NAME)
        assert await trusted(cache)
        server.kill()
        with pytest.raises(RedisConnectionError):
            await redis.ping()
        server.start()
        assert await redis.exists(NAME)
        assert not await trusted(cache)
        things.error = AutoReconnect("unavailable")  # then it is better than none
        assert await cached(redis, things).get(NAME) == OLD
        things.error, things.thing = None, NEW  # as if Redis had lost the change
        assert await cached(redis, things).get(NAME) == NEW
        assert await trusted(cache)


async def test_a_copy_that_was_read_before_a_failover_is_not_trusted_after_it(
    server: OwnRedis,
) -> None:
    """The reader asked MongoDB before the change that the failover lost."""
    things = ThingLookup(OLD)
    async with redis_for_requests(server.url) as redis:
        cache = cached(redis, things)
        await redis.ping()
        before = await known_server_id(redis, NAME)
        server.kill()
        server.start()
        with pytest.raises(RedisConnectionError):
            await redis.ping()
        await cache._copies.store(cache._copy(NAME, OLD, OLD.version, before))
        assert await redis.exists(NAME)
        assert not await trusted(cache)


async def test_a_promoted_replica_is_another_server(server: OwnRedis, tmp_path: Path) -> None:
    with own_redis(tmp_path / "replica") as other:
        async with (
            redis_for_requests(server.url) as primary,
            redis_for_requests(other.url) as replica,
        ):
            await primary.ping()
            await replica.replicaof("127.0.0.1", str(server.port))
            await check_server_ids(replica)
            assert await known_server_id(replica, NAME) == UNKNOWN_SERVER
            await replica.replicaof("NO", "ONE")
            await check_server_ids(replica)
            ids = [await known_server_id(one, NAME) for one in (primary, replica)]
            assert UNKNOWN_SERVER not in ids
            assert ids[0] != ids[1]


async def test_a_hash_that_1_0_0_has_left_is_replaced_by_readers_and_changes(
    services: Services,
) -> None:
    redis = services.stores.redis
    cache = cached(redis, ThingLookup(OLD))
    for replace in (cache.get, cache.begin_update):
        await redis.delete(NAME)
        await redis.hset(NAME, mapping={"version": NEW.version, "value": b"\x81"})
        assert await replace(NAME) in (OLD, None)
        assert await redis.type(NAME) == b"string"


async def test_a_copy_that_cannot_be_decoded_is_replaced(services: Services) -> None:
    redis, things = services.stores.redis, ThingLookup(OLD)
    await cached(redis, things).get(NAME)
    held: Any = await redis.get(NAME)
    await redis.set(NAME, held[:12] + b"\x81\xa1x\x01", px=1_000_000)
    for _ in range(2):
        assert await cached(redis, things).get(NAME) == OLD
    assert things.asked == [NAME, NAME]


async def test_nothing_is_filled_before_the_server_is_known(services: Services) -> None:
    await create_link(services, new_id(), "abc")
    unconnected = Services(services.settings)
    assert await unconnected.copy_filler.fill() == 0
    await unconnected.close()
    assert await services.stores.redis.get(keys.COPIES_FILLED) is None


async def test_the_copy_of_a_changed_value_is_stored_again_once_it_has_expired(
    services: Services,
) -> None:
    things = ThingLookup(OLD)
    cache = cached(services.stores.redis, things)
    await cache.begin_update(NAME)
    things.thing = NEW
    await cache.changed(NAME, NEW, NEW.version)
    assert not await trusted(cache)
    await services.stores.redis.delete(NAME)  # as if UPDATE_SECONDS were over
    cache._changed_at[NAME] = 0.0
    restoring = asyncio.ensure_future(cache.keep_restoring())
    await becomes(lambda: trusted(cache), True)
    await cancel_and_wait(restoring)
    assert cache._changed_at == {}


async def test_a_new_redis_is_filled_once_and_again_after_it_was_emptied(
    services: Services,
) -> None:
    redis, link = services.stores.redis, await create_link(services, new_id(), "abc")
    archived = await create_link(services, new_id(), "gone")
    await services.links.links.change(archived.id, {"archived": True})
    config = await create_event_config(services)
    domain = await services.links.domains.create(new_id(), "go.example")
    await create_link(services, domain.account_id, "abc", domain=domain, paths=["a/b"])
    names = [keys.link("", link.slug), keys.domain("go.example"), keys.event_config(config.pbk)]
    names += [keys.link(namespace_of(domain.id), name) for name in ("abc", "a/b")]
    for _ in range(2):
        await redis.flushall()
        assert await services.copy_filler.fill() == len(names)
        assert await redis.exists(*names) == len(names)
        assert await redis.exists(keys.link("", "gone")) == 0
        assert await services.copy_filler.fill() == 0


async def test_a_redis_that_has_become_full_is_not_filled_again(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = [await create_link(services, new_id(), slug) for slug in ("abc", "def", "ghi")]
    await services.stores.redis.flushall()
    budget, restore = services.stores.budget, services.links.link_cache.restore

    async def fill_up(names: Sequence[str]) -> None:
        await restore(names)
        budget.used = EVICT_FROM

    monkeypatch.setattr(filling, "NAMES_AT_ONCE", 2)
    monkeypatch.setattr(services.links.link_cache, "restore", fill_up)
    budget.used = EVICT_FROM
    assert await services.copy_filler.fill() == 0
    budget.used = 0.0
    assert await services.copy_filler.fill() == 2
    budget.used = 0.0
    assert await services.copy_filler.fill() == 0
    stored = await services.stores.redis.exists(*(keys.link("", one.slug) for one in links))
    assert stored == 2
