"""The first click of a visitor on a link and day is unique, also when replayed, and anonymous."""

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tests.conversions import scene
from tests.factories import CHROME, make_click
from tests.ingest import ledger
from tests.stores.redis.skipped_writes import skipped_writes
from tracker.calendar import ChangedCalendar, calendar_of
from tracker.clicks import visitors
from tracker.clicks.click import Click
from tracker.clicks.visitors import TTL_SECONDS, Visitors
from tracker.clock import moment
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.redis.memory_budget import SKIPPED_FROM, Budget, OptionalWrite

pytestmark = pytest.mark.redis

DAY = 24 * 3600 * 1000
LINK = new_id().bytes
ADDRESS = "203.0.113.77"
FIRST = make_click(link_id=LINK, address=ADDRESS)


def again(**changed: Any) -> Click:
    """Return another click of the visitor, unless `changed` makes it another visitor's."""
    return msgspec.structs.replace(FIRST, id=make_click().id, **changed)


async def first(services: Services, *clicks: Click) -> list[bool]:
    found = await services.clicks.visitors.first_clicks(clicks)
    return [one.id in found for one in clicks]


@pytest.mark.parametrize(
    "changed",
    [
        {"link_id": new_id().bytes},
        {"at": FIRST.at + DAY},
        {"at": FIRST.at - 90 * DAY},
        {"address": "203.0.113.78"},
        {"address": ""},
        {"user_agent": CHROME + " "},
        {"user_agent": ""},
        {"user_agent": "\ud800"},
    ],
)
async def test_another_link_day_address_or_agent_makes_another_visitor(
    services: Services, changed: dict[str, Any]
) -> None:
    other = again(**changed)
    assert await first(services, FIRST, other) == [True, True]
    assert await first(services, again(**changed), again()) == [False, False]


async def test_the_border_between_address_and_agent_counts(services: Services) -> None:
    assert await first(
        services,
        again(address="1.2.3.4", user_agent="5"),
        again(address="1.2.3.45", user_agent=""),
    ) == [True, True]


async def test_the_day_of_an_account_ends_at_its_own_midnight(services: Services) -> None:
    berlin = {FIRST.account_id: calendar_of("Europe/Berlin")}
    midnight = FIRST.at - FIRST.at % DAY + DAY - 3_600_000
    clicks = [again(at=midnight - 1), again(at=midnight), again(at=midnight + DAY - 1)]
    found = await services.clicks.visitors.first_clicks(clicks, berlin)
    assert [one.id in found for one in clicks] == [True, True, False]
    salts: Any = await services.stores.redis.keys("visitors:salt:*")
    day = moment(midnight - 1).date().isoformat()
    assert f"visitors:salt:Europe/Berlin:{day}".encode() in salts
    for name in await services.stores.redis.keys("visitors:*"):
        assert TTL_SECONDS - 60 < await services.stores.redis.ttl(name) <= TTL_SECONDS


async def test_a_visitor_of_today_stays_known_when_the_zone_is_to_change_tomorrow(
    services: Services,
) -> None:
    assert await first(services, FIRST) == [True]
    tomorrow = moment(FIRST.at + DAY).date()
    changed = ChangedCalendar("Europe/Berlin", tomorrow, calendar_of("UTC"))
    clicks = [again(at=FIRST.at + 1), again(at=FIRST.at + DAY), again(at=FIRST.at + DAY + 1)]
    found = await services.clicks.visitors.first_clicks(clicks, {FIRST.account_id: changed})
    assert [one.id in found for one in clicks] == [False, True, False]
    salts: Any = await services.stores.redis.keys("visitors:salt:Europe/Berlin:*")
    assert salts == [f"visitors:salt:Europe/Berlin:{tomorrow}".encode()]


async def test_accounts_of_other_zones_keep_their_visitors_in_one_call(services: Services) -> None:
    zones = [calendar_of(name) for name in ("Europe/Berlin", "Asia/Tokyo", "UTC")]
    clicks = [make_click() for _ in range(4)]
    calendars = {one.account_id: zone for one, zone in zip(clicks, zones, strict=False)}
    assert len(await services.clicks.visitors.first_clicks(clicks, calendars)) == 4
    later = [msgspec.structs.replace(one, id=make_click().id) for one in clicks]
    assert await services.clicks.visitors.first_clicks(later, calendars) == set()
    replayed = await services.clicks.visitors.first_clicks([*later, *clicks], calendars)
    assert replayed == {one.id for one in clicks}
    assert len(await services.stores.redis.keys("visitors:salt:*")) == 3


async def test_two_processes_at_once_share_the_salt_and_find_one_first_click(
    services: Services,
) -> None:
    many = [again(address=f"198.51.100.{number}") for number in range(100)]
    same = [msgspec.structs.replace(one, id=make_click().id) for one in many]
    async with scene.process(services.settings) as other:
        mine, others = await asyncio.gather(
            services.clicks.visitors.first_clicks(many), other.clicks.visitors.first_clicks(same)
        )
    assert len(mine) + len(others) == 100
    for one, copy in zip(many, same, strict=True):
        assert (one.id in mine) != (copy.id in others)


async def test_a_replayed_first_click_is_first_again_in_any_order_and_batches(
    services: Services,
) -> None:
    random = Random(7)
    clicks = [
        again(address=f"198.51.100.{random.randrange(20)}", at=FIRST.at + random.randrange(2) * DAY)
        for _ in range(200)
    ]
    found: set[bytes] = set()
    replayed: list[bytes] = []
    for start in range(0, 200, 17):
        found |= await services.clicks.visitors.first_clicks(clicks[start : start + 17])
    random.shuffle(clicks)
    for start in range(0, 200, 23):
        replayed += await services.clicks.visitors.first_clicks(clicks[start : start + 23])
    assert sorted(replayed) == sorted(found)
    people = {(one.address, one.at) for one in clicks}
    assert len(found) == len(people)
    assert {(one.address, one.at) for one in clicks if one.id in found} == people


async def test_later_clicks_do_not_delay_the_expiry_of_a_bucket(services: Services) -> None:
    await first(services, FIRST)
    [bucket] = await services.stores.redis.keys("visitors:2*")
    await services.stores.redis.expire(bucket, 100)
    await first(services, again(), again())
    assert await services.stores.redis.ttl(bucket) <= 100


async def test_redis_holds_neither_address_nor_agent_nor_link(services: Services) -> None:
    await first(services, FIRST, again(address="2001:db8::77"))
    held = b"".join([one async for one in everything(services)])
    link = UUID(bytes=LINK)
    for known in (ADDRESS, "2001:db8::77", CHROME, link.hex, str(link)):
        assert known.encode() not in held
    assert LINK not in held


async def everything(services: Services) -> AsyncIterator[bytes]:
    """Yield every key and value in Redis."""
    redis: Any = services.stores.redis
    for name in await redis.keys("*"):
        yield name
        if await redis.type(name) == b"string":
            yield await redis.get(name)
        else:
            for field in (await redis.hgetall(name)).items():
                yield b"".join(field)


async def names(services: Services) -> set[bytes]:
    """Return the hashes of the visitors in Redis."""
    redis: Any = services.stores.redis
    found = set()
    for bucket in await redis.keys("visitors:2*"):
        found |= {bucket[-4:] + one for one in await redis.hkeys(bucket)}
    return found


async def test_a_visitor_has_another_hash_every_day_and_with_another_salt(
    services: Services,
) -> None:
    await first(services, again(), again(at=FIRST.at + DAY))
    before = await names(services)
    await services.stores.redis.flushall()
    await Visitors(services.stores.redis, Budget()).first_clicks([again()])
    assert len(before | await names(services)) == 3


async def commands(services: Services) -> dict[str, int]:
    known: Any = await services.stores.redis.info("commandstats")
    return {name.removeprefix("cmdstat_"): int(one["calls"]) for name, one in known.items()}


async def test_two_hundred_clicks_cost_one_call_and_a_known_visitor_one_command(
    services: Services,
) -> None:
    await first(services, FIRST)
    await services.stores.redis.config_resetstat()
    visits = [again(address=f"2001:db8::{number}") for number in range(1000)]
    assert all(await first(services, *visits))
    called = await commands(services)
    assert called.pop("evalsha") == 5
    assert called.pop("hget") == called.pop("hset") == 1000
    assert set(called) <= {"del", "ttl", "expire", "config", "config|resetstat", "info"}
    await services.stores.redis.config_resetstat()
    assert not any(await first(services, *(again(address=one.address) for one in visits)))
    called = await commands(services)
    assert (called.pop("evalsha"), called.pop("hget")) == (5, 1000)
    assert called.keys().isdisjoint({"hset", "ttl", "expire"})


async def test_only_clicks_of_people_are_looked_up(services: Services) -> None:
    bots = [
        again(user_agent="Googlebot/2.1 (+http://www.google.com/bot.html)"),
        again(user_agent="curl/8.0"),
        again(purpose="prefetch"),
    ]
    await scene.applied(services, bots)
    rows = [row async for row in services.stores.mongodb["clicks"].find()]
    assert len(rows) == 3
    assert all(row["bot"] and row["unique"] is False for row in rows)
    assert await services.stores.redis.keys("visitors:*") == []
    await scene.applied(services, [*bots, FIRST])
    found = [row["unique"] async for row in services.stores.mongodb["clicks"].find({"bot": None})]
    assert found == [True]


async def test_a_new_visitor_is_neither_stored_nor_unique_while_redis_is_full(
    services: Services,
) -> None:
    """Known visitors stay known, and new ones are unique again once there is room."""
    other = again(address="203.0.113.78")
    await first(services, FIRST)
    services.stores.budget.used = SKIPPED_FROM[OptionalWrite.VISITOR]
    before = skipped_writes("visitor")
    assert await first(services, FIRST, again(), other) == [True, False, False]
    assert skipped_writes("visitor") == before + 1
    services.stores.budget.used = 0.0
    assert await first(services, other, again()) == [True, False]


@pytest.mark.parametrize("room", [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])
async def test_a_click_drained_again_with_more_or_less_room_counts_as_it_is_stored(
    services: Services, room: tuple[float, float]
) -> None:
    account_id = new_id()
    clicks = [make_click(account_id) for _ in range(3)]
    for used in room:
        services.stores.budget.used = used
        await scene.applied(services, clicks)
        await scene.applied(services, [*clicks, make_click(account_id)])
    await ledger.check(services)


async def test_a_restarted_redis_receives_the_script_again(services: Services) -> None:
    await first(services, FIRST)
    await services.stores.redis.script_flush()
    assert await first(services, FIRST, again()) == [True, False]


async def test_a_salt_is_read_again_after_an_hour(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All processes share one salt again after Redis has lost it."""
    monkeypatch.setattr(visitors, "_SALT_CACHE_SECONDS", -1.0)
    async with scene.process(services.settings) as other:
        await services.clicks.visitors.first_clicks([FIRST])
        await services.stores.redis.flushall()
        assert await other.clicks.visitors.first_clicks([again()])
        assert await services.clicks.visitors.first_clicks([again()]) == set()


async def test_salts_that_another_caller_forgets_meanwhile_are_returned(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, salt_of = services.clicks.visitors, services.clicks.visitors._salt
    await one.salts(["2026-01-30"])

    async def forgetting(day: str) -> bytes:
        monkeypatch.setattr(one, "_salt", salt_of)
        one._forget_at = 0.0
        await one.salts(["2026-02-01"])
        return await salt_of(day)

    monkeypatch.setattr(one, "_salt", forgetting)
    assert {"2026-01-30", "2026-01-31"} <= (await one.salts(["2026-01-30", "2026-01-31"])).keys()
