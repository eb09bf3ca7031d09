"""Today by link is read from the counts of its hours if many links have clicks, exact as ever."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from msgspec import structs

from tests.factories import create_link, make_click_document
from tests.reports.answers.drawn import HOST, check, drawn, values
from tests.reports.counted import Counted
from tests.reports.documents_read import read
from tests.reports.history import FIRST, History, made, more, moved, store
from tracker.ids import new_id
from tracker.reports import limits
from tracker.reports.memory import ReportMemory
from tracker.reports.query import GroupBy, ReportQuery
from tracker.service.services import Services

TODAY = FIRST + timedelta(1)
NOW = datetime(TODAY.year, TODAY.month, TODAY.day, 10, 59, tzinfo=UTC)


SetClock = Callable[[datetime], None]


@pytest.fixture(autouse=True)
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Make two links many, and return the function that sets the time; it is NOW at first."""

    def set_to(at: datetime) -> None:
        monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: at)

    set_to(NOW)
    monkeypatch.setattr("tracker.reports.joint_counts.unfinished_day.FEW_ROLLUPS", 2)
    monkeypatch.setattr("tracker.reports.answers.reading.FEW_ROLLUPS", 2)
    return set_to


def of_today(history: History, group_by: Any, **filters: Any) -> ReportQuery:
    return ReportQuery(
        account_id=history.account_id, group_by=group_by, filters=filters, first=TODAY, last=TODAY
    )


@pytest.mark.parametrize("group_by", ["link", "tag", "country", "hour", "day", "event"])
async def test_every_report_of_links_equals_a_count_one_by_one_whatever_lands_between(
    services: Services, group_by: GroupBy
) -> None:
    random = Random(group_by)
    history = await made(services, random)
    for _ in range(3):
        counted = Counted(history, HOST)
        for _ in range(10):
            query = drawn(random, history, group_by)
            of_tags = {**query.filters, "tag": values(random, history, "tag")}
            await check(services, counted, structs.replace(query, filters=of_tags))
            await check(services, counted, of_today(history, group_by))
        history = await more(services, random, history)
        history = await moved(services, random, history)


async def test_a_later_look_reads_the_rollups_of_no_link_and_no_click_of_before(
    services: Services,
) -> None:
    history = await made(services, Random(1))
    query = of_today(history, "link")
    first = await read(services, query)
    assert first["clicks"] > 0
    later = await read(services, query)
    of_account = await services.stores.mongodb["rollups"].count_documents(
        {"_id.account_id": history.account_id, "_id.of": "account", "_id.day": TODAY.isoformat()}
    )
    assert later["rollups"] <= 2 * of_account  # the sums of the day, and of its hours
    assert later["clicks"] < first["clicks"] / 2  # those of less than a minute ago


async def test_links_with_more_clicks_than_can_be_counted_are_read_from_their_rollups(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.reports.joint_counts.unfinished_day._DOCUMENTS_PER_ROLLUP", 1)
    history = await made(services, Random(2))
    query = of_today(history, "link")
    assert (await read(services, query))["clicks"] == 0
    await check(services, Counted(history, HOST), query)


async def test_a_day_whose_hours_do_not_have_all_of_it_is_read_from_the_rollups_of_links(
    services: Services,
) -> None:
    history = await made(services, Random(3))
    await services.stores.mongodb["rollups"].update_many({}, {"$unset": {"hour": 1}})
    await check(services, Counted(history, HOST), of_today(history, "link"))


MIDNIGHT = datetime(TODAY.year, TODAY.month, TODAY.day, tzinfo=UTC)
LINKS = 12


async def clicked_each_hour(services: Services, hours: int) -> History:
    """Have each of the links of an account clicked in each of the first hours."""
    account_id = new_id()
    links = [await create_link(services, account_id, slug=None) for _ in range(LINKS)]
    clicks = [
        make_click_document(
            account_id=account_id,
            link_id=link.id,
            at=MIDNIGHT + timedelta(hours=hour, minutes=5),
            domain_name="",
        )
        for link in links
        for hour in range(hours)
    ]
    await store(services, Random(0), clicks, [])
    return History(account_id, clicks, [], {link.id: [] for link in links}, new_id())


@pytest.mark.parametrize("group_by", ["link", "hour", "referrer"])
async def test_the_hours_that_are_over_are_read_as_one_table_which_grows(
    services: Services, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch, group_by: str
) -> None:
    monkeypatch.setattr("tracker.reports.joint_counts.unfinished_day._DOCUMENTS_PER_ROLLUP", 1000)
    history = await clicked_each_hour(services, 23)
    for hour in (3, 4, 9, 22):
        set_clock(MIDNIGHT + timedelta(hours=hour, minutes=15))
        query = of_today(history, group_by, **({} if group_by == "link" else {"os": ["unknown"]}))
        await services.reports.reports.run(query)
        later = await read(services, query)
        # Hours that have not begun are read too: the test has clicks of them. By link, what is
        # cached is looked at first.
        assert later["joint_counts"] <= 2 * (1 + 24 - hour)
        await check(services, Counted(history, HOST), query)


async def test_a_day_of_links_that_are_clicked_each_hour_takes_the_memory_of_few_hours(
    services: Services, set_clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.reports.joint_counts.unfinished_day._DOCUMENTS_PER_ROLLUP", 1000)
    monkeypatch.setattr(limits, "SMALL_BYTES", 0)
    monkeypatch.setattr(limits, "ROWS_AT_ONCE", LINKS)
    history = await clicked_each_hour(services, 23)
    hour = LINKS * (limits.ROW_BYTES + limits.TEXT_COPIES * len(str(new_id())))
    services.reports.reports.memory = ReportMemory(6 * hour, 6 * hour, 0)
    set_clock(MIDNIGHT + timedelta(hours=23, minutes=15))
    for _ in range(2):
        await check(services, Counted(history, HOST), of_today(history, "link"))
