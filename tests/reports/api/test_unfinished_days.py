"""Days that are not over are compared with the same part of the others, in every part of an answer.

Each figure is that of a count of the clicks one by one.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tornado.platform.asyncio import AsyncIOLoop

from tests.factories import Document, create_link, make_click_document, make_event_document
from tests.reports.history import store
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.calendar import calendar_of
from tracker.service.services import Services
from tracker.stores.mongodb.retention import set_click_retention

NOW = datetime(2026, 10, 15, 4, 14, 37, 250_000, tzinfo=UTC)
FIRST = datetime(2026, 9, 1, tzinfo=UTC)
COUNTRIES = ("DE", "FR", "TR", "US", "DE", "DE", "FR")


async def visited(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch, zone: str = "UTC"
) -> list[Document]:
    """Store a click every 17 minutes up to NOW, with a conversion of every third; return clicks."""
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: NOW)
    where = {"_id": account.id}
    await services.stores.mongodb["accounts"].update_one(where, {"$set": {"time_zone": zone}})
    links = [await create_link(services, account.id, f"s{number}") for number in range(5)]
    clicks, events = [], []
    for number in range(int((NOW - FIRST) / timedelta(minutes=17)) + 1):
        click = make_click_document(
            account_id=account.id,
            link_id=links[number % 5].id,
            at=FIRST + number * timedelta(minutes=17),
            country=COUNTRIES[number % 7],
            unique=number % 2 == 0,
            referrer_host=f"{number % 3}.example",
        )
        clicks.append(click)
        if number % 3 == 0:
            own = {"_id": number + 1, "status": "attributed", "click_id": click["_id"]}
            events.append(make_event_document(number + 1, **(click | own)))
    await store(services, Random(0), clicks, events, {account.id.bytes: calendar_of(zone)})
    return clicks


def days(first: str, last: str) -> dict[str, str]:
    return {"from": first, "to": last}


async def ask(api: KeyedClient, account: Account, path: str, **fields: Any) -> Any:
    response = await api.post(path, accountId=str(account.id), **fields)
    assert response.status == 200, response.body
    return response.json()


def counted(
    clicks: Sequence[Document], first: str, until: datetime, zone: str = "UTC"
) -> list[Document]:
    """Return the clicks from a day on, before a moment."""
    start = date.fromisoformat(first)
    return [
        one
        for one in clicks
        if one["at"].astimezone(ZoneInfo(zone)).date() >= start and one["at"] < until
    ]


def by(clicks: Sequence[Document], name: Callable[[Document], Any] | str) -> dict[str, int]:
    """Return the number of clicks by a value."""
    found: dict[str, int] = {}
    for one in clicks:
        key = str(one[name] if isinstance(name, str) else name(one))
        found[key] = found.get(key, 0) + 1
    return found


UNTIL = datetime(2026, 10, 8, 4, 14, 37, 250_000, tzinfo=UTC)
WEEK = {"dateRange": days("2026-10-09", "2026-10-15"), "compare": "previous_period"}


async def test_every_part_of_an_overview_is_compared_up_to_the_same_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clicks = await visited(world.services, world.account, monkeypatch)
    before = counted(clicks, "2026-10-02", UNTIL)
    found = await ask(
        world.api,
        world.account,
        "/api/reports/overview",
        **WEEK,
        panels=[{"groupBy": one} for one in ("country", "link", "referrer", "hour_of_week")],
    )
    now = counted(clicks, "2026-10-09", NOW)
    assert found["totals"]["clicks"] == len(now)
    assert found["previous"]["clicks"] == len(before)
    assert found["previous"]["uniqueClicks"] == sum(one["unique"] for one in before)
    assert found["change"]["clicks"] == round(len(now) / len(before) - 1, 6)
    for name, field in (
        ("country", "country"),
        ("link", "link_id"),
        ("referrer", "referrer_host"),
        ("hour_of_week", lambda one: f"{one['at'].isoweekday()}T{one['at']:%H}"),
    ):
        rows = found["panels"][name]["rows"]
        expected = by(before, field)
        assert len(rows) >= 3
        assert {row["key"]: row["previous"]["clicks"] for row in rows} == {
            row["key"]: expected[row["key"]] for row in rows
        }
        assert rows[0]["change"]["clicks"] is not None
    # The series shows whole days; the day that is not over has a part of its own.
    assert [step["clicks"] for step in found["previousSeries"]] == list(
        by(
            counted(clicks, "2026-10-02", datetime(2026, 10, 9, tzinfo=UTC)),
            lambda one: one["at"].date(),
        ).values()
    )
    part = found["unfinished"].pop("previousStep")
    assert part["clicks"] == len(counted(clicks, "2026-10-08", UNTIL))
    assert found["unfinished"] == {
        "until": "2026-10-15T04:14:37.250Z",
        "step": "2026-10-15",
        "previousUntil": "2026-10-08T04:14:37.250Z",
    }


@pytest.mark.parametrize(
    ("interval", "step", "start"),
    [
        ("hour", "2026-10-15T04:00Z", datetime(2026, 10, 14, 4, tzinfo=UTC)),
        ("day", "2026-10-15", datetime(2026, 10, 14, tzinfo=UTC)),
    ],
)
async def test_today_is_compared_with_the_same_part_of_yesterday(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    interval: str,
    step: str,
    start: datetime,
) -> None:
    clicks = await visited(world.services, world.account, monkeypatch)
    found = await ask(
        world.api,
        world.account,
        "/api/reports/overview",
        dateRange=days("2026-10-15", "2026-10-15"),
        compare="previous_period",
        interval=interval,
    )
    until = NOW - timedelta(days=1)
    before = counted(clicks, "2026-10-14", until)
    assert found["previous"]["clicks"] == len(before)
    # Steps that have not begun show what the other day brought.
    assert sum(one["clicks"] for one in found["previousSeries"]) == 85
    part = [one for one in before if one["at"] >= start]
    assert found["unfinished"]["step"] == step
    assert found["unfinished"]["previousStep"]["clicks"] == len(part)
    assert found["unfinished"]["previousUntil"] == "2026-10-14T04:14:37.250Z"


async def test_rows_totals_and_files_of_a_report_are_compared_alike(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clicks = await visited(world.services, world.account, monkeypatch)
    filters = {"country": ["DE", "FR"]}
    before = [one for one in counted(clicks, "2026-10-02", UNTIL) if one["country"] in ("DE", "FR")]
    expected = by(before, "referrer_host")
    asked = {**WEEK, "groupBy": "referrer", "filters": filters}
    found = await ask(world.api, world.account, "/api/reports", **asked)
    assert found["totals"]["previous"]["clicks"] == len(before)
    assert {row["key"]: row["previous"]["clicks"] for row in found["rows"]} == expected
    assert found["unfinished"] == {
        "until": "2026-10-15T04:14:37.250Z",
        "previousUntil": "2026-10-08T04:14:37.250Z",
    }
    file = await world.api.post(
        "/api/reports", accountId=str(world.account.id), **asked, format="csv"
    )
    rows = list(csv.DictReader(io.StringIO(file.body.decode())))
    assert {row["key"]: int(row["previous.clicks"]) for row in rows} == expected
    for row in rows:
        points = float(row["conversionRate"]) - float(row["previous.conversionRate"])
        assert float(row["change.conversionRatePoints"]) == pytest.approx(points, abs=1e-9)


async def test_the_time_is_that_of_the_accounts_zone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clicks = await visited(world.services, world.account, monkeypatch, "Asia/Kolkata")
    found = await ask(
        world.api, world.account, "/api/reports/overview", **WEEK, panels=[{"groupBy": "country"}]
    )
    before = counted(clicks, "2026-10-02", UNTIL, "Asia/Kolkata")
    assert found["previous"]["clicks"] == len(before)
    assert {
        row["key"]: row["previous"]["clicks"] for row in found["panels"]["country"]["rows"]
    } == by(before, "country")
    assert found["unfinished"]["previousUntil"] == "2026-10-08T09:44:37.250+05:30"


async def test_days_that_are_over_are_compared_whole(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    clicks = await visited(world.services, world.account, monkeypatch)
    asked = {"dateRange": days("2026-10-08", "2026-10-14"), "compare": "previous_period"}
    found = await ask(world.api, world.account, "/api/reports/overview", **asked)
    before = counted(clicks, "2026-10-01", datetime(2026, 10, 8, tzinfo=UTC))
    assert found["previous"]["clicks"] == len(before)
    assert "unfinished" not in found
    alone = await ask(
        world.api,
        world.account,
        "/api/reports/overview",
        dateRange=days("2026-10-15", "2026-10-15"),
    )
    assert alone["unfinished"] == {
        "until": "2026-10-15T04:14:37.250Z",
        "step": "2026-10-15T04:00Z",
    }


@pytest.fixture
def clicks_expire_once(services: Services, io_loop: AsyncIOLoop) -> Iterator[None]:
    """Let the index that deletes clicks end with the test, since databases keep indexes."""
    yield
    io_loop.run_sync(lambda: set_click_retention(services.stores.mongodb.database, 0))


@pytest.mark.usefixtures("clicks_expire_once")
async def test_where_clicks_may_be_deleted_the_hour_is_not_divided(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of deleted clicks knows hours, so the answer says how far it has counted."""
    clicks = await visited(world.services, world.account, monkeypatch)
    monkeypatch.setattr("tracker.stores.mongodb.retention.now", lambda: NOW)
    await set_click_retention(world.services.stores.mongodb.database, 5)
    await world.services.stores.mongodb["clicks"].delete_many(
        {"at": {"$lt": NOW - timedelta(days=5)}}
    )
    found = await ask(world.api, world.account, "/api/reports/overview", **WEEK)
    hour = UNTIL.replace(minute=0, second=0, microsecond=0)
    assert found["unfinished"]["previousUntil"] == "2026-10-08T04:00:00.000Z"
    assert found["previous"]["clicks"] == len(counted(clicks, "2026-10-02", hour))


async def test_a_step_that_is_compared_with_another_part_has_no_figures_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weeks of a year before begin on other dates."""
    await visited(world.services, world.account, monkeypatch)
    found = await ask(
        world.api,
        world.account,
        "/api/reports/overview",
        dateRange=days("2026-10-12", "2026-10-15"),
        compare=days("2026-10-03", "2026-10-06"),
        interval="week",
    )
    assert found["unfinished"]["previousUntil"] == "2026-10-06T04:14:37.250Z"
    assert "previousStep" not in found["unfinished"]
