"""The parts of a request have the documents read once for all of them, and exact figures."""

from datetime import UTC, datetime
from random import Random

import pytest
from msgspec.structs import replace

from tests.reports.answers.drawn import HOST
from tests.reports.counted import Counted
from tests.reports.history import FIRST, History, made, more
from tests.stores.mongodb.profiler import profiled
from tracker.reports.answers.one_report import read_page
from tracker.reports.answers.overview import plan
from tracker.reports.query import GroupBy, Report, ReportQuery
from tracker.service.services import Services

PANELS: list[GroupBy] = ["referrer", "utm_campaign"]

LAST_MINUTE = datetime(FIRST.year, FIRST.month, FIRST.day, 23, 59, 59, tzinfo=UTC)
LATER = datetime(2027, 1, 1, tzinfo=UTC)


async def read_together(
    services: Services, history: History, panels: list[ReportQuery]
) -> tuple[list[Report], int]:
    """Run the panels in one request; return them, and how many clicks they have read."""
    async with (
        profiled(services.stores.mongodb.database) as rows,
        services.reports.reports.begin(history.account_id) as run,
    ):
        plan(run, panels)
        found = [await read_page(run, "panel", panel) for panel in panels]
    return found, sum(row["docsExamined"] for row in rows if row["ns"].endswith(".clicks"))


def panels_of(history: History, of_link: bool) -> list[ReportQuery]:
    _of_another_account, link_id, *_ = history.tags
    query = ReportQuery(
        account_id=history.account_id,
        group_by="referrer",
        filters={"link": [link_id]} if of_link else {"country": ["DE", "FR"]},
        first=FIRST,
        last=FIRST,
        page_size=100,
    )
    return [replace(query, group_by=panel) for panel in PANELS]


@pytest.mark.parametrize("now", [LAST_MINUTE, LATER])
@pytest.mark.parametrize("of_link", [False, True])
async def test_panels_of_a_first_look_read_the_clicks_once(
    services: Services, monkeypatch: pytest.MonkeyPatch, now: datetime, of_link: bool
) -> None:
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: now)
    random = Random(3)
    history = await made(services, random, clicks=400)
    for _ in range(2):
        panels = panels_of(history, of_link)
        counted = Counted(history, HOST)
        found, together = await read_together(services, history, panels)
        for report, query in zip(found, panels, strict=True):
            assert [(row.key, row.measures) for row in report.rows] == counted.rows(query)
            assert report.totals == counted.totals(query)
        await services.stores.mongodb["joint_counts"].delete_many({})
        _, alone = await read_together(services, history, panels[:1])
        # Each reads the clicks of the last half minute again.
        assert 0 < together < 1.5 * alone
        history = await more(services, random, history)


@pytest.mark.parametrize("of_link", [False, True])
async def test_panels_of_a_later_look_read_recent_clicks_once(
    services: Services, monkeypatch: pytest.MonkeyPatch, of_link: bool
) -> None:
    monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: LAST_MINUTE)
    history = await made(services, Random(3), clicks=400)
    panels = panels_of(history, of_link)
    await read_together(services, history, panels)
    found, together = await read_together(services, history, panels)
    counted = Counted(history, HOST)
    for report, query in zip(found, panels, strict=True):
        assert [(row.key, row.measures) for row in report.rows] == counted.rows(query)
        assert report.totals == counted.totals(query)
    _, alone = await read_together(services, history, panels[:1])
    assert 0 < together == alone
