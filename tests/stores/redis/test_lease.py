"""Work that one process does at a time is free again when its holder ends, or is gone."""

import pytest
from redis.asyncio import Redis

from tracker.service.services import Services
from tracker.stores.redis.lease import Lease

pytestmark = pytest.mark.redis

KEY = "time_zones"


def lease(redis: Redis, seconds: float = 60) -> Lease:
    return Lease(redis, KEY, seconds)


async def test_one_holds_a_lease_until_it_releases_it(services: Services) -> None:
    one, other = lease(services.stores.redis), lease(services.stores.redis)
    assert [await one.acquire(), await other.acquire(), await one.acquire()] == [True, False, True]
    await other.release()
    assert not await other.acquire()
    await one.release()
    assert await other.acquire()
    assert not await one.acquire()


async def test_a_lease_is_renewed_by_its_holder_and_ends_without_one(services: Services) -> None:
    one = lease(services.stores.redis)
    await one.acquire()
    await services.stores.redis.pexpire(KEY, 100_000)
    await one.acquire()
    assert 50 < await services.stores.redis.ttl(KEY) <= 60


async def test_releasing_what_another_holds_by_now_changes_nothing(services: Services) -> None:
    one, other = lease(services.stores.redis), lease(services.stores.redis)
    await one.acquire()
    await services.stores.redis.delete(KEY)
    await other.acquire()
    await one.release()
    assert not await one.acquire()
