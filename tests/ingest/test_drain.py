"""Clicks and events meet whichever comes first, and applying twice changes nothing."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from itertools import permutations
from typing import Any
from uuid import UUID

import msgspec
import pytest
from pymongo.errors import AutoReconnect
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.conversions import scene
from tests.factories import AT_MS, make_click, make_conversion
from tracker.clicks.click import Click
from tracker.clicks.sources import FIELDS
from tracker.conversions.document import DIMENSIONS
from tracker.ids import new_click_id, new_id
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.record import Record
from tracker.service.services import Services
from tracker.stores.redis.keys import transaction_claim

pytestmark = pytest.mark.redis

ACCOUNT, OTHER = new_id(), new_id()
CLICK = make_click(ACCOUNT, query="utm_source=news&utm_term=")
EVENT = make_conversion(1, CLICK.id, value="12.50", payout="1.25", metadata='{"a":1}')
OF_CONFIG = msgspec.structs.replace(
    EVENT, id=2, account_id=ACCOUNT.bytes, event_config_id=new_id().bytes
)
FOREIGN = msgspec.structs.replace(OF_CONFIG, id=3, account_id=OTHER.bytes)


async def applied(services: Services, *batches: Sequence[Record]) -> list[dict[str, Any]]:
    """Apply these batches and return the stored events."""
    for batch in batches:
        await scene.drain_of(services).apply(batch)
    return await scene.stored_events(services)


@pytest.mark.parametrize(
    "batches",
    [
        [[CLICK], [EVENT]],
        [[EVENT], [CLICK]],
        [[CLICK, EVENT]],
        [[EVENT, CLICK]],
        [[EVENT], [], [CLICK], [EVENT, CLICK]],
    ],
)
async def test_click_and_event_meet_in_any_order(
    services: Services, batches: list[list[Record]]
) -> None:
    (row,) = await applied(services, *batches)
    click: Any = await services.stores.mongodb["clicks"].find_one({})
    assert (row["status"], row["account_id"]) == ("attributed", ACCOUNT)
    assert row["click_at"] == datetime.fromtimestamp(AT_MS / 1000, UTC)
    assert {name: row[name] for name in DIMENSIONS} == {name: click[name] for name in DIMENSIONS}
    assert (row["country"], row["browser"], row["device"]) == ("US", "Chrome", "desktop")
    assert row["link_id"] == UUID(bytes=CLICK.link_id)
    assert row["domain_name"] == "go.example.com"
    sources = {"referrer_host": "example.com", "utm_source": "news"}
    assert {name: row[name] for name in FIELDS if name in row} == sources
    assert {name: click[name] for name in FIELDS if name in click} == sources


async def test_an_event_waits_until_its_click_is_there(services: Services) -> None:
    rows = await applied(services, [EVENT], [make_click(ACCOUNT)])
    assert rows[0]["status"] == "pending"
    assert "click_at" not in rows[0]
    rows = await applied(services, [CLICK])
    assert rows[0]["status"] == "attributed"


async def test_several_events_of_one_click_are_all_settled(services: Services) -> None:
    events = [msgspec.structs.replace(EVENT, id=number) for number in range(1, 6)]
    rows = await applied(services, events[:2], [CLICK, *events[2:4]], events[4:])
    assert [row["status"] for row in rows] == ["attributed"] * 5


@pytest.mark.parametrize("batches", list(permutations(([CLICK], [OF_CONFIG], [FOREIGN]))))
async def test_an_event_takes_nothing_from_a_click_of_another_account(
    services: Services, batches: Sequence[Sequence[Record]]
) -> None:
    own, foreign = await applied(services, *batches)
    assert (own["status"], foreign["status"]) == ("attributed", "foreign_click")
    assert foreign["account_id"] == OTHER
    assert not {"click_at", *DIMENSIONS, *FIELDS} & foreign.keys()


async def test_an_event_that_names_no_click_is_left_alone(services: Services) -> None:
    rows = await applied(services, [make_conversion(1)], [CLICK])
    assert rows[0]["status"] == "no_click"


async def test_the_address_of_a_visitor_is_stored_nowhere(services: Services) -> None:
    await applied(services, [CLICK, EVENT])
    assert CLICK.address not in str(await scene.dump(services))


def everything() -> list[Record]:
    """Return a record of each kind, with transaction ids of every scope."""
    config = new_id().bytes
    of_click = {"transaction_id": "t", "transaction_scope": CLICK.id}
    waiting = new_id().bytes
    return [
        EVENT,
        CLICK,
        OF_CONFIG,
        FOREIGN,
        make_conversion(4),
        make_conversion(5, waiting),
        msgspec.structs.replace(EVENT, id=6, **of_click),
        msgspec.structs.replace(EVENT, id=7, **of_click),
        make_conversion(8, waiting, transaction_id="t", transaction_scope=waiting),
        make_conversion(9, transaction_id="t", transaction_scope=config),
        make_conversion(10, transaction_id="t", transaction_scope=config),
        make_conversion(11, CLICK.id, transaction_id="t", transaction_scope=ACCOUNT.bytes),
        make_click(ACCOUNT),
    ]


async def test_redelivery_of_everything_changes_nothing(services: Services) -> None:
    records = everything()
    await applied(services, records)
    before = await scene.dump(services)
    assert {row["status"] for row in before["events"]} == {
        *("attributed", "pending", "no_click", "foreign_click", "duplicate")
    }
    await applied(services, records, records[::-1], *([one] for one in records))
    assert await scene.dump(services) == before


async def test_the_same_records_one_by_one_store_the_same_clicks_and_count_the_same(
    services: Services,
) -> None:
    for one in everything():
        await applied(services, [one])
    statuses = [row["status"] for row in await scene.stored_events(services)]
    assert sorted(statuses) == sorted(
        ["attributed"] * 3
        + ["foreign_click", "pending", "pending", "no_click", "no_click"]
        + ["duplicate"]
    )


async def _die(click_ids: Collection[bytes]) -> None:
    raise AutoReconnect("killed")


async def test_a_death_between_storing_and_settling_heals(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await applied(services, [EVENT])
    dying = services.ingest.drain(DrainNumber(services.stores.redis, services.stores.mongodb))
    monkeypatch.setattr(dying, "_settle", _die)
    with pytest.raises(AutoReconnect):
        await dying.apply([CLICK])
    assert (await scene.stored_events(services))[0]["status"] == "pending"
    (row,) = await applied(services, [CLICK])
    assert row["status"] == "attributed"


async def test_processes_that_store_click_and_event_at_once_miss_nothing(
    services: Services,
) -> None:
    clicks = [make_click(ACCOUNT) for _ in range(100)]
    events = [make_conversion(number, click.id) for number, click in enumerate(clicks, 1)]
    async with scene.process(services.settings) as other:
        await asyncio.gather(
            *(scene.drain_of(services).apply(clicks[at : at + 10]) for at in range(0, 100, 10)),
            *(scene.drain_of(other).apply(events[at : at + 10]) for at in range(0, 100, 10)),
        )
    rows = await scene.stored_events(services)
    assert [row["status"] for row in rows] == ["attributed"] * 100


async def test_an_empty_batch_is_nothing(services: Services) -> None:
    assert await applied(services, []) == []


@pytest.mark.parametrize(
    ("account_id", "seconds"),
    [(ACCOUNT.bytes, 3600), (None, 60)],
    ids=["of an account", "of nobody"],
)
async def test_a_claim_ends_an_hour_after_its_event_is_stored_or_a_minute_without_an_account(
    services: Services, account_id: bytes | None, seconds: int
) -> None:
    scope = new_id()
    of_event: dict[str, Any] = {"transaction_id": "t", "transaction_scope": scope.bytes}
    event = make_conversion(1, CLICK.id, account_id=account_id, **of_event)
    for each in (scope, UUID(bytes=CLICK.id)):
        await services.stores.redis.set(transaction_claim(each, "t"), 1)
    await services.stores.redis.set(transaction_claim(scope, "u"), 1)
    await applied(services, [event])
    for each in (scope, UUID(bytes=CLICK.id)):
        assert (
            seconds - 30 < await services.stores.redis.ttl(transaction_claim(each, "t")) <= seconds
        )
    assert await services.stores.redis.ttl(transaction_claim(scope, "u")) == -1


async def test_nothing_of_a_batch_is_stored_if_redis_fails_during_its_enrichment(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole batch is tried again, and each visitor is first once."""
    first_clicks, calls = services.clicks.visitors.first_clicks, 0

    async def lost(clicks: Sequence[Click], calendars: Any) -> set[bytes]:
        nonlocal calls
        calls += 1
        found = await first_clicks(clicks, calendars)
        if calls == 2:
            raise RedisConnectionError("reset")
        return found

    monkeypatch.setattr(services.clicks.visitors, "first_clicks", lost)
    batch = [msgspec.structs.replace(CLICK, id=new_click_id().bytes) for _ in range(900)]
    drain = scene.drain_of(services)
    with pytest.raises(RedisConnectionError):
        await drain.apply(batch)
    assert await services.stores.mongodb["clicks"].count_documents({}) == 0
    await drain.apply(batch)
    assert await services.stores.mongodb["clicks"].count_documents({}) == 900
    assert await services.stores.mongodb["clicks"].count_documents({"unique": True}) == 1
