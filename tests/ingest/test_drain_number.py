"""Drains do not share numbers unless they must, whatever store is unavailable.

Living drains keep their sessions.
"""

import asyncio
import contextlib
from typing import Any

import pytest
from pymongo.errors import PyMongoError
from redis.asyncio import Redis

from tests.ingest.drain_numbers import drain_number_of, recorded
from tests.ports import free_port
from tests.stores.relay import relay
from tests.waiting import becomes
from tracker.ids import new_id
from tracker.ingest.drain_number import DRAIN_NUMBERS, DrainNumber
from tracker.loops import Loops
from tracker.service.background import leased
from tracker.service.services import Services
from tracker.stores.mongodb import drivers
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.redis import keys
from tracker.stores.redis.keys import drain_number_lease as lease

pytestmark = pytest.mark.redis

ALL_LEASES = lease(0)[:-1] + "[0-9]*"

SHORT_LEASE = 1.5
"""Seconds; renewed every half."""


def kept(redis: Redis, mongodb: MongoDB) -> contextlib.AbstractAsyncContextManager[DrainNumber]:
    return leased(DrainNumber(redis, mongodb, SHORT_LEASE), Loops())


async def session_id(drain_number: DrainNumber) -> bytes:
    known: Any = (await drain_number.session()).session_id
    return bytes(known["id"])


async def test_every_drain_gets_a_number_of_its_own_the_lowest_that_is_free(
    services: Services,
) -> None:
    drains = [drain_number_of(services) for _ in range(5)]
    assert [await one.number() for one in drains] == [0, 1, 2, 3, 4]
    await drains[1].release()
    await drains[3].release()
    assert [await drain_number_of(services).number() for _ in range(3)] == [1, 3, 5]


async def test_a_number_with_a_session_on_record_is_taken_when_that_was_ended(
    services: Services,
) -> None:
    """Its drain may live: after an outage of Redis every lease has run out."""
    late, others = drain_number_of(services), [drain_number_of(services) for _ in range(2)]
    assert await late.number() == 0
    await services.stores.redis.delete(lease(0))
    assert await others[0].number() == 1
    for _ in range(2):
        await others[0].end_dead_sessions()
    assert await others[1].number() == 0
    await late.renew()
    assert await late.number() == 2
    assert await recorded(services) == {
        b"0": await session_id(others[1]),
        b"1": await session_id(others[0]),
        b"2": await session_id(late),
    }


async def test_after_an_outage_of_redis_every_drain_has_its_number_and_session_again(
    services: Services,
) -> None:
    """The first may look for dead drains, start, or renew its lease."""
    living = [drain_number_of(services) for _ in range(3)]
    for drain_number in living:
        await drain_number.number()
    before = await recorded(services)
    await services.stores.redis.delete(lease(0), lease(1), lease(2))
    await living[2].end_dead_sessions()
    new = drain_number_of(services)
    assert await new.number() == 3
    for drain_number in (living[2], living[0], living[1]):
        await drain_number.renew()
    await living[2].end_dead_sessions()
    assert [await drain_number.number() for drain_number in living] == [0, 1, 2]
    assert await recorded(services) == {**before, b"3": await session_id(new)}


async def test_a_drain_whose_lease_has_run_out_does_not_end_its_own_session(
    services: Services,
) -> None:
    drain_number = drain_number_of(services)
    await drain_number.number()
    before = await recorded(services)
    await services.stores.redis.delete(lease(0))
    for _ in range(2):
        await drain_number.end_dead_sessions()
    assert await recorded(services) == before


async def test_drains_keep_their_sessions_while_mongodb_stalls_for_longer_than_the_lease(
    services: Services,
) -> None:
    """A third drain beside them looks for sessions of dead drains."""
    async with relay(services.settings.mongodb_uri) as way, contextlib.AsyncExitStack() as stack:
        far = MongoDB(
            f"mongodb://127.0.0.1:{way.port}/?directConnection=true",
            services.settings.mongodb_database,
        )
        stack.push_async_callback(far.close)
        opened = [kept(services.stores.redis, far) for _ in range(2)]
        drain_numbers = [await stack.enter_async_context(one) for one in opened]
        third = kept(services.stores.redis, services.stores.mongodb)
        drain_numbers.append(await stack.enter_async_context(third))
        assert [await one.number() for one in drain_numbers] == [0, 1, 2]
        before = await recorded(services)
        writing = [await one.session() for one in drain_numbers[:2]]
        for session in writing:
            session.start_transaction()
            await far["clicks"].insert_one({"account_id": new_id()}, session=session)
        way.hold_answers()
        committing = [one.commit_transaction() for one in writing]
        # A lease of that length, which nobody renews, runs out meanwhile.
        await services.stores.redis.set("lease", "", px=int(2000 * SHORT_LEASE))
        await becomes(lambda: services.stores.redis.exists("lease"), 0)
        assert await recorded(services) == before
        way.answer_again()
        await asyncio.gather(*committing)
        assert [await one.number() for one in drain_numbers] == [0, 1, 2]
    assert await services.stores.mongodb["clicks"].count_documents({}) == 2


async def test_when_all_numbers_are_taken_one_is_shared(services: Services) -> None:
    hour = 3600.0
    for _ in range(DRAIN_NUMBERS):
        await DrainNumber(services.stores.redis, services.stores.mongodb, hour).number()
    shared = drain_number_of(services)
    assert 0 <= await shared.number() < DRAIN_NUMBERS
    await shared.release()
    assert len(await services.stores.redis.keys(ALL_LEASES)) == DRAIN_NUMBERS


async def test_a_release_frees_the_number_and_ends_the_session(services: Services) -> None:
    drain_number = drain_number_of(services)
    await drain_number.number()
    session: Any = await drain_number.session()
    await drain_number.release()
    assert await services.stores.redis.keys(ALL_LEASES) == []
    assert session.has_ended
    assert await drain_number.number() == 0
    assert await drain_number.session() is not session


async def test_a_release_does_not_free_the_number_of_another(services: Services) -> None:
    late, next_one = drain_number_of(services), drain_number_of(services)
    await late.number()
    await services.stores.redis.delete(lease(0), keys.DRAIN_SESSIONS)
    await next_one.number()
    await late.release()
    assert await services.stores.redis.exists(lease(0))
    assert await recorded(services) == {b"0": await session_id(next_one)}


async def test_with_mongodb_unavailable_the_number_is_kept_and_a_dead_session_stays_on_record(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays there until MongoDB can end it."""
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 0.2)
    gone = MongoDB(f"mongodb://127.0.0.1:{free_port()}/?directConnection=true", "any")
    dead = new_id().bytes
    await services.stores.redis.hset(keys.DRAIN_SESSIONS, "0", dead)
    drain_number = DrainNumber(services.stores.redis, gone)
    drain_number._session = await services.stores.mongodb.client.start_session()
    assert await drain_number.number() == 1
    await drain_number.end_dead_sessions()
    with pytest.raises(PyMongoError):
        await drain_number.end_dead_sessions()
    assert await recorded(services) == {b"0": dead, b"1": await session_id(drain_number)}
    drain_number._client = services.stores.mongodb.client
    await drain_number.end_dead_sessions()
    assert await recorded(services) == {b"1": await session_id(drain_number)}
    await drain_number.release()
    await gone.close()


async def test_a_full_redis_keeps_the_leases_and_gives_new_ones(services: Services) -> None:
    drain_number = drain_number_of(services)
    await drain_number.number()
    used = (await services.stores.redis.info("memory"))["used_memory"]
    await services.stores.redis.config_set("maxmemory", used // 2)
    try:
        await services.stores.redis.expire(lease(0), 5)
        await drain_number.renew()
        assert await services.stores.redis.ttl(lease(0)) > 5
        assert await drain_number_of(services).number() == 1
        assert len(await recorded(services)) == 2
    finally:
        await services.stores.redis.config_set("maxmemory", 0)
