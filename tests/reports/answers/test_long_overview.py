"""A long overview: its questions and writes, and work that is cached from request to request."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import get_args
from uuid import UUID

import pytest
from msgspec.structs import replace

from tests.factories import make_click_document
from tests.reports.history import store
from tests.stores.mongodb.profiler import profiled
from tracker.errors import TooSlow
from tracker.ids import new_id
from tracker.reports.answers.one_report import read_page
from tracker.reports.answers.overview import read_overview
from tracker.reports.query import GroupBy, ReportQuery
from tracker.service.services import Services

FIRST, LAST = date(2026, 1, 1), date(2026, 3, 31)
DAYS = (LAST - FIRST).days + 1
PANELS = get_args(GroupBy)


async def test_its_days_cost_a_few_questions_and_writes_for_each_panel(services: Services) -> None:
    """Day by day each panel would ask and write for each of them."""
    query = query_of(await with_a_click_a_day(services))
    before = await operations(services)
    await overview(services, query)
    after = await operations(services)
    # Each day is counted by all dimensions, and cached by those of days and hours.
    assert after["update"] - before["update"] < 6 * DAYS
    assert after["query"] - before["query"] < 6 * DAYS


async def test_what_was_counted_before_its_time_was_up_is_not_counted_again(
    services: Services,
) -> None:
    account_id = await with_a_click_a_day(services)
    query = replace(query_of(account_id), group_by="day")

    async def clicks_read(share: float) -> int:
        async with (
            profiled(services.stores.mongodb.database) as rows,
            services.reports.reports.begin(account_id) as run,
        ):

            def note(done: float) -> None:
                if done >= share:
                    raise TooSlow("report: not done", 1)

            run.progress.set_fraction = note  # type: ignore[method-assign, assignment]
            if share < 1:
                with pytest.raises(TooSlow):
                    await read_page(run, "report", query)
            else:
                await read_page(run, "report", query)
        return sum(row["docsExamined"] for row in rows if row["ns"].endswith(".clicks"))

    first = await clicks_read(0.25)
    assert 0 < first < DAYS
    assert await clicks_read(2) == DAYS - first
    assert await clicks_read(2) == 0


async def operations(services: Services) -> Mapping[str, int]:
    """Return how many questions and changed documents MongoDB has counted."""
    status = await services.stores.mongodb.client.admin.command("serverStatus")
    found: Mapping[str, int] = status["opcounters"]
    return found


async def with_a_click_a_day(services: Services) -> UUID:
    account_id = new_id()
    clicks = [
        make_click_document(
            account_id=account_id,
            at=datetime.combine(FIRST, datetime.min.time(), UTC) + timedelta(number, hours=9),
        )
        for number in range(DAYS)
    ]
    await store(services, Random(0), clicks, [])
    return account_id


def query_of(account_id: UUID) -> ReportQuery:
    filters = {"device": ["mobile"], "os": ["Android"]}
    return ReportQuery(
        account_id=account_id, first=FIRST, last=LAST, group_by="link", filters=filters
    )


async def overview(services: Services, query: ReportQuery) -> None:
    panels = [replace(query, group_by=one) for one in PANELS]
    async with services.reports.reports.begin(query.account_id) as run:
        found = await read_overview(run, query, "month", None, panels)
    assert found.series.totals.clicks == DAYS
