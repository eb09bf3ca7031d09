"""Drains do not share slots unless they must, whatever store is away."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.conversions import scene
from tests.db.own_redis import hanging_redis, nobody
from tracker.db import connect
from tracker.db.child import free_port
from tracker.ids import new_id
from tracker.ingest import slot as slots
from tracker.ingest.slot import LEASE, SLOTS, Slot
from tracker.services import Services


def slot_of(services: Services) -> Slot:
    return Slot(services.redis, services.mongodb)


async def recorded(services: Services) -> dict[bytes, bytes]:
    """The sessions on record, by slot."""
    found: Any = await services.redis.hgetall("slot_sessions")
    return dict(found)


async def session_id(slot: Slot) -> bytes:
    known: Any = (await slot.session()).session_id
    return bytes(known["id"])


@pytest.fixture
def renews_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question for the number renews the lease."""
    monkeypatch.setattr(slots, "_RENEW_EVERY", -1.0)


async def test_every_drain_gets_a_slot_of_its_own_the_lowest_that_is_free(
    services: Services,
) -> None:
    drains = [slot_of(services) for _ in range(5)]
    assert [await one.number() for one in drains] == [0, 1, 2, 3, 4]
    await drains[1].leave()
    await drains[3].leave()
    assert [await slot_of(services).number() for _ in range(3)] == [1, 3, 5]


async def test_drains_that_ask_at_once_get_different_slots(services: Services) -> None:
    async with scene.process(services.settings) as other:
        drains = [slot_of(one) for one in (services, other) for _ in range(10)]
        numbers = await asyncio.gather(*(one.number() for one in drains))
    assert sorted(numbers) == list(range(20))


async def test_a_drain_keeps_its_slot_and_its_lease(
    services: Services, renews_always: None
) -> None:
    slot = slot_of(services)
    assert await slot.number() == 0
    await services.redis.expire("slot:0", 2)
    assert await slot.number() == 0
    assert LEASE - 1 <= await services.redis.ttl("slot:0") <= LEASE


async def test_between_renewals_redis_is_not_asked(services: Services) -> None:
    slot = slot_of(services)
    await slot.number()
    before = (await services.redis.info("stats"))["total_commands_processed"]
    for _ in range(50):
        await slot.number()
    after = (await services.redis.info("stats"))["total_commands_processed"]
    assert after - before == 1


async def test_a_slot_whose_lease_ran_out_is_taken_by_another(
    services: Services, renews_always: None
) -> None:
    late, next_one = slot_of(services), slot_of(services)
    assert await late.number() == 0
    await services.redis.delete("slot:0")
    assert await next_one.number() == 0
    assert await late.number() == 1
    assert await recorded(services) == {
        b"0": await session_id(next_one),
        b"1": await session_id(late),
    }


async def test_when_all_slots_are_taken_one_is_shared(services: Services) -> None:
    for _ in range(SLOTS):
        await slot_of(services).number()
    shared = slot_of(services)
    assert 0 <= await shared.number() < SLOTS
    await shared.leave()
    assert len(await services.redis.keys("slot:*")) == SLOTS


async def test_leaving_frees_the_slot_and_ends_the_session(services: Services) -> None:
    slot = slot_of(services)
    await slot.number()
    session: Any = await slot.session()
    await slot.leave()
    assert await services.redis.keys("slot*") == []
    assert session.has_ended
    assert await slot.number() == 0
    assert await slot.session() is not session


async def test_leaving_does_not_free_the_slot_of_another(services: Services) -> None:
    late, next_one = slot_of(services), slot_of(services)
    await late.number()
    await services.redis.delete("slot:0")
    await next_one.number()
    await late.leave()
    assert await services.redis.exists("slot:0")
    assert await recorded(services) == {b"0": await session_id(next_one)}


async def test_one_that_never_had_a_slot_may_leave(services: Services) -> None:
    await slot_of(services).leave()


@asynccontextmanager
async def away(services: Services, url: str) -> AsyncIterator[Slot]:
    redis = connect.redis_for_requests(url)
    slot = Slot(redis, services.mongodb)
    yield slot
    await slot.leave()
    await redis.aclose()


async def test_without_redis_a_number_comes_all_the_same_and_stays(
    services: Services, renews_always: None
) -> None:
    async with away(services, nobody()) as slot:
        number = await slot.number()
        assert 0 <= number < SLOTS
        assert {await slot.number() for _ in range(20)} == {number}


async def test_a_redis_that_hangs_costs_one_timeout_and_then_nothing_for_a_while(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "REQUEST_TIMEOUT", 0.2)
    with hanging_redis() as url:
        async with away(services, url) as slot:
            began = time.monotonic()
            for _ in range(100):
                await slot.number()
            assert time.monotonic() - began < 5


async def test_when_redis_is_back_a_slot_is_leased(services: Services, renews_always: None) -> None:
    slot = slot_of(services)
    redis, slot._redis = slot._redis, connect.redis_for_requests(nobody())
    await slot.number()
    slot._redis = redis
    assert await slot.number() == 0
    assert await services.redis.exists("slot:0")


async def test_a_redis_that_lost_everything_gets_lease_and_record_again(
    services: Services, renews_always: None
) -> None:
    slot = slot_of(services)
    await slot.number()
    await services.redis.flushall()
    assert await slot.number() == 0
    assert await recorded(services) == {b"0": await session_id(slot)}


async def test_a_record_that_was_lost_is_made_again_with_the_lease(
    services: Services, renews_always: None
) -> None:
    """Another may have found the lease of the one before run out just as this one took it."""
    slot = slot_of(services)
    await slot.number()
    await services.redis.delete("slot_sessions")
    await slot.number()
    assert await recorded(services) == {b"0": await session_id(slot)}


async def test_with_mongodb_away_the_slot_stays_and_a_dead_session_on_record(
    services: Services, renews_always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is back and can be told to end it."""
    monkeypatch.setattr(connect, "MONGODB_TIMEOUT", 0.2)
    gone = connect.mongodb(f"mongodb://127.0.0.1:{free_port()}/?directConnection=true")
    dead = new_id().bytes
    await services.redis.hset("slot_sessions", "0", dead)
    slot = Slot(services.redis, gone)
    slot._session = await services.mongodb.start_session()
    assert [await slot.number() for _ in range(2)] == [0, 0]
    assert await recorded(services) == {b"0": dead}
    slot._client = services.mongodb
    assert await slot.number() == 0
    assert await recorded(services) == {b"0": await session_id(slot)}
    await slot.leave()
    gone.close()


class HandingOver:
    """A Redis in which `following` takes a slot as soon as it is free."""

    def __init__(self, redis: Any, following: Slot) -> None:
        self._redis = redis
        self._following = following

    def __getattr__(self, name: str) -> Any:
        return getattr(self._redis, name)

    async def delete(self, name: str) -> None:
        await self._redis.delete(name)
        await self._following.number()


async def test_leaving_keeps_the_record_of_the_next(services: Services) -> None:
    following = slot_of(services)
    leaving: Any = slot_of(services)
    await leaving.number()
    leaving._redis = HandingOver(services.redis, following)
    await leaving.leave()
    assert await recorded(services) == {b"0": await session_id(following)}
