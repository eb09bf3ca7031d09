"""Rollups equal the sums of the documents; differences are found, and corrected in one step."""

import asyncio
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from bson import Decimal128

from tests.conversions import scene
from tests.factories import AT_MS, make_click, make_conversion
from tracker.calendar import calendar_of
from tracker.clock import day_of, moment
from tracker.ids import new_id
from tracker.reports.repair.day_count import DayCount, count_day
from tracker.reports.repair.recount import Recount, first_whole_day
from tracker.reports.rollups.layout import RollupId
from tracker.service.services import Services

ACCOUNT = new_id()
DAY = day_of(moment(AT_MS))
OF_ACCOUNT = {"_id.of": "account"}


async def counted(services: Services, day: str = DAY) -> DayCount:
    async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
        return await count_day(snapshot, ACCOUNT, day)


async def traffic(services: Services, clicks: int = 30) -> None:
    """Store clicks of two links, and conversions with and without a click."""
    links = [new_id().bytes for _ in range(2)]
    made = [make_click(ACCOUNT, link_id=links[number % 2]) for number in range(clicks)]
    bots = [msgspec.structs.replace(one, user_agent="curl/8") for one in made[:5]]
    events = [
        make_conversion(number, one.id, value="12.50", payout="1.25")
        for number, one in enumerate(made, 1)
    ]
    pbk: dict[str, Any] = {"account_id": ACCOUNT.bytes, "event_config_id": new_id().bytes}
    events += [make_conversion(clicks + number, value="0.1", **pbk) for number in range(1, 4)]
    events.append(make_conversion(clicks + 9, new_id().bytes, value="7", **pbk))
    await scene.applied(services, [*bots, *made[5:], *events])


async def test_the_rollups_of_the_drain_equal_the_documents(services: Services) -> None:
    await traffic(services)
    found = await counted(services)
    assert (found.clicks, found.events) == (30, 34)
    assert found.recounted == found.stored
    assert found.differences() == {}


async def test_a_day_or_an_account_without_anything_has_no_differences(services: Services) -> None:
    found = await counted(services, "2020-01-01")
    assert (found.clicks, found.events, found.differences()) == (0, 0, {})


@pytest.mark.parametrize(
    ("change", "path", "missing"),
    [
        ({"$inc": {"total.clicks": 3}}, "total.clicks", -3),
        ({"$inc": {"total.value": Decimal128("-0.5")}}, "total.value", 500_000_000),
        ({"$unset": {"device": ""}}, "device.desktop.clicks", 25),
        ({"$set": {"country.ZW": {"clicks": 2}}}, "country.ZW.clicks", -2),
    ],
)
async def test_a_wrong_sum_is_found_by_path_and_corrected(
    services: Services, change: dict[str, Any], path: str, missing: int
) -> None:
    await traffic(services)
    await services.stores.mongodb["rollups"].update_one(OF_ACCOUNT, change)
    [sums] = (await counted(services)).differences().values()
    assert sums[path] == missing
    recount = Recount(services.stores.mongodb)
    assert await recount.correct(ACCOUNT, DAY) == len(sums)
    assert (await counted(services)).differences() == {}
    assert await recount.correct(ACCOUNT, DAY) == 0


async def test_missing_rollups_are_restored_with_their_domains(services: Services) -> None:
    await traffic(services)
    before = await counted(services)
    await services.stores.mongodb["rollups"].delete_many({})
    recount = Recount(services.stores.mongodb)
    assert await recount.days(ACCOUNT, "", "9999") == [DAY]
    await recount.correct(ACCOUNT, DAY)
    after = await counted(services)
    assert after.stored == before.stored
    rows = services.stores.mongodb["rollups"].find({"_id.of": "link", "_id.link_id": {"$ne": None}})
    assert {row["domain_name"] async for row in rows} == {"go.example.com"}


async def test_rollups_without_clicks_are_emptied(services: Services) -> None:
    await traffic(services)
    await services.stores.mongodb["clicks"].delete_many({})
    await services.stores.mongodb["events"].delete_many({})
    recount = Recount(services.stores.mongodb)
    assert await recount.days(ACCOUNT, "", "9999") == [DAY]
    await recount.correct(ACCOUNT, DAY)
    stored = (await counted(services)).stored.values()
    assert not any(number for sums in stored for number in sums.values())


async def test_corrections_at_once_add_a_difference_once(services: Services) -> None:
    await traffic(services)
    await services.stores.mongodb["rollups"].delete_many({})
    recount = Recount(services.stores.mongodb)
    await asyncio.gather(*(recount.correct(ACCOUNT, DAY) for _ in range(4)))
    assert (await counted(services)).differences() == {}


async def test_corrections_beside_drains_neither_lose_nor_double(services: Services) -> None:
    await traffic(services)
    await services.stores.mongodb["rollups"].delete_many({})
    recount = Recount(services.stores.mongodb)
    link = new_id()

    async def drain(processes: Services) -> None:
        for _ in range(15):
            clicks = [make_click(ACCOUNT, link_id=link.bytes) for _ in range(5)]
            await scene.applied(processes, clicks)

    async def correct() -> None:
        for _ in range(8):
            await recount.correct(ACCOUNT, DAY)

    async with scene.process(services.settings) as other:
        await asyncio.gather(drain(services), drain(other), correct())
    found = await counted(services)
    assert found.clicks == 30 + 2 * 15 * 5
    assert found.differences() == {}


async def test_a_reader_never_sees_a_figure_between_the_wrong_and_the_right(
    services: Services,
) -> None:
    await traffic(services)
    await services.stores.mongodb["rollups"].update_one(OF_ACCOUNT, {"$inc": {"total.clicks": 100}})
    seen: set[int] = set()
    done = asyncio.Event()

    async def read() -> None:
        while not done.is_set():
            rows = services.stores.mongodb["rollups"].find(OF_ACCOUNT)
            seen.add(sum([row.get("total", {}).get("clicks", 0) async for row in rows]))

    reading = asyncio.create_task(read())
    await Recount(services.stores.mongodb).correct(ACCOUNT, DAY)
    done.set()
    await reading
    assert seen <= {125, 25}


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2026-01-31"),
        ("Europe/Berlin", "2026-02-01"),
        ("America/New_York", "2026-01-31"),
    ],
)
def test_the_first_whole_day_begins_no_earlier_than_the_first_in_utc(
    zone: str, expected: str
) -> None:
    assert first_whole_day(calendar_of(zone), "2026-01-31") == expected
    assert first_whole_day(calendar_of(zone), "") == ""


async def test_a_day_of_25_hours_is_counted(services: Services) -> None:
    berlin, day = calendar_of("Europe/Berlin"), "2026-10-25"
    start = berlin.start_of(date.fromisoformat(day))
    moments = [start + timedelta(hours=number, minutes=59) for number in range(-1, 26)]
    clicks = [make_click(ACCOUNT, at=int(at.timestamp() * 1000)) for at in moments]
    await scene.applied(services, clicks)
    recount = Recount(services.stores.mongodb)
    assert await recount.correct(ACCOUNT, day, berlin) > 0
    assert await recount.correct(ACCOUNT, day, berlin) == 0
    async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
        found = await count_day(snapshot, ACCOUNT, day, berlin)
    sums = found.stored[RollupId(ACCOUNT, "account Europe/Berlin", day, None)]
    hours = {f"hour.{number:02}.clicks": 1 for number in range(25)}
    of_hours = [path for path in sums if path.startswith("hour.") and path.endswith("clicks")]
    assert {path: sums[path] for path in of_hours} == hours


async def test_accounts_with_records_and_accounts_with_rollups_are_found(
    services: Services,
) -> None:
    empty = await services.accounts.accounts.create("Acme")
    await traffic(services)
    found = await Recount(services.stores.mongodb).accounts()
    assert set(found) == {empty.id, ACCOUNT}
    assert found == sorted(found, key=UUID.__str__)
