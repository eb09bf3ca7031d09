"""Reports whose last day counts only up to a moment equal a count one by one, cached or not."""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from tests.factories import make_click_document
from tests.reports.answers.drawn import GROUPS, HOST, check, drawn
from tests.reports.counted import Counted
from tests.reports.history import FIRST, History, made, more, moved, store
from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.reports import limits
from tracker.reports.query import GroupBy, ReportQuery
from tracker.service.services import Services


def cut(random: Random, query: ReportQuery) -> ReportQuery:
    """Return a query with a random end on its last day, often that of an hour or of a day."""
    start = datetime.combine(query.last, datetime.min.time(), UTC)
    hour = random.choice([0, 9, 9, 10, 10, 23, random.randrange(24)])
    minutes = hour * 60 + random.choice([0, random.randrange(60)])
    return replace(query, until=start + timedelta(minutes=minutes, milliseconds=minutes % 2))


async def compare_all(
    services: Services, random: Random, history: History, group_by: GroupBy, times: int
) -> None:
    counted = Counted(history, HOST)
    for _ in range(times):
        await check(services, counted, cut(random, drawn(random, history, group_by)))


@pytest.mark.parametrize("group_by", GROUPS)
async def test_a_cut_report_equals_a_count_one_by_one(
    services: Services, group_by: GroupBy
) -> None:
    random = Random(f"cut {group_by}")
    history = await made(services, random)
    await compare_all(services, random, history, group_by, 20)


async def test_a_cut_report_of_one_link_has_no_clicks_of_others(services: Services) -> None:
    history = await made(services, Random(8))
    counted = Counted(history, HOST)
    until = datetime.combine(FIRST, time(9, 40), UTC)
    of_day: dict[str, Any] = {
        "account_id": history.account_id,
        "first": FIRST,
        "last": FIRST,
        "until": until,
    }
    for link_id in history.tags:
        query = ReportQuery(**of_day, group_by="os", filters={"link": [link_id]})
        await check(services, counted, query)


@pytest.mark.parametrize("large", [limits.LARGE_DAY, 2])
async def test_what_is_kept_of_an_hour_never_makes_a_report_wrong(
    services: Services, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(limits, "FEW_DOCUMENTS", 0)
    monkeypatch.setattr(limits, "LARGE_DAY", large)
    random = Random(large)
    history = await made(services, random)
    for _ in range(2):
        for _ in range(15):
            await compare_all(services, random, history, random.choice(GROUPS), 1)
        history = await more(services, random, history)
        history = await moved(services, random, history)
    periods = await services.stores.mongodb["joint_counts"].distinct("_id.period")
    assert any(period.endswith(" part") for period in periods)


async def test_a_day_that_is_not_over_can_be_cut_too(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(7)
    history = await made(services, random)
    now = datetime(2026, 1, 31, 10, 30, tzinfo=UTC)
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: now)
    await compare_all(services, random, history, "os", 20)
    await compare_all(services, random, history, "day", 20)


MIDNIGHT = datetime(2026, 2, 10, tzinfo=UTC)
NINE = MIDNIGHT + timedelta(hours=9)


async def with_clicks(services: Services, ats: Sequence[datetime]) -> UUID:
    account_id = new_id()
    clicks = [make_click_document(account_id=account_id, at=at, country="DE") for at in ats]
    await store(services, Random(0), clicks, [])
    return account_id


async def clicks_read(services: Services, account_id: UUID, until: datetime, **fields: Any) -> int:
    """Run a report of the ten days up to that moment; return how many clicks it has read."""
    first = until.date() - timedelta(days=9)
    query = ReportQuery(
        account_id=account_id, first=first, last=until.date(), until=until, **fields
    )
    async with profiled(services.stores.mongodb.database) as rows:
        await services.reports.reports.run(query)
    assert not any("COLLSCAN" in row["planSummary"] for row in rows)
    return sum(row["docsExamined"] for row in rows if row["ns"].endswith(".clicks"))


async def test_of_the_clicks_only_those_of_one_hour_are_read(services: Services) -> None:
    every = [NINE + timedelta(hours=n) for n in range(-216, 12)]
    account_id = await with_clicks(
        services, [*every, *(NINE + timedelta(minutes=n) for n in (1, 9))]
    )
    until = NINE + timedelta(minutes=9, milliseconds=1)
    for _ in range(2):
        assert await clicks_read(services, account_id, until, group_by="day") == 3
    # The hours of the last day by country are counted once, as any other combination.
    first = await clicks_read(services, account_id, until, group_by="country")
    assert first == 3 + 21 + 2
    assert await clicks_read(services, account_id, until, group_by="country") == 3
    on_the_hour = await clicks_read(services, account_id, NINE, group_by="country")
    assert on_the_hour == 0


async def test_a_large_hour_is_read_on_from_where_the_last_report_ended(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FEW_DOCUMENTS", 9)
    account_id = await with_clicks(services, [MIDNIGHT + timedelta(minutes=n) for n in range(60)])

    async def read(minutes: int, **fields: Any) -> int:
        until = MIDNIGHT + timedelta(minutes=minutes)
        return await clicks_read(services, account_id, until, group_by="day", **fields)

    assert await read(30) == 30
    assert await read(30) == 0
    # Any other report of the hour has what this one has counted.
    assert await read(32, filters={"referrer": ["direct"], "os": ["Windows"]}) == 2
    assert await read(45) == 15
    assert await read(46) == 1
    assert await read(20) == 20
    cached = await services.stores.mongodb["joint_counts"].find_one(
        {"_id.period": "2026-02-10T00 part"}
    )
    assert cached is not None
    assert cached["expires_at"] is not None
    # A click that lands late is counted.
    late = make_click_document(account_id=account_id, at=MIDNIGHT)
    await store(services, Random(0), [late], [])
    assert await read(46) == 47


async def test_few_clicks_are_read_without_a_place_for_counting(services: Services) -> None:
    account_id = await with_clicks(services, [NINE])
    services.reports.reports._counting = None  # type: ignore[assignment]
    assert await clicks_read(services, account_id, NINE + timedelta(minutes=1), group_by="day") == 1
