"""Reports of an account in another time zone: its days and hours, daylight saving included."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.factories import create_link, make_click_document
from tests.reports.history import store
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.calendar import calendar_of
from tracker.service.services import Services

BERLIN = ZoneInfo("Europe/Berlin")

# A click every 20 minutes, from the day before clocks change to the day after.
SPRING = [datetime(2026, 3, 27, 23, tzinfo=UTC) + n * timedelta(minutes=20) for n in range(213)]
AUTUMN = [datetime(2026, 10, 23, 22, tzinfo=UTC) + n * timedelta(minutes=20) for n in range(219)]


async def berlin(services: Services, account: Account) -> None:
    """Let the account count in Berlin's time, and store its clicks."""
    await services.stores.mongodb["accounts"].update_one(
        {"_id": account.id}, {"$set": {"time_zone": "Europe/Berlin"}}
    )
    link = await create_link(services, account.id)
    clicks = [
        make_click_document(account_id=account.id, link_id=link.id, at=at)
        for at in (*SPRING, *AUTUMN)
    ]
    calendars = {account.id.bytes: calendar_of("Europe/Berlin")}
    await store(services, Random(0), clicks, [], calendars)


async def ask(api: KeyedClient, account: Account, path: str, **fields: Any) -> Any:
    response = await api.post(path, accountId=str(account.id), **fields)
    assert response.status == 200, response.body
    answer = response.json()
    assert answer["timeZone"] == "Europe/Berlin"
    return answer


def hour(at: datetime) -> str:
    return at.replace(minute=0).isoformat(timespec="minutes")


def day(at: datetime) -> str:
    return at.date().isoformat()


def week(at: datetime) -> str:
    return (at.date() - timedelta(at.weekday())).isoformat()


@pytest.mark.parametrize(
    ("first", "last", "steps"),
    [("2026-03-29", "2026-03-29", 23), ("2026-10-25", "2026-10-25", 25)],
)
async def test_a_short_and_a_long_day_have_a_step_for_each_hour(
    world: World, first: str, last: str, steps: int
) -> None:
    await berlin(world.services, world.account)
    found = await ask(
        world.api,
        world.account,
        "/api/reports/overview",
        dateRange={"from": first, "to": last},
        bots="include",
    )
    local = [at.astimezone(BERLIN) for at in (*SPRING, *AUTUMN)]
    expected = Counter(hour(at) for at in local if day(at) == first)
    assert {step["key"]: step["clicks"] for step in found["series"]} == expected
    assert (found["interval"], len(expected)) == ("hour", steps)
    assert found["totals"]["clicks"] == steps * 3


@pytest.mark.parametrize(
    ("interval", "key"), [("day", day), ("week", week), ("month", lambda at: day(at)[:7])]
)
async def test_days_weeks_and_months_are_those_of_the_zone(
    world: World,
    interval: str,
    key: Callable[[datetime], str],
) -> None:
    await berlin(world.services, world.account)
    for moments in (SPRING, AUTUMN):
        local = [at.astimezone(BERLIN) for at in moments]
        range_ = {"from": day(local[0]), "to": day(local[-1])}
        expected = Counter(map(key, local))
        asked: dict[str, Any] = {"dateRange": range_, "interval": interval}
        panels = [{"groupBy": interval, "sort": "key"}]
        found = await ask(world.api, world.account, "/api/reports/overview", **asked, panels=panels)
        for rows in (found["series"], found["panels"][interval]["rows"]):
            assert {row["key"]: row["clicks"] for row in rows} == expected
        assert found["totals"]["clicks"] == len(moments)


async def test_a_long_day_is_compared_hour_by_hour_in_their_order(world: World) -> None:
    await berlin(world.services, world.account)
    found = await ask(
        world.api,
        world.account,
        "/api/reports",
        dateRange={"from": "2026-10-25", "to": "2026-10-25"},
        groupBy="hour",
        compare="previous_period",
        sort="key",
        interval="hour",
        columns=["clicks"],
    )
    assert (len(found["series"]), len(found["previousSeries"])) == (25, 24)
    before = [row["previous"]["clicks"] for row in found["rows"]]
    assert before == [3] * 24 + [0]


async def test_the_last_90_days_end_with_the_day_of_the_zone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await berlin(world.services, world.account)
    late = datetime(2026, 10, 25, 23, 30, tzinfo=UTC)
    monkeypatch.setattr("tracker.reports.api.schema.now", lambda: late)
    response = await world.api.get(
        f"/api/reports/values?accountId={world.account.id}&dimension=country"
    )
    assert response.json()["dateRange"] == {"from": "2026-07-29", "to": "2026-10-26"}


@pytest.mark.parametrize(
    ("first", "last", "zone", "is_named"),
    [
        ("2026-03-27", "2026-03-28", "UTC", False),
        ("2026-03-28", "2026-03-29", "Europe/Berlin", True),
        ("2026-03-30", "2026-03-30", "Europe/Berlin", False),
    ],
)
async def test_a_report_names_a_day_with_which_the_zone_has_changed(
    world: World, first: str, last: str, zone: str, is_named: bool
) -> None:
    changed = {
        "time_zone": "Europe/Berlin",
        "time_zones_before": [{"zone": "UTC", "until": "2026-03-29"}],
        "time_zone_of_counts": "UTC",
    }
    await world.services.stores.mongodb["accounts"].update_one(
        {"_id": world.account.id}, {"$set": changed}
    )
    days = {"accountId": str(world.account.id), "dateRange": {"from": first, "to": last}}
    # UTC has 24 hours, and clocks go forward by one in Berlin.
    day = {"day": "2026-03-29", "hours": 22, "previousTimeZone": "UTC"}
    for path, fields in (("/api/reports/overview", {}), ("/api/reports", {"groupBy": "day"})):
        found = (await world.api.post(path, **days, **fields)).json()
        assert found["timeZone"] == zone
        assert found.get("timeZoneChanges") == ([day] if is_named else None)
