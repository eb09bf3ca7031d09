"""An account counts in another zone: exactly, beside drains, and wherever a drain is killed."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tests.ingest import ledger
from tests.waiting import becomes
from tracker.accounts.accounts import Account
from tracker.accounts.time_zones import AccountZone
from tracker.calendar import calendar_of
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.ids import new_id
from tracker.ingest import joint_counting, time_zone_change
from tracker.ingest.joint_counting import JointCounting
from tracker.ingest.time_zone_change import TimeZoneChanger
from tracker.reports.joint_counts.due_accounts import DueAccounts
from tracker.reports.joint_counts.scope import moment_of
from tracker.reports.query import ReportQuery
from tracker.service.services import Services
from tracker.stores.mongodb.reads import MongoReads

pytestmark = pytest.mark.redis

BERLIN = "Europe/Berlin"
AUTUMN = datetime(2026, 10, 24, 12, tzinfo=UTC)
"""The day after it has 25 hours in Berlin."""
SPRING = datetime(2026, 3, 28, 12, tzinfo=UTC)
"""The day after it has 23 hours in Berlin."""
FIRST, LAST = date(2026, 3, 20), date(2026, 11, 1)


def milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


class Traffic:
    """Clicks and conversions of one account around the days on which clocks change."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._random = Random(5)
        self._links = [new_id().bytes for _ in range(3)]
        self._number = 0

    def clicks(self, number: int, days: int = 3) -> list[Click]:
        return [self._click(days) for _ in range(number)]

    def _click(self, days: int) -> Click:
        minutes = self._random.randrange(days * 24 * 60)
        at = self._random.choice((AUTUMN, SPRING)) + timedelta(minutes=minutes)
        return make_click(
            self.account.id,
            at=milliseconds(at),
            link_id=self._random.choice(self._links),
            address=f"198.51.100.{self._random.randrange(50)}",
        )

    def events_of(self, clicks: Sequence[Click]) -> list[Conversion]:
        found = []
        for one in clicks:
            self._number += 1
            at = one.at + self._random.randrange(12) * 3_600_000
            made = make_conversion(self._number, one.id, value="1.5", payout="0.25", at=at)
            found.append(msgspec.structs.replace(made, account_id=self.account.id.bytes))
        return found


async def zone_of(services: Services, account: Account) -> AccountZone:
    return await services.accounts.time_zones.find(account.id)


async def carry_out(services: Services, changer: TimeZoneChanger | None = None) -> int:
    """Do every step there is; return their number."""
    changer, steps = changer or services.ingest.time_zone_changer(), 0
    while await changer.step():
        steps += 1
    return steps


async def zones_in_rollups(services: Services) -> set[str]:
    found = await services.stores.mongodb["rollups"].distinct("_id.of")
    return {one.partition(" ")[2] or "UTC" for one in found}


async def expected(
    services: Services, zone: str, snapshot: MongoReads | None = None
) -> dict[str, dict[str, int]]:
    """Return the clicks of each hour of each day, counted one by one."""
    calendar = calendar_of(zone)
    found: dict[str, dict[str, int]] = {}
    for click in await (snapshot or services.stores.mongodb.reads).find("clicks", {}):
        day, hour = calendar.day_and_hour(click["at"])
        hours = found.setdefault(day.isoformat(), {})
        hours[f"{hour:02}"] = hours.get(f"{hour:02}", 0) + 1
    return found


async def counted(services: Services, zone: str) -> dict[str, dict[str, int]]:
    """Return the clicks of each hour of each day in the rollups of a zone."""
    found: dict[str, dict[str, int]] = {}
    of = "account" if zone == "UTC" else f"account {zone}"
    async for row in services.stores.mongodb["rollups"].find({"_id.of": of}):
        for hour, cell in row.get("hour", {}).items():
            if cell.get("clicks"):
                hours = found.setdefault(row["_id"]["day"], {})
                hours[hour] = hours.get(hour, 0) + cell["clicks"]
    return found


async def check_report(services: Services, account: Account) -> str:
    """Check a report by hour against the clicks at one moment; return its zone."""
    query = ReportQuery(
        account_id=account.id, group_by="hour", page_size=1000, first=FIRST, last=LAST
    )
    async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
        moment = await moment_of(snapshot, account.id)
        zone = moment.calendar.zone
        report = await services.reports.reports.run(query, moment)
        hours = await expected(services, zone, snapshot)
    named = {
        calendar_of(zone).hour_text(date.fromisoformat(day), int(hour)): number
        for day, of_day in hours.items()
        for hour, number in of_day.items()
    }
    assert {row.key: row.measures.clicks for row in report.rows if row.measures.clicks} == named
    return zone


async def test_all_is_counted_in_the_new_zone_before_the_account_has_it(
    services: Services,
) -> None:
    account = await services.accounts.accounts.create("Acme")
    traffic = Traffic(account)
    last_hour = make_click(account.id, at=milliseconds(datetime(2026, 10, 25, 22, 59, tzinfo=UTC)))
    clicks = [last_hour, *traffic.clicks(200)]
    await scene.applied(services, [*clicks, *traffic.events_of(clicks[:50])])
    before = await counted(services, "UTC")
    assert before == await expected(services, "UTC")
    assert (await services.accounts.time_zones.request(account.id, BERLIN))[0] == "UTC"
    changer = services.ingest.time_zone_changer()
    done: list[int] = []
    while (found := await zone_of(services, account)).zone == "UTC":
        assert await counted(services, "UTC") == before
        if found.change is not None and found.change.days is not None:
            done.append(found.change.days_done)
            assert found.change.days == 8
        assert await changer.step()
    assert done == list(range(9))
    assert await counted(services, BERLIN) == await expected(services, BERLIN)
    await carry_out(services, changer)
    assert await zone_of(services, account) == AccountZone(zone=BERLIN)
    assert await zones_in_rollups(services) == {BERLIN}
    await ledger.check(services)
    days = await expected(services, BERLIN)
    assert "24" in days["2026-10-25"]
    assert "23" not in days["2026-03-29"]


async def test_drains_count_on_while_days_are_counted_again(services: Services) -> None:
    """Late clicks, new ones and conversions that wait for their clicks are among them.

    Reports are exact at every moment.
    """
    account = await services.accounts.accounts.create("Acme")
    traffic = Traffic(account)
    late = traffic.clicks(40)
    await scene.applied(services, [*traffic.clicks(100), *traffic.events_of(late)])
    await services.accounts.time_zones.request(account.id, BERLIN)
    done = asyncio.Event()

    async def drain(own: Services, waiting: list[Click]) -> None:
        drain = scene.drain_of(own)
        while not done.is_set() or waiting:
            batch = [waiting.pop() for _ in range(min(2, len(waiting)))]
            await drain.apply([*batch, *traffic.clicks(3, days=5)])

    async with scene.process(services.settings) as other:
        drains = [
            asyncio.create_task(drain(one, waiting))
            for one, waiting in ((services, late[:20]), (other, late[20:]))
        ]
        changers = [services.ingest.time_zone_changer(), other.ingest.time_zone_changer()]
        zones = []
        while (await zone_of(services, account)) != AccountZone(zone=BERLIN):
            zones.append(await check_report(services, account))
            await asyncio.gather(*(one.step() for one in changers))
        zones.append(await check_report(services, account))
        assert zones == sorted(zones, reverse=True)
        assert set(zones) == {"UTC", BERLIN}
        done.set()
        await asyncio.gather(*drains)
    await ledger.check(services)
    assert await counted(services, BERLIN) == await expected(services, BERLIN)
    assert await zones_in_rollups(services) == {BERLIN}
    assert await services.stores.mongodb["events"].count_documents({"status": "attributed"}) == 40


class Killed(Exception):
    """The end of a drain that is killed."""


@pytest.mark.parametrize("at", range(0, 30, 3))
async def test_a_change_goes_on_where_a_drain_was_killed(
    services: Services, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    account = await services.accounts.accounts.create("Acme")
    traffic = Traffic(account)
    clicks = traffic.clicks(30, days=1)
    await scene.applied(services, [*clicks, *traffic.events_of(clicks[:9])])
    await services.accounts.time_zones.request(account.id, BERLIN)
    changer, left = services.ingest.time_zone_changer(), at

    class Dying:
        def __init__(self, database: Any) -> None:
            self._database = database
            self.client = database.client
            self.codec_options = database.codec_options

        async def command(self, *arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return await self._database.command(*arguments, **options)

        def __getitem__(self, name: str) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return self._database[name]

    dying, dying_reads = (
        Dying(services.stores.mongodb.database),
        Dying(services.stores.mongodb.reads._database),
    )
    changer._database = changer._recount._database = dying  # type: ignore[assignment]
    changer._recount._reader = MongoReads(dying_reads)  # type: ignore[arg-type]
    try:
        await carry_out(services, changer)
    except Killed:
        await scene.applied(services, traffic.clicks(5))
    await services.stores.redis.delete("time_zones")
    await carry_out(services)
    assert await zone_of(services, account) == AccountZone(zone=BERLIN)
    await ledger.check(services)


async def test_a_drain_that_knew_the_old_calendars_counts_its_batch_again(
    services: Services,
) -> None:
    """It had begun its batch before the change, and ends it after the days are counted."""
    account = await services.accounts.accounts.create("Acme")
    traffic = Traffic(account)
    drain = scene.drain_of(services)
    await drain.apply(traffic.clicks(10))
    known = await drain._writer.cached_calendars({account.id.bytes})
    assert known.calendars == {}
    await services.accounts.time_zones.request(account.id, BERLIN)
    changer = services.ingest.time_zone_changer()
    while (await zone_of(services, account)).zone == "UTC":
        await changer.step()
    await drain.apply(traffic.clicks(10))
    await carry_out(services, changer)
    await ledger.check(services)
    assert await zones_in_rollups(services) == {BERLIN}


async def test_another_request_abandons_the_change_in_progress(services: Services) -> None:
    account = await services.accounts.accounts.create("Acme")
    await scene.applied(services, Traffic(account).clicks(50))
    changer = services.ingest.time_zone_changer()
    await services.accounts.time_zones.request(account.id, BERLIN)
    for _ in range(4):
        await changer.step()
    assert await zones_in_rollups(services) == {"UTC", BERLIN}
    before, found = await services.accounts.time_zones.request(account.id, "Asia/Tokyo")
    assert (before, found.zone, found.obsolete) == (BERLIN, "UTC", (BERLIN,))
    await carry_out(services, changer)
    assert await zone_of(services, account) == AccountZone(zone="Asia/Tokyo")
    assert await zones_in_rollups(services) == {"Asia/Tokyo"}
    await ledger.check(services)
    await services.accounts.time_zones.request(account.id, BERLIN)
    for _ in range(4):
        await changer.step()
    await services.accounts.time_zones.request(account.id, "Asia/Tokyo")
    await carry_out(services, changer)
    assert await zones_in_rollups(services) == {"Asia/Tokyo"}
    await ledger.check(services)


async def test_a_step_of_an_abandoned_change_changes_nothing(services: Services) -> None:
    account = await services.accounts.accounts.create("Acme")
    await scene.applied(services, Traffic(account).clicks(50))
    slow = services.ingest.time_zone_changer()
    await services.accounts.time_zones.request(account.id, BERLIN)
    for _ in range(3):
        await slow.step()
    found = await zone_of(services, account)
    assert found.change is not None
    assert found.next_calendar is not None
    await services.accounts.time_zones.request(account.id, "UTC")
    with pytest.raises(time_zone_change._Abandoned):
        await slow._count(account.id, found, found.change, found.next_calendar)
    await carry_out(services, slow)
    assert await zone_of(services, account) == AccountZone()
    assert await zones_in_rollups(services) == {"UTC"}


async def test_days_whose_clicks_are_deleted_keep_their_figures(services: Services) -> None:
    """Clicks are deleted before the second day; nothing counts twice, nor is anything lost."""
    account = await services.accounts.accounts.create("Acme")
    traffic = Traffic(account)
    clicks = traffic.clicks(300, days=6)
    await scene.applied(services, [*clicks, *traffic.events_of(clicks[:30])])
    await services.stores.mongodb["counters"].insert_one(
        {"_id": "click_retention", "first_kept": "2026-10-25"}
    )
    in_utc = await counted(services, "UTC")
    deleted = {"at": {"$lt": datetime(2026, 10, 25, tzinfo=UTC)}}
    await services.stores.mongodb["clicks"].delete_many(deleted)
    totals = await ledger.totals(services)
    changer = services.ingest.time_zone_changer()
    for zone in ("America/Los_Angeles", "Pacific/Kiritimati", "UTC"):
        await services.accounts.time_zones.request(account.id, zone)
        await carry_out(services, changer)
        found = await zone_of(services, account)
        assert found.zone == zone
        assert {one.until for one in found.earlier} == {"2026-10-26"}
        assert await zones_in_rollups(services) == {zone}
        assert await ledger.totals(services) == totals
        in_zone = await counted(services, zone)
        for day in in_utc:
            if day < "2026-10-26":
                assert in_zone[day] == in_utc[day]
        late = traffic.clicks(20, days=6)
        await scene.applied(services, late)
        for _ in late:
            totals["clicks"] += 1
        totals["unique"] = (await ledger.totals(services))["unique"]
        assert await ledger.totals(services) == totals
        in_utc = await counted(services, zone)


async def test_reports_of_several_dimensions_outlive_clicks_and_a_change(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was counted ahead of a day is copied with the day."""
    monkeypatch.setattr(joint_counting, "now", lambda: AUTUMN + timedelta(days=9))
    account = await services.accounts.accounts.create("Acme")
    traffic = Traffic(account)
    clicks = traffic.clicks(100, days=6)
    await scene.applied(services, [*clicks, *traffic.events_of(clicks[:30])])
    await DueAccounts(services.stores.mongodb.database).add([account.id], AUTUMN)
    await JointCounting(services.stores.mongodb, services.stores.redis).count_days()
    await services.stores.mongodb["counters"].insert_one(
        {"_id": "click_retention", "first_kept": "2026-10-25"}
    )
    deleted = {"at": {"$lt": datetime(2026, 10, 25, tzinfo=UTC)}}
    assert (await services.stores.mongodb["clicks"].delete_many(deleted)).deleted_count > 5
    query = ReportQuery(
        account_id=account.id,
        first=AUTUMN.date(),
        last=LAST,
        group_by="browser",
        filters={"os": ["Windows"], "device": ["desktop"]},
    )
    before = await services.reports.reports.run(query)
    assert [row.key for row in before.rows] == ["Chrome"]
    await services.accounts.time_zones.request(account.id, BERLIN)
    await carry_out(services)
    assert await services.stores.mongodb["joint_counts"].distinct("_id.zone") == [BERLIN]
    assert await services.reports.reports.run(query) == before


async def test_counts_kept_after_their_zone_was_removed_are_not_those_of_its_return(
    services: Services,
) -> None:
    """A report may keep what it has counted when its zone is removed already."""
    account = await services.accounts.accounts.create("Acme")
    traffic = Traffic(account)
    clicks = traffic.clicks(10)
    await scene.applied(services, traffic.events_of(clicks))
    query = ReportQuery(
        account_id=account.id,
        first=FIRST,
        last=LAST,
        group_by="browser",
        filters={"os": ["Windows", "unknown"]},
    )
    kept: list[dict[str, Any]] = []
    changer = services.ingest.time_zone_changer()
    for zone in (BERLIN, "UTC", BERLIN):
        await services.accounts.time_zones.request(account.id, zone)
        await carry_out(services, changer)
        if not kept:
            assert [row.key for row in (await services.reports.reports.run(query)).rows] == [
                "unknown"
            ]
            kept = await services.stores.mongodb["joint_counts"].find().to_list(None)
        elif zone == "UTC":
            await services.stores.mongodb["joint_counts"].insert_many(kept)
            await scene.applied(services, clicks)
    [row] = (await services.reports.reports.run(query)).rows
    assert (row.key, row.measures.conversions) == ("Chrome", 10)


async def test_clicks_that_are_deleted_before_they_were_counted_are_copied(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = await services.accounts.accounts.create("Acme")
    traffic = Traffic(account)
    await scene.applied(services, traffic.clicks(100, days=6))
    totals = await ledger.totals(services)
    changer = services.ingest.time_zone_changer()
    await services.accounts.time_zones.request(account.id, BERLIN)
    for _ in range(3):
        await changer.step()
    deleted = {"at": {"$lt": datetime(2026, 10, 25, tzinfo=UTC)}}
    await services.stores.mongodb["clicks"].delete_many(deleted)
    await services.stores.mongodb["counters"].insert_one(
        {"_id": "click_retention", "first_kept": "2026-10-25"}
    )
    await carry_out(services, changer)
    found = await zone_of(services, account)
    assert (found.zone, found.earlier[0].until) == (BERLIN, "2026-10-26")
    assert await ledger.totals(services) == totals


async def test_one_drain_at_a_time_changes_zones(services: Services) -> None:
    account = await services.accounts.accounts.create("Acme")
    await services.accounts.time_zones.request(account.id, BERLIN)
    one, other = services.ingest.time_zone_changer(), services.ingest.time_zone_changer()
    assert await one.step()
    assert not await other.step()
    stop = asyncio.Event()
    stop.set()
    await one.run(stop)
    assert await other.step()


async def test_the_loop_changes_zones_until_it_is_stopped(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_zone_change, "MAX_PAUSE_SECONDS", 0.02)
    account = await services.accounts.accounts.create("Acme")
    stop = asyncio.Event()
    running = asyncio.create_task(services.ingest.time_zone_changer().run(stop))
    await services.accounts.time_zones.request(account.id, BERLIN)
    await becomes(lambda: zone_of(services, account), AccountZone(zone=BERLIN))
    stop.set()
    await running
    assert not await services.stores.redis.exists("time_zones")
