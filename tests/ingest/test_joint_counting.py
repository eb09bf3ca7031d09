"""Finished days are counted ahead while drains are idle, and again when something lands late."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from msgspec import structs
from pymongo.errors import ExecutionTimeout

from tests.reports.answers.drawn import HOST, check
from tests.reports.counted import Counted
from tests.reports.history import DAYS, FIRST, OWN, POSITIONS, History, made, more
from tests.stores.mongodb.profiler import profiled
from tracker.ingest import joint_counting
from tracker.ingest.joint_counting import JointCounting
from tracker.reports import limits
from tracker.reports.joint_counts.due_accounts import DueAccounts, StoredTally
from tracker.reports.joint_counts.hour_so_far import STORING_TIME
from tracker.reports.joint_counts.tables import JointTables
from tracker.reports.query import ReportQuery
from tracker.service.services import Services
from tracker.stores.redis import keys

pytestmark = pytest.mark.redis

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(FIRST.year, FIRST.month, FIRST.day, 12, tzinfo=UTC) + timedelta(DAYS)


@pytest.fixture(autouse=True)
def days_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_counting, "now", lambda: NOW)
    monkeypatch.setattr(joint_counting, "_BUSY_SECONDS", 0.01)


async def set_the_scene(services: Services, clicks: int = 300) -> History:
    history = await made(services, Random(1), clicks)
    await make_due(services, history)
    return history


async def make_due(services: Services, history: History) -> None:
    await DueAccounts(services.stores.mongodb.database).hasten([history.account_id], LONG_AGO)


def counting(services: Services) -> JointCounting:
    stores = services.stores
    return JointCounting(stores.mongodb, stores.redis, services.journal.backlog, StoredTally())


def query_of(history: History, group_by: Any, **filters: Any) -> ReportQuery:
    last = FIRST + timedelta(DAYS - 1)
    return ReportQuery(
        account_id=history.account_id, first=FIRST, last=last, group_by=group_by, filters=filters
    )


@pytest.mark.parametrize(
    ("group_by", "filters"),
    [
        ("os", {"country": ["DE"], "device": ["mobile"]}),
        ("hour", {"browser": ["Chrome"]}),
        ("referrer", {"utm_source": ["mail", "none"]}),
        ("link", {"bot": ["crawler"], "os": ["iOS"]}),
        ("event", {"country": ["DE", "FR"]}),
        ("weekday", {"utm_campaign": ["spring"]}),
        ("variant", {"rule": [UUID(int=1), "none"]}),
    ],
)
async def test_a_report_of_days_that_were_counted_ahead_reads_no_clicks(
    services: Services, group_by: str, filters: dict[str, Any]
) -> None:
    history = await set_the_scene(services)
    assert await counting(services).count_days() == DAYS
    for collection in ("clicks", "events"):
        await services.stores.mongodb[collection].delete_many({})
    await check(services, Counted(history, HOST), query_of(history, group_by, **filters))


async def test_a_day_is_counted_once_and_again_when_a_click_lands_late(services: Services) -> None:
    history = await set_the_scene(services)
    assert await counting(services).count_days() == DAYS
    assert await counting(services).count_days() == 0
    later = await more(services, Random(4), history)
    new = later.clicks[len(history.clicks) :] + later.events[len(history.events) :]
    days = {one["at"].date() for one in new if one["account_id"] == history.account_id}
    assert days
    await make_due(services, history)
    assert 0 < await counting(services).count_days() <= len(days)
    await check(services, Counted(later, HOST), query_of(later, "os", country=["DE"]))


async def test_values_that_were_counted_ahead_outlive_their_clicks_whatever_lands_later(
    services: Services,
) -> None:
    history = await set_the_scene(services)
    await counting(services).count_days()
    await services.stores.mongodb["clicks"].delete_many({})
    later = await more(services, Random(4), history)
    query = query_of(history, "referrer")
    for counts_again in (False, True):
        if counts_again:
            await make_due(services, history)
            assert await counting(services).count_days() > 0
        report = await services.reports.reports.run(query)
        found = {row.key: row.measures.clicks for row in report.rows}
        for key, measures in Counted(history, HOST).rows(query):
            assert found[key] >= measures.clicks
        assert report.totals == Counted(later, HOST).totals(query)


async def test_large_hours_of_a_day_that_is_not_over_are_counted_ahead_too(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await set_the_scene(services)
    noon = datetime(FIRST.year, FIRST.month, FIRST.day, 12, tzinfo=UTC)
    monkeypatch.setattr(joint_counting, "now", lambda: noon)
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: noon)
    monkeypatch.setattr(joint_counting, "LARGE_HOUR", 1)
    assert await counting(services).count_days() > 0
    rows = await services.stores.mongodb["joint_counts"].find({}).to_list(None)
    assert {row["_id"]["period"] for row in rows} <= {f"{FIRST}T{hour:02}" for hour in range(12)}
    query = query_of(history, "os", country=["DE", "FR"])
    await check(services, Counted(history, HOST), structs.replace(query, last=FIRST))
    # A day that is over has all that its hours have.
    monkeypatch.setattr(joint_counting, "now", lambda: NOW)
    await counting(services).count_days()
    periods = await services.stores.mongodb["joint_counts"].distinct("_id.period", {"_id.by": "*"})
    assert not [period for period in periods if "T" in period]


async def test_a_report_of_an_unfinished_hour_reads_what_landed_since_it_was_counted_ahead(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await set_the_scene(services)
    at = datetime(FIRST.year, FIRST.month, FIRST.day, 10, 30, tzinfo=UTC)
    monkeypatch.setattr(joint_counting, "now", lambda: at)
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: at)
    monkeypatch.setattr(joint_counting, "LARGE_HOUR", 1)
    monkeypatch.setattr(limits, "FEW_DOCUMENTS", 0)
    assert await counting(services).count_days() > 0
    own = [one for one in history.clicks if one["account_id"] == history.account_id]
    of_day = [one for one in own if one["at"].date() == FIRST]
    since = [one for one in of_day if one["at"] >= at - STORING_TIME]
    assert any(one["at"].hour == at.hour for one in of_day if one not in since)
    query = structs.replace(query_of(history, "browser", country=["DE"]), last=FIRST)
    async with profiled(services.stores.mongodb.database) as rows:
        await check(services, Counted(history, HOST), query)
    read = [row.get("docsExamined", 0) for row in rows if row["ns"].endswith(".clicks")]
    assert sum(read) == len(since)


async def test_an_hour_is_counted_on_only_if_many_have_landed_and_once_when_it_has_ended(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await set_the_scene(services, clicks=1000)
    ten = datetime(FIRST.year, FIRST.month, FIRST.day, 10, tzinfo=UTC)
    later = [one for one in history.clicks if ten + timedelta(minutes=29) < one["at"]]
    of_hour = [one for one in later if one["at"] < ten + timedelta(hours=1)]
    monkeypatch.setattr(joint_counting, "LARGE_HOUR", 1 + len(of_hour))

    async def count_at(minutes: int) -> int:
        at = ten + timedelta(minutes=minutes)
        monkeypatch.setattr(joint_counting, "now", lambda: at)
        await make_due(services, history)
        return await counting(services).count_days()

    assert await count_at(30) > 0
    assert await count_at(30) == 0
    assert await count_at(62) > 0  # the second half of the hour
    assert await count_at(62) == 0
    hour = {"at": {"$gte": ten, "$lt": ten + timedelta(hours=1)}}
    await services.stores.mongodb["clicks"].delete_many(hour)
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: ten + timedelta(minutes=80))
    query = structs.replace(query_of(history, "os", country=["DE", "FR"]), last=FIRST)
    await check(services, Counted(history, HOST), query)


async def test_large_days_are_counted_ahead_hour_by_hour(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await set_the_scene(services)
    every = [*history.clicks, *history.events]
    in_hours = Counter(f"{one['at']:%Y-%m-%dT%H}" for one in every)
    monkeypatch.setattr(limits, "LARGE_DAY", max(in_hours.values()))
    assert await counting(services).count_days() > DAYS
    assert await counting(services).count_days() == 0
    rows = await services.stores.mongodb["joint_counts"].find({}).to_list(None)
    assert any("T" in row["_id"]["period"] for row in rows)
    assert not any("expires_at" in row for row in rows)
    for collection in ("clicks", "events"):
        await services.stores.mongodb[collection].delete_many({})
    for group_by in ("referrer", "hour", "link"):
        query = query_of(history, group_by, os=["iOS"], device=["mobile"])
        await check(services, Counted(history, HOST), query)


async def test_a_day_that_takes_too_long_does_not_keep_others_from_being_counted(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = await set_the_scene(services)
    tables = JointTables.tables

    async def refused(self: JointTables, by: Any, periods: Any) -> Any:
        if periods[0].first == FIRST + timedelta(DAYS - 1):
            raise ExecutionTimeout("operation exceeded time limit", 50)
        return await tables(self, by, periods)

    monkeypatch.setattr(JointTables, "tables", refused)
    assert await counting(services).count_days() == DAYS - 1
    monkeypatch.undo()
    await check(services, Counted(history, HOST), query_of(history, "os", country=["DE"]))


async def test_only_one_of_several_drains_counts(services: Services) -> None:
    stop = asyncio.Event()
    one, other = counting(services), counting(services)
    running = asyncio.create_task(one.run(stop))
    holder = None
    while holder is None:
        holder = await services.stores.redis.get(keys.JOINT_COUNTS_LEASE)
    assert not await other._lease.acquire()
    stop.set()
    await running
    assert await other._lease.acquire()


async def test_counts_from_before_a_parameter_was_named_are_those_of_clicks_without_it(
    services: Services,
) -> None:
    accounts = services.stores.mongodb["accounts"]
    positions = {"parameters": POSITIONS}
    history = await set_the_scene(services)
    for of, documents in (("clicks", history.clicks), ("events", history.events)):
        await services.stores.mongodb[of].update_many({}, {"$unset": dict.fromkeys(OWN, 1)})
        for one in documents:
            for name in OWN:
                one.pop(name, None)
    await accounts.update_one({"_id": history.account_id}, {"$unset": positions})
    await counting(services).count_days()
    stored = await services.stores.mongodb["joint_counts"].find().to_list(None)
    assert stored
    assert not any(name in one["columns"] for one in stored for name in OWN)
    await accounts.update_one({"_id": history.account_id}, {"$set": positions})
    counted = Counted(history, HOST)
    async with profiled(services.stores.mongodb.database) as commands:
        await check(services, counted, query_of(history, "parameter_0"))
        await check(services, counted, query_of(history, "parameter_2", os=["iOS"]))
    assert not any(one["ns"].endswith(".clicks") for one in commands)


async def test_days_are_counted_ahead_by_the_senders_own_parameters(services: Services) -> None:
    history = await set_the_scene(services)
    await counting(services).count_days()
    stored = await services.stores.mongodb["joint_counts"].find({"_id.by": "*"}).to_list(None)
    assert any("parameter_0" in one["columns"] for one in stored)
    await services.stores.mongodb["clicks"].delete_many({})
    await check(services, Counted(history, HOST), query_of(history, "parameter_0"))
