"""Work that one process does at a time is free again when its holder ends, or is gone."""

from redis.asyncio import Redis

from tracker.ingest.lease import Lease
from tracker.service.services import Services

KEY = "time_zones"


def lease(redis: Redis, seconds: float = 60) -> Lease:
    return Lease(redis, KEY, seconds)


async def test_one_holds_a_lease_until_it_releases_it(services: Services) -> None:
    one, other = lease(services.redis), lease(services.redis)
    assert [await one.hold(), await other.hold(), await one.hold()] == [True, False, True]
    await other.release()
    assert not await other.hold()
    await one.release()
    assert await other.hold()
    assert not await one.hold()


async def test_holding_a_lease_again_renews_it(services: Services) -> None:
    one = lease(services.redis)
    await one.hold()
    await services.redis.pexpire(KEY, 100_000)
    await one.hold()
    assert 50 < await services.redis.ttl(KEY) <= 60


async def test_the_lease_of_a_process_that_is_gone_ends(services: Services) -> None:
    assert await lease(services.redis, 0.001).hold()
    other = lease(services.redis)
    while not await other.hold():
        pass


async def test_releasing_what_another_holds_by_now_changes_nothing(services: Services) -> None:
    one, other = lease(services.redis), lease(services.redis)
    await one.hold()
    await services.redis.delete(KEY)
    await other.hold()
    await one.release()
    assert not await one.hold()
