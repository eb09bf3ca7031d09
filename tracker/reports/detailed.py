"""Reports with details: the rows of a page, their series, and the same of other days."""

from collections.abc import Mapping, Sequence

import msgspec

from tracker.reports.compared_rows import (
    MAX_PARTS_BEFORE,
    WholeBefore,
    measures_before,
    whole_before,
)
from tracker.reports.day_range import DayRange
from tracker.reports.memory import Reservation
from tracker.reports.parts import Parts
from tracker.reports.query import Measures, Query, Report
from tracker.reports.series import Interval, Step
from tracker.reports.whole_report import WholeReport


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the days to compare with. `rows` has the measures of each row, by its key."""

    totals: Measures
    rows: Mapping[str, Measures]
    steps: Sequence[Step] | None


class DetailedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A report, and the details that were asked for, of the same snapshot."""

    report: Report
    steps: Sequence[Step] | None
    before: Before | None


async def read_detailed(
    parts: Parts, query: Query, interval: Interval | None, previous: DayRange | None
) -> DetailedReport:
    """Return the report of a query.

    It has a series if there is an `interval`, and is compared with the `previous` days if there are
    any. Raises as `Parts.run` and `Parts.series`.
    """
    before_parts = 0 if previous is None else MAX_PARTS_BEFORE + 1
    parts.expect_parts(1 + (interval is not None) + before_parts)
    report = await parts.run("report", query)
    steps = None
    if interval is not None:
        steps = (await parts.series("interval", query, interval)).steps
    before = None
    if previous is not None:
        before = await _before(parts, query, report, interval, previous)
    return DetailedReport(report=report, steps=steps, before=before)


async def read_whole(
    parts: Parts, query: Query, previous: DayRange | None, held: Reservation
) -> tuple[WholeReport, WholeBefore | None]:
    """Return all rows of a query, and those of the `previous` days if there are any.

    Their memory is `held`. Raises as `Parts.run`.
    """
    parts.expect_parts(1 + (previous is not None))
    report = await parts.whole("report", query, held)
    before = None if previous is None else await whole_before(parts, query, previous, held)
    held.shrink_to(report.bytes() + (0 if before is None else before.bytes()))
    return report, before


async def _before(
    parts: Parts, query: Query, report: Report, interval: Interval | None, days: DayRange
) -> Before:
    rows = await measures_before(parts, query, report.rows, days)
    other = msgspec.structs.replace(query, first=days.first, last=days.last)
    if interval is None:
        totals = await parts.totals("compare", other)
        return Before(totals=totals, rows=rows, steps=None)
    series = await parts.series("compare", other, interval)
    return Before(totals=series.totals, rows=rows, steps=series.steps)
