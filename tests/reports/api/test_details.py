"""`POST /api/reports` with a series, other days to compare with, and chosen columns.

Every figure is that of a report which asks for nothing else.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Any, get_args

import pytest

from tests.reports.history import FIRST
from tests.web.client import Client
from tests.web.each import each_case
from tests.web.reported import (
    MEASURES,
    NOTHING,
    Figures,
    by_key,
    change,
    days,
    figures,
    reported,
)
from tests.web.world import World
from tracker.reports.joint_counts.report_run import ReportProgress
from tracker.reports.periods import Interval
from tracker.reports.query import GroupBy
from tracker.service.services import Services

BY_TIME = get_args(Interval)
BY_KEY = [group_by for group_by in get_args(GroupBy) if group_by not in BY_TIME]


def assert_compared(row: dict[str, Any], before: Figures) -> None:
    assert figures(row["previous"]) == before
    found = {name: None if of is None else float(of) for name, of in row["change"].items()}
    assert dict.fromkeys(before) | found == change(figures(row), before)


@pytest.mark.parametrize("group_by", BY_KEY)
async def test_each_row_and_the_totals_are_compared_with_those_of_other_days(
    services: Services, client: Client, group_by: str
) -> None:
    scene = await reported(services, client)
    tags = sorted({str(tag) for tags in scene.history.tags.values() for tag in tags})
    for filters in (
        {},
        {"tag": tags[:2]},
        {"country": ["DE", "unknown"], "bots": "include", "tagOperator": "AND"},
    ):
        asked = {"groupBy": group_by, "filters": filters}
        before = await scene.report(**asked, dateRange=days(0, 1))
        now = await scene.report(**asked, dateRange=days(2, 3))
        found = await scene.report(**asked, dateRange=days(2, 3), compare="previous_period")
        assert by_key(found) == dict.fromkeys(by_key(before), NOTHING) | by_key(now)
        assert found["previousDateRange"] == days(0, 1)
        assert_compared(found["totals"], figures(before["totals"]))
        for row in found["rows"]:
            assert_compared(row, by_key(before).get(row["key"], NOTHING))


async def test_a_series_has_every_step_with_the_figures_of_its_row(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    filters = {"device": ["mobile", "tv"]}
    for interval, count in (("hour", 6 * 24), ("day", 6)):
        asked = {"dateRange": days(-1, 4), "filters": filters, "pageSize": 100}
        rows = by_key(await scene.report(groupBy=interval, **asked))
        found = await scene.report(groupBy="os", interval=interval, **asked)
        steps = {step["key"]: figures(step) for step in found["series"]}
        assert len(steps) == count
        assert list(steps) == sorted(steps)
        assert {key: of for key, of in steps.items() if of != NOTHING} == rows
        assert found["interval"] == interval
        assert "previousSeries" not in found


async def test_a_series_is_compared_with_that_of_the_other_days(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    one = await scene.report(groupBy="os", interval="day", dateRange=days(0, 1))
    found = await scene.report(
        groupBy="os", interval="day", dateRange=days(2, 3), compare="previous_period"
    )
    assert found["previousSeries"] == one["series"]
    assert_compared(found["totals"], figures(one["totals"]))


async def test_columns_choose_the_measures_of_every_part(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    asked = {"groupBy": "os", "dateRange": days(2, 3), "compare": days(0, 1), "interval": "day"}
    full = await scene.report(**asked)
    found = await scene.report(**asked, columns=["payout", "clicks", "clicks"])
    left_out = {*MEASURES, "conversionRatePoints"} - {"payout", "clicks"}
    assert found == without(full, left_out)
    assert set(found["totals"]) == {"clicks", "payout", "previous", "change"}


def without(part: Any, names: set[str]) -> Any:
    """Return a part of an answer without the fields of these names."""
    if isinstance(part, list):
        return [without(one, names) for one in part]
    if not isinstance(part, dict):
        return part
    return {name: without(one, names) for name, one in part.items() if name not in names}


LONG = {"from": "2026-01-01", "to": "2026-02-01"}


@each_case(
    "fields, error",
    [
        ({"interval": "year"}, "interval: must be day or hour or month or week"),
        ({"interval": "hour", "dateRange": LONG}, "interval: by hour at most 31 days"),
        ({"interval": "hour", "compare": LONG}, "compare: by hour at most 31 days"),
        (
            {"groupBy": "hour", "compare": "previous_year", "dateRange": LONG},
            "dateRange: by hour at most 31 days",
        ),
        ({"groupBy": "hour", "compare": LONG}, "compare: by hour at most 31 days"),
        ({"compare": "last_year"}, "compare: must be previous_month or previous_period or"),
        ({"compare": {"from": "2026-01-01"}}, "compare.to: required"),
        ({"compare": {"from": "2026-01-02", "to": "2026-01-01"}}, "compare.from: must not be"),
        ({"compare": {"from": "2023-01-01", "to": "2026-01-01"}}, "compare.to: at most 731"),
        ({"compare": None}, "compare: must be"),
        (
            {"compare": "previous_year", "dateRange": {"from": "0001-01-05", "to": "0001-01-05"}},
            "compare: there are no days before 0001-01-01",
        ),
        ({"columns": []}, "columns: must be"),
        ({"columns": ["clicks"] * (len(MEASURES) + 1)}, "columns: must be"),
        ({"columns": ["visitors"]}, "columns[0]: must be botClicks or clicks or"),
        ({"columns": "clicks"}, "columns: must be"),
    ],
)
async def test_a_broken_rule_is_named_with_its_field(
    world: World, fields: dict[str, Any], error: str
) -> None:
    body = {"accountId": str(world.account.id), "dateRange": days(0, 3), "groupBy": "os", **fields}
    response = await world.api.post("/api/reports", **body)
    assert (response.status, response.error[: len(error)]) == (400, error)


@pytest.mark.parametrize("interval", [None, "day"])
@pytest.mark.parametrize("last_is_unfinished", [False, True])
async def test_a_report_with_all_details_has_as_many_parts_as_it_expects(
    services: Services,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    interval: str | None,
    last_is_unfinished: bool,
) -> None:
    scene, seen, expect = (
        await reported(services, client),
        list[ReportProgress](),
        ReportProgress.expect,
    )
    if last_is_unfinished:
        noon = datetime.combine(FIRST, time(12), UTC) + timedelta(3)
        monkeypatch.setattr("tracker.reports.answers.reports.now", lambda: noon)

    def noted(progress: ReportProgress, parts: int) -> None:
        seen.append(progress)
        expect(progress, parts)

    monkeypatch.setattr(ReportProgress, "expect", noted)
    found = await scene.report(
        groupBy="link",
        dateRange=days(2, 3),
        compare="previous_period",
        **({} if interval is None else {"interval": interval}),
    )
    assert found["rows"]
    [progress] = seen
    assert progress._done == progress._parts
