"""The budget of bytes that all reports of a process share."""

import asyncio
from datetime import UTC, date, datetime
from random import Random
from uuid import UUID

import pytest

from lab.many_values import store_day
from tests.factories import make_click_document
from tests.reports.history import store
from tracker.errors import BadRequest, Unavailable
from tracker.ids import new_id
from tracker.reports import limits
from tracker.reports.memory import ReportMemory
from tracker.reports.query import Query
from tracker.service.services import Services

DAY = date(2026, 1, 1)
VALUES = 400


async def test_what_does_not_fit_waits_until_others_give_back() -> None:
    memory, one, other = ReportMemory(100, 60), new_id(), new_id()
    with memory.hold(one) as held, memory.hold(other) as waiting:
        await held.take(60)
        taking = asyncio.create_task(waiting.take(50))
        await asyncio.sleep(0)
        assert (memory.taken, taking.done()) == (60, False)
        held.shrink_to(50)
        await taking
        assert memory.taken == 100
    assert memory.taken == 0


async def test_an_account_has_no_more_than_its_share() -> None:
    memory, account_id = ReportMemory(100, 60), new_id()
    with memory.hold(account_id) as held, memory.hold(account_id) as waiting:
        await held.take(40)
        taking = asyncio.create_task(waiting.take(30))
        await asyncio.sleep(0)
        assert not taking.done()
        with memory.hold(new_id()) as other:
            await other.take(60)
        held.shrink_to(0)
        await taking


async def test_what_does_not_fit_in_time_is_told_when_to_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MEMORY_SECONDS", 0)
    memory = ReportMemory(100 * 1024**2, 60 * 1024**2)
    with memory.hold(new_id()) as held, memory.hold(new_id()) as refused:
        await held.take(60 * 1024**2)
        with pytest.raises(Unavailable, match="the 100 MB for reports are in use") as raised:
            await refused.take(50 * 1024**2)
        assert raised.value.headers == {"Retry-After": "5"}
        assert memory.taken == 60 * 1024**2


async def test_a_report_beyond_the_share_of_an_account_is_told_to_ask_for_less() -> None:
    memory = ReportMemory(100, 60)
    with memory.hold(new_id()) as held:
        await held.take(40)
        with pytest.raises(BadRequest, match="ask for fewer days"):
            await held.take(21)


async def test_reports_of_many_values_are_read_one_after_another_if_memory_has_room_for_one(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes its bytes before it reads a row, and gives them back."""
    monkeypatch.setattr(limits, "FEW_ROW_BYTES", 0)
    account_id = new_id()
    await store_day(services.database, account_id, DAY, VALUES)
    memory = services.reports.memory = ReportMemory(600 * VALUES, 350 * VALUES)
    highest, wait_for = 0, memory.wait_for

    async def noting(of: UUID, count: int) -> None:
        nonlocal highest
        await wait_for(of, count)
        highest = max(highest, memory.taken)

    monkeypatch.setattr(memory, "wait_for", noting)
    reports = await asyncio.gather(
        *(services.reports.run(by_campaign(account_id)) for _ in range(6))
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
    services.reports.memory = ReportMemory(10**6, 45 * limits.ROW_BYTES)
    with pytest.raises(BadRequest, match="ask for fewer days"):
        await services.reports.run(by_campaign(account_id))
    services.reports.memory = ReportMemory()
    assert (await services.reports.run(by_campaign(account_id))).total_rows == 30


def by_campaign(account_id: UUID) -> Query:
    return Query(account_id=account_id, first=DAY, last=DAY, group_by="utm_campaign")
