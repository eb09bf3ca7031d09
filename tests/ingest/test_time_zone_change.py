"""Reports are exact before, during and after a change of time zone, whatever drains have cached."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tests.ingest import ledger
from tracker.accounts import time_zones
from tracker.accounts.accounts import Account
from tracker.clicks.click import Click
from tracker.clock import moment
from tracker.ids import new_id
from tracker.ingest import calendars
from tracker.ingest.calendars import AccountCalendars
from tracker.ingest.drain import Drain
from tracker.reports.answers import reports
from tracker.reports.query import ReportQuery
from tracker.service.services import Services

pytestmark = pytest.mark.redis

BERLIN = "Europe/Berlin"
LINK = new_id().bytes

CHANGES = [
    # The zone before and after, the moment of the request in UTC, the first day after.
    ("UTC", BERLIN, "2026-10-23T12:00", "2026-10-24"),
    (BERLIN, "America/New_York", "2026-10-23T21:44", "2026-10-24"),
    (BERLIN, "America/New_York", "2026-10-23T21:46", "2026-10-25"),
    ("America/New_York", BERLIN, "2026-03-27T12:00", "2026-03-28"),
    ("America/Santiago", "Asia/Kathmandu", "2026-09-05T12:00", "2026-09-06"),
    ("Asia/Kathmandu", "America/Santiago", "2026-09-04T12:00", "2026-09-05"),
    ("Pacific/Kiritimati", "Etc/GMT+12", "2026-06-01T00:00", "2026-06-02"),
    ("Etc/GMT+12", "Pacific/Kiritimati", "2026-06-01T11:44", "2026-06-01"),
]


class Now:
    """The time of drains, of requests and of reports."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def set(self, at: datetime) -> None:
        for module in (calendars, reports, time_zones):
            self._monkeypatch.setattr(module, "now", lambda: at)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    return Now(monkeypatch)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


async def account_in(services: Services, zone: str) -> Account:
    account = await services.accounts.accounts.create("Acme")
    found = {"$set": {"time_zone": zone}} if zone != "UTC" else {"$unset": {"time_zone": ""}}
    await services.stores.mongodb["accounts"].update_one({"_id": account.id}, found)
    return account


def clicks_around(account: Account, at: datetime) -> list[Click]:
    """Return clicks of five days, half an hour apart."""
    times = [at + timedelta(minutes=30 * number + 1) for number in range(-96, 144)]
    of_account: dict[str, Any] = {"account_id": account.id, "link_id": LINK}
    return [make_click(**of_account, at=int(one.timestamp() * 1000)) for one in times]


async def store(drain: Drain, clicks: list[Click]) -> None:
    """Store clicks, each with a conversion that arrives first and waits for it."""
    numbers = [int.from_bytes(one.id[-7:]) for one in clicks]
    events = [make_conversion(n, one.id, at=one.at) for n, one in zip(numbers, clicks, strict=True)]
    events = [
        msgspec.structs.replace(event, account_id=click.account_id)
        for event, click in zip(events, clicks, strict=True)
    ]
    await drain.apply(events)
    await drain.apply(clicks)


def expected_days(clicks: list[Click], before: str, after: str, first: date) -> Counter[str]:
    """Return the clicks of each day, counted one by one."""
    days: Counter[str] = Counter()
    for click in clicks:
        day = moment(click.at).astimezone(ZoneInfo(before)).date()
        if day >= first:
            day = max(first, moment(click.at).astimezone(ZoneInfo(after)).date())
        days[day.isoformat()] += 1
    return days


async def reported_days(services: Services, account: Account, at: datetime) -> dict[str, int]:
    day = timedelta(days=1)
    query = ReportQuery(
        account_id=account.id,
        group_by="day",
        page_size=100,
        first=at.date() - 9 * day,
        last=at.date() + 9 * day,
    )
    rows = (await services.reports.reports.run(query)).rows
    assert all(row.measures.clicks == row.measures.conversions for row in rows)
    return {row.key: row.measures.clicks for row in rows}


@pytest.mark.parametrize(("before", "after", "asked", "first"), CHANGES)
async def test_each_click_counts_on_its_day_beside_drains_that_know_only_the_zone_before(
    services: Services, now: Now, before: str, after: str, asked: str, first: str
) -> None:
    """Some clicks are late; drains count them before the request, and days after it."""
    at, account = utc(asked), await account_in(services, before)
    clicks = clicks_around(account, at)
    past = [one for one in clicks if moment(one.at) < at]
    late, stored = past[::3], [one for one in past if one not in past[::3]]

    async def check() -> None:
        days = expected_days(stored, before, after, date.fromisoformat(first))
        assert await reported_days(services, account, at) == days
        await ledger.check(services)

    now.set(at)
    old = scene.drain_of(services)
    await store(old, stored)
    await services.accounts.time_zones.request(account.id, after)
    await check()
    coming = [*late, *clicks[len(past) :]]
    # One is of the first minutes in which a drain must have read the zone again.
    [change] = (await services.accounts.time_zones.find(account.id)).changes
    just_begun = make_click(account.id, link_id=LINK, at=int(change.start.timestamp() * 1000))
    Random(1).shuffle(coming)
    for number, some in enumerate(([just_begun], coming[:80], coming[80:])):
        # As early as it can be: a drain reads a click when it has happened.
        newest = moment(max(one.at for one in some))
        now.set(newest)
        await store(old if number != 1 else scene.drain_of(services), some)
        stored += some
        await check()


async def test_a_calendar_is_read_again_for_clicks_of_minutes_after_it_was_read(
    services: Services, now: Now
) -> None:
    account, at = await account_in(services, BERLIN), utc("2026-01-10T12:00")
    known = AccountCalendars(services.stores.mongodb)
    now.set(at)
    first = await known.get([account.id.bytes], at)
    assert first[account.id.bytes].changes == ()
    await services.accounts.time_zones.request(account.id, "UTC")
    just_before = at + time_zones.KNOWN_FOR - timedelta(milliseconds=1)
    assert await known.get([account.id.bytes], just_before) == first
    again = await known.get([account.id.bytes], at + time_zones.KNOWN_FOR)
    assert [one.zone for one in again[account.id.bytes].changes] == ["UTC"]


async def test_what_a_drain_knows_of_accounts_is_bounded_and_empty_in_utc(
    services: Services, monkeypatch: pytest.MonkeyPatch, now: Now
) -> None:
    monkeypatch.setattr(calendars, "_MAX_ACCOUNTS", 3)
    account, at = await account_in(services, BERLIN), utc("2026-01-10T12:00")
    now.set(at)
    known = AccountCalendars(services.stores.mongodb)
    for _ in range(9):
        assert list(await known.get([account.id.bytes, new_id().bytes], at)) == [account.id.bytes]
        assert len(known._cached) <= 5


@pytest.mark.parametrize("reads", [False, True])
async def test_the_zone_of_a_new_account_is_that_of_all_its_days_unless_a_drain_counts_already(
    services: Services, now: Now, reads: bool
) -> None:
    """The drain has the calendar in memory when the zone is chosen, or reads it afterwards."""
    at, account = utc("2026-10-23T12:00"), await account_in(services, "UTC")
    now.set(at)
    drain = scene.drain_of(services)
    if reads:
        await drain._writer.calendars.get([account.id.bytes], at)
    calendar = await services.accounts.time_zones.begin(account.id, BERLIN)
    first = date(2026, 10, 24) if reads else date.min
    assert calendar.zone_at(at) == ("UTC" if reads else BERLIN)
    clicks = clicks_around(account, at)
    await store(drain, clicks)
    days = expected_days(clicks, "UTC", BERLIN, first)
    assert await reported_days(services, account, at) == days
    await ledger.check(services)
