"""Reports stay exact whatever lands after their counts were cached: late clicks, events that move,
corrections, and clicks that retention deletes.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import pytest

from tests.factories import make_click_document
from tests.reports.answers.drawn import GROUPS, HOST, check, drawn
from tests.reports.counted import Counted
from tests.reports.history import DAYS, FIRST, History, made, more, moved, store
from tests.stores.mongodb.profiler import profiled
from tracker.calendar import calendar_of
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.reports import columns, limits
from tracker.reports.answers.one_report import read_page
from tracker.reports.joint_counts import columns_document, documents
from tracker.reports.joint_counts.documents import DocumentScans
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.joint_counts.store import JointCountStore, JointId, NewTable
from tracker.reports.periods import day_period
from tracker.reports.query import ReportQuery
from tracker.reports.repair.joint_check import JointCheck
from tracker.reports.repair.recount import Recount
from tracker.service.services import Services

CROSSED: dict[str, Any] = {"country": ["DE", "FR"], "device": ["mobile", "tv"]}
LAST = FIRST + timedelta(DAYS - 1)


def query_of(
    history: History,
    group_by: Any,
    filters: dict[str, Any] | None = None,
    first: date = FIRST,
    last: date = LAST,
) -> ReportQuery:
    return ReportQuery(
        account_id=history.account_id,
        group_by=group_by,
        filters=filters or {},
        first=first,
        last=last,
    )


def crossed(history: History, group_by: Any = "os") -> ReportQuery:
    return query_of(history, group_by, CROSSED)


async def cached(services: Services) -> int:
    return await services.stores.mongodb["joint_counts"].count_documents({})


async def check_drawn(services: Services, random: Random, rounds: int) -> None:
    """Check drawn reports of a history, to which more is added between the rounds."""
    history = await made(services, random)
    for _ in range(rounds):
        counted = Counted(history, HOST)
        for _ in range(25):
            await check(services, counted, drawn(random, history, random.choice(GROUPS)))
        history = await more(services, random, history)
        history = await moved(services, random, history)


@pytest.mark.parametrize("seed", range(4))
async def test_cached_counts_never_make_a_report_wrong(services: Services, seed: int) -> None:
    await check_drawn(services, Random(seed), 4)


async def test_a_large_day_is_counted_hour_by_hour(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LARGE_DAY", 2)
    await check_drawn(services, Random(10), 2)
    hours = {"_id.period": {"$regex": "T"}}
    assert await services.stores.mongodb["joint_counts"].find_one(hours)


async def test_a_large_day_whose_hours_do_not_have_all_of_it_is_counted_whole(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LARGE_DAY", 2)
    history = await made(services, Random(12))
    await services.stores.mongodb["rollups"].update_many({}, {"$unset": {"hour": 1}})
    await check(services, Counted(history, HOST), crossed(history))


async def test_the_progress_of_a_report_grows_to_one_whether_its_counts_are_cached_or_not(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await made(services, Random(13), restated=False)
    for _ in range(2):
        told = [0.0]
        async with services.reports.reports.begin(history.account_id) as run:
            monkeypatch.setattr(run.progress, "set_fraction", told.append)
            await read_page(run, "report", crossed(history))
        assert told == sorted(told)
        assert told[-1] == 1


async def test_a_report_of_too_many_values_is_refused_first_look_or_later(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await made(services, Random(11))
    query = query_of(history, "parameter_0")
    rule = r"^report: these days have more than 2 values of parameter:sub1; ask for fewer days$"
    with monkeypatch.context() as patch:
        patch.setattr(limits, "MAX_ROWS", 2)
        with pytest.raises(BadRequest, match=rule):
            await services.reports.reports.run(query)
    await services.reports.reports.run(query)
    monkeypatch.setattr(limits, "MAX_ROWS", 2)
    with pytest.raises(BadRequest, match=rule):
        await services.reports.reports.run(query)


@pytest.mark.parametrize("hour", [0, 10])
async def test_a_day_that_is_not_over_is_counted_by_its_hours(
    services: Services, monkeypatch: pytest.MonkeyPatch, hour: int
) -> None:
    now = datetime(FIRST.year, FIRST.month, FIRST.day, hour, 30, tzinfo=UTC) + timedelta(1)
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: now)
    await check_drawn(services, Random(hour), 2)


@pytest.mark.parametrize("listed", [1, 3])
async def test_clicks_of_links_that_are_not_listed_are_counted_by_their_ids(
    services: Services, monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    monkeypatch.setattr(documents, "LISTED_LINKS", listed)
    random = Random(listed)
    history = await made(services, random)
    counted = Counted(history, HOST)
    for group_by in ("link", "tag", "os"):
        await check(services, counted, query_of(history, group_by, CROSSED))


async def test_a_thorough_report_counts_days_for_all_others_of_them(services: Services) -> None:
    history = await made(services, Random(8))
    counted = Counted(history, HOST)
    async with services.reports.reports.begin(history.account_id) as run:
        run.is_thorough = True
        await read_page(run, "report", crossed(history))
    for collection in ("clicks", "events"):
        await services.stores.mongodb[collection].delete_many({})
    for group_by in ("os", "link", "hour", "referrer", "event", "utm_campaign"):
        await check(services, counted, query_of(history, group_by, CROSSED))


async def test_counts_that_take_the_place_of_more_leave_nothing_of_them(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_document, "ROWS_PER_DOCUMENT", 1)
    joint = JointCountStore(services.stores.mongodb.database)
    one = JointId(new_id(), "UTC", None, "clicks", "*", "2026-01-31")
    other = one._replace(period="2026-02-01")
    for rows in (3, 2):
        values = [f"{number}" for number in range(rows)]
        table = columns.of_columns({"os": values}, {"clicks": [1] * rows})
        for stored in (one, other):
            await joint.store({stored: NewTable([rows], table)})
    assert await cached(services) == 2 * 2
    await joint.remove([one])
    assert await cached(services) == 2


async def test_a_day_that_a_zone_skips_has_no_documents(services: Services) -> None:
    calendar = calendar_of("Pacific/Apia")
    period = day_period(calendar, date(2011, 12, 30))
    assert period.start == period.end
    async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
        scope, database = ReportScope(new_id(), calendar), services.stores.mongodb.database
        run = ReportRun(database, snapshot, scope, datetime.now(UTC), _at_once)
        counts = DocumentScans(run, scope)
        assert (await counts.count("clicks", ["os"], period, 5)).rows == 0


async def _at_once() -> None:
    pass


async def test_clicks_that_were_deleted_before_they_were_counted_are_unknown(
    services: Services,
) -> None:
    history = await made(services, Random(2))
    by_day = await services.reports.reports.run(query_of(history, "day"))
    await services.stores.mongodb["clicks"].delete_many({"account_id": history.account_id})
    report = await services.reports.reports.run(query_of(history, "referrer"))
    assert report.totals == by_day.totals
    clicks = {row.key: row.measures.clicks for row in report.rows}
    assert clicks["unknown"] == by_day.totals.clicks


async def test_a_part_of_another_version_is_not_read(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_document, "ROWS_PER_DOCUMENT", 3)
    history = await made(services, Random(5))
    before = await services.reports.reports.run(crossed(history, "link"))
    assert await services.stores.mongodb["joint_counts"].find_one({"parts": {"$gt": 2}})
    assert await services.reports.reports.run(crossed(history, "link")) == before
    torn = {"_id.part": 1}
    await services.stores.mongodb["joint_counts"].update_many(torn, {"$set": {"version": None}})
    assert await services.reports.reports.run(crossed(history, "link")) == before


async def test_counts_by_some_dimensions_expire(services: Services) -> None:
    history = await made(services, Random(6))
    await services.reports.reports.run(crossed(history))
    rows = await services.stores.mongodb["joint_counts"].find({}).to_list(None)
    assert rows
    soon = datetime.now(UTC) + timedelta(days=30)
    assert all(row["expires_at"] > soon for row in rows)


async def test_a_month_is_made_of_all_that_its_days_have_whatever_a_report_filters_by(
    services: Services,
) -> None:
    history = await made(services, Random(9))
    counted = Counted(history, HOST)
    year = date(2025, 1, 1), date(2026, 12, 31)
    await check(services, counted, query_of(history, "day", CROSSED, *year))
    for country in ("DE", "FR", "US"):
        filters: dict[str, Any] = {"country": [country]}
        await check(services, counted, query_of(history, "device", filters, *year))


async def test_a_whole_month_is_cached_as_one(services: Services) -> None:
    history = await made(services, Random(7))
    year = date(2025, 1, 1), date(2026, 12, 31)
    for group_by in ("os", "link", "month"):
        query = query_of(history, group_by, CROSSED, *year)
        report = await services.reports.reports.run(query)
        assert report.totals == Counted(history, HOST).totals(query)
    months = await services.stores.mongodb["joint_counts"].distinct("_id.period")
    assert {"2026-01", "2026-02"} <= set(months)
    late = await more(services, Random(8), history)
    query = query_of(history, "month", CROSSED, *year)
    assert (await services.reports.reports.run(query)).totals == Counted(late, HOST).totals(query)


async def count_now(
    services: Services, monkeypatch: pytest.MonkeyPatch, history: History, at: datetime
) -> int:
    """Run a crossed report of the day at that moment; return how many clicks it has read."""
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: at)
    query = query_of(history, "os", CROSSED, last=at.date(), first=at.date())
    async with profiled(services.stores.mongodb.database) as rows:
        report = await services.reports.reports.run(query)
    assert report.totals == Counted(history, HOST).totals(query)
    return sum(row["docsExamined"] for row in rows if row["ns"].endswith(".clicks"))


async def landed(services: Services, history: History, ats: Sequence[datetime]) -> History:
    """Store clicks of the account that were made at these moments."""
    some = next(one for one in history.clicks if one["account_id"] == history.account_id)
    clicks = [
        make_click_document(**(some | {"_id": new_id(), "at": at, "device": "tv", "bot": None}))
        for at in ats
    ]
    await store(services, Random(0), clicks, [])
    return history._replace(clicks=history.clicks + clicks)


async def test_an_hour_that_is_not_over_is_read_on_from_where_the_last_report_ended(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await made(services, Random(11), clicks=1, events=0)
    hour = datetime(2026, 2, 10, 9, tzinfo=UTC)
    minute = timedelta(minutes=1)
    history = await landed(services, history, [hour + number * minute for number in range(10)])
    assert await count_now(services, monkeypatch, history, hour + 10 * minute) == 10
    assert await count_now(services, monkeypatch, history, hour + 10 * minute) == 0
    history = await landed(services, history, [hour + 11 * minute])
    assert await count_now(services, monkeypatch, history, hour + 12 * minute) == 1
    # A click of before, which lands late, has the hour counted from its beginning.
    history = await landed(services, history, [hour + 2 * minute])
    assert await count_now(services, monkeypatch, history, hour + 12 * minute) >= 12
    assert await count_now(services, monkeypatch, history, hour + 12 * minute) == 0
    # And the hour is complete when it is over.
    assert await count_now(services, monkeypatch, history, hour + 90 * minute) == 0


async def test_counts_of_an_unfinished_hour_are_written_again_only_with_many_new_clicks(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await made(services, Random(16), clicks=1, events=0)
    minute = timedelta(minutes=1)
    hour = datetime(2026, 2, 10, 9, tzinfo=UTC)
    history = await landed(services, history, [hour])
    await count_now(services, monkeypatch, history, hour + 10 * minute)
    stored = await services.stores.mongodb["joint_counts"].find().to_list(None)
    history = await landed(services, history, [hour + number * minute for number in (11, 12, 13)])
    await count_now(services, monkeypatch, history, hour + 20 * minute)
    assert await services.stores.mongodb["joint_counts"].find().to_list(None) == stored
    monkeypatch.setattr("tracker.reports.limits.FEW_DOCUMENTS", 2)
    assert await count_now(services, monkeypatch, history, hour + 20 * minute) == 3
    assert await count_now(services, monkeypatch, history, hour + 20 * minute) == 0


@pytest.mark.parametrize("command", ["verify", "rebuild"])
async def test_counts_that_are_wrong_are_found_and_removed(
    services: Services, command: str
) -> None:
    history = await made(services, Random(12))
    check_of = JointCheck(services.stores.mongodb.database, history.account_id, calendar_of("UTC"))
    for group_by in ("os", "link", "event", "hour"):
        await services.reports.reports.run(crossed(history, group_by))
    of_link = {"link": [history.clicks[0]["link_id"]], "os": ["iOS"]}
    await services.reports.reports.run(query_of(history, "country", of_link))
    days = [(FIRST + timedelta(number)).isoformat() for number in range(DAYS)]

    async def wrong() -> int:
        async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
            return sum([len(await check_of.wrong(day, snapshot)) for day in days])

    assert await wrong() == 0
    # A click that changed its country without anybody having counted that.
    click = next(one for one in history.clicks if one["account_id"] == history.account_id)
    await services.stores.mongodb["clicks"].update_one(
        {"_id": click["_id"]}, {"$set": {"country": "SE"}}
    )
    assert await wrong() > 0
    if command == "rebuild":
        for day in days:
            async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
                await check_of.remove_wrong(day, snapshot)
        assert await wrong() == 0


async def test_rollups_of_links_that_are_corrected_are_right_in_counts_of_the_account(
    services: Services,
) -> None:
    history = await made(services, Random(13))
    by_link = query_of(history, "link", first=date(2026, 1, 1), last=date(2026, 2, 28))
    of_link = {
        "_id.account_id": history.account_id,
        "_id.of": "link",
        "_id.day": FIRST.isoformat(),
        "total.clicks": {"$exists": True},
    }
    await services.stores.mongodb["rollups"].update_one(of_link, {"$inc": {"total.clicks": 5}})
    wrong = await services.reports.reports.run(by_link)
    recount = Recount(services.stores.mongodb)
    assert await recount.correct(history.account_id, FIRST.isoformat()) == 1
    await check(services, Counted(history, HOST), by_link)
    assert (await services.reports.reports.run(by_link)).totals != wrong.totals


async def test_reports_of_one_snapshot_count_clicks_once(services: Services) -> None:
    history = await made(services, Random(14))
    async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
        before = await services.reports.reports.run(crossed(history), snapshot)
        async with profiled(services.stores.mongodb.database) as rows:
            assert await services.reports.reports.run(crossed(history), snapshot) == before
    assert not [row for row in rows if row["ns"].endswith((".clicks", ".events"))]


async def test_reports_that_waited_for_a_turn_use_what_was_counted_meanwhile(
    services: Services,
) -> None:
    history = await made(services, Random(15))
    async with profiled(services.stores.mongodb.database) as rows:
        reports = [services.reports.reports.run(crossed(history)) for _ in range(5)]
        answers = await asyncio.gather(*reports)
    assert all(one == answers[0] for one in answers)
    counted = [row for row in rows if row["ns"].endswith(".clicks") and row["docsExamined"]]
    assert len(counted) == DAYS
