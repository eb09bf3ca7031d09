"""The budget of bytes that all reports of a process share."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from uuid import UUID

import pytest
from msgspec.structs import replace

from lab.many_values import store_day
from tests.factories import make_click_document
from tests.reports.history import store
from tracker.errors import BadRequest, Unavailable
from tracker.ids import new_id
from tracker.reports import columns, limits
from tracker.reports.answers.overview import read_overview
from tracker.reports.columns import CLICK_MEASURES
from tracker.reports.joint_counts.store import JointCountStore, JointId, NewTable
from tracker.reports.memory import ReportMemory, bytes_of
from tracker.reports.query import ReportQuery
from tracker.service.services import Services

DAY = date(2026, 1, 1)
VALUES = 400
CROSSED = {"device": ["mobile"], "os": ["Android"]}


async def test_what_does_not_fit_waits_until_others_give_back() -> None:
    memory, one, other = ReportMemory(100, 60), new_id(), new_id()
    with memory.reserve(one) as reservation, memory.reserve(other) as waiting:
        await reservation.take(60)
        taking = asyncio.create_task(waiting.take(50))
        await asyncio.sleep(0)
        assert (memory.taken, taking.done()) == (60, False)
        reservation.shrink_to(50)
        await taking
        assert memory.taken == 100
    assert memory.taken == 0


async def test_an_account_has_no_more_than_its_share() -> None:
    memory, account_id = ReportMemory(100, 60), new_id()
    with memory.reserve(account_id) as reservation, memory.reserve(account_id) as waiting:
        await reservation.take(40)
        taking = asyncio.create_task(waiting.take(30))
        await asyncio.sleep(0)
        assert not taking.done()
        with memory.reserve(new_id()) as other:
            await other.take(60)
        reservation.shrink_to(0)
        await taking


async def test_what_does_not_fit_in_time_is_told_when_to_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MEMORY_SECONDS", 0)
    memory = ReportMemory(100 * 1024**2, 60 * 1024**2, 0)
    with memory.reserve(new_id()) as reservation, memory.reserve(new_id()) as refused:
        await reservation.take(60 * 1024**2)
        with pytest.raises(Unavailable, match="the 100 MB for reports are in use") as raised:
            await refused.take(50 * 1024**2)
        assert raised.value.headers == {"Retry-After": "5"}
        assert memory.taken == 60 * 1024**2


async def test_a_report_beyond_the_share_of_an_account_is_told_to_ask_for_less() -> None:
    memory = ReportMemory(100, 60)
    with memory.reserve(new_id()) as reservation:
        await reservation.take(40)
        with pytest.raises(BadRequest, match="ask for fewer days"):
            await reservation.take(21)


async def test_small_reports_do_not_wait_for_what_large_ones_and_files_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file has its memory as long as its client reads: fifteen minutes, if it wants to."""
    monkeypatch.setattr(limits, "MEMORY_SECONDS", 0)
    monkeypatch.setattr(limits, "SMALL_BYTES", 5)
    memory, account_id = ReportMemory(100, 60, 10), new_id()
    with memory.reserve(account_id) as file, memory.reserve(new_id()) as other:
        await file.take(50)
        await other.take(40)
        for of in (account_id, new_id()):
            with memory.reserve(of) as small, memory.reserve(of) as large:
                await small.take(5)
                with pytest.raises(Unavailable):
                    await large.take(6)
    with memory.reserve(account_id) as large:
        await large.take(4)
        with pytest.raises(BadRequest, match="ask for fewer days"):
            await large.take(47)


async def test_what_days_were_counted_from_is_given_back_before_the_next(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise an overview of many days would be refused that has room for each of them."""
    monkeypatch.setattr(limits, "ROWS_AT_ONCE", 0)  # each day is cached at once
    account_id = new_id()
    days = [DAY + timedelta(number) for number in range(10)]
    await store_days(services, account_id, days, 40)
    query = ReportQuery(
        account_id=account_id, first=DAY, last=days[-1], group_by="day", filters=CROSSED
    )
    panels = [replace(query, group_by=one) for one in ("country", "browser", "bot")]
    memory = services.reports.reports.memory = ReportMemory(10**9, 150_000)
    async with services.reports.reports.begin(account_id) as run:
        found = await read_overview(run, query, "day", None, panels)
    assert found.series.totals.clicks == 400
    assert memory.taken == 0


async def test_what_months_were_counted_from_is_given_back_before_the_next(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ROWS_AT_ONCE", 0)
    account_id = new_id()
    days = [DAY + timedelta(number) for number in range(6 * 30)]
    await store_days(services, account_id, days, 2)
    query = ReportQuery(
        account_id=account_id, first=DAY, last=days[-1], group_by="device", filters=CROSSED
    )
    # The clicks as they are expected, those of a month in its days, and its days.
    rows = len(days) * 2 + 31 * 2 + 31 * 2
    services.reports.reports.memory = ReportMemory(10**9, rows * (limits.ROW_BYTES + 50))
    assert (await services.reports.reports.run(query)).totals.clicks == len(days) * 2


@pytest.mark.parametrize("text", ["spring", "spring ☂", "🔥" * 20])
async def test_what_is_cached_takes_as_much_as_its_table(services: Services, text: str) -> None:
    campaigns = [f"{text} {number}" for number in range(50)]
    table = columns.of_columns(
        {"utm_campaign": campaigns}, {name: [1] * 50 for name in CLICK_MEASURES}
    )
    joint = JointCountStore(services.stores.mongodb.database)
    one = JointId(new_id(), "UTC", None, "clicks", "utm_campaign", DAY.isoformat())
    await joint.store({one: NewTable([50, 0, 0, 0], table)})
    size = await joint.size([one], ["utm_campaign"], services.stores.mongodb.reads)
    width = 1 if text.isascii() else limits.WIDE_BYTES
    lines = len("\n".join(campaigns))
    assert size == 50 * limits.ROW_BYTES + limits.TEXT_COPIES * width * lines
    # Without the line breaks.
    assert size - bytes_of(table) == limits.TEXT_COPIES * width * 49


async def test_what_is_cached_by_link_takes_as_much_as_its_table(services: Services) -> None:
    table = columns.of_columns(
        {"link": [str(new_id()) for _ in range(50)]}, {name: [1] * 50 for name in CLICK_MEASURES}
    )
    joint = JointCountStore(services.stores.mongodb.database)
    one = JointId(new_id(), "UTC", None, "clicks", "link", DAY.isoformat())
    await joint.store({one: NewTable([50, 0, 0, 0], table)})
    assert await joint.size([one], ["link"], services.stores.mongodb.reads) == bytes_of(table)


async def test_reports_of_many_values_are_read_one_after_another_if_memory_has_room_for_one(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes its bytes before it reads a row, and gives them back."""
    monkeypatch.setattr(limits, "SMALL_BYTES", 0)
    account_id = new_id()
    await store_day(services.stores.mongodb.database, account_id, DAY, VALUES)
    memory = services.reports.reports.memory = ReportMemory(600 * VALUES, 350 * VALUES, 0)
    highest, wait_for = 0, memory.wait_for

    async def noting(of: UUID, count: int, is_small: bool) -> None:
        nonlocal highest
        await wait_for(of, count, is_small)
        highest = max(highest, memory.taken)

    monkeypatch.setattr(memory, "wait_for", noting)
    reports = await asyncio.gather(
        *(services.reports.reports.run(by_campaign(account_id)) for _ in range(6))
    )
    assert [one.total_rows for one in reports] == [VALUES] * 6
    assert limits.ROW_BYTES * VALUES < highest < 2 * limits.ROW_BYTES * VALUES
    assert memory.taken == 0


async def test_clicks_take_memory_as_they_are_counted(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    account_id = new_id()
    at = datetime(DAY.year, DAY.month, DAY.day, 9, tzinfo=UTC)
    clicks = [
        make_click_document(account_id=account_id, at=at, utm_campaign=f"campaign-{number}")
        for number in range(30)
    ]
    await store(services, Random(0), clicks, [])
    services.reports.reports.memory = ReportMemory(10**6, 45 * limits.ROW_BYTES)
    with pytest.raises(BadRequest, match="ask for fewer days"):
        await services.reports.reports.run(by_campaign(account_id))
    services.reports.reports.memory = ReportMemory()
    assert (await services.reports.reports.run(by_campaign(account_id))).total_rows == 30


async def store_days(
    services: Services, account_id: UUID, days: Sequence[date], values: int
) -> None:
    """Store days with so many clicks each, all of other campaigns."""
    clicks = [
        make_click_document(
            account_id=account_id,
            at=datetime.combine(day, time(9), UTC),
            utm_campaign=f"campaign-{day}-{number}",
        )
        for day in days
        for number in range(values)
    ]
    await store(services, Random(0), clicks, [])


def by_campaign(account_id: UUID) -> ReportQuery:
    return ReportQuery(account_id=account_id, first=DAY, last=DAY, group_by="utm_campaign")
