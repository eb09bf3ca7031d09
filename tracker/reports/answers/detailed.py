"""Reports with details: the rows of a page, their series, and both for other days."""

from collections.abc import Mapping, Sequence

import msgspec

from tracker.reports.answers.compared import (
    PreviousFigures,
    PreviousRows,
    other_days,
    previous_parts,
    read_compared,
    read_previous,
    read_previous_rows,
)
from tracker.reports.answers.names import NamedRows
from tracker.reports.answers.one_report import read_series, read_whole
from tracker.reports.comparison import DayComparison
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.periods import Interval
from tracker.reports.query import Measures, Report, ReportQuery
from tracker.reports.series import Step


class DetailedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A report and its details. `previous_rows` is by the keys of its rows."""

    report: Report
    steps: Sequence[Step] | None
    previous: PreviousFigures | None
    previous_rows: Mapping[str, Measures] | None


async def read_detailed(
    run: ReportRun, query: ReportQuery, interval: Interval | None, comparison: DayComparison | None
) -> DetailedReport:
    days = None if comparison is None else await other_days(run, comparison)
    count = 0 if days is None else 1 + previous_parts(interval, days)
    run.progress.expect(1 + (interval is not None) + count)
    report, rows = await read_compared(run, "report", query, days)
    steps, previous = None, None
    if interval is not None:
        steps = (await read_series(run, "interval", query, interval)).steps
    if days is not None:
        previous = await read_previous(run, query, interval, days)
    return DetailedReport(report=report, steps=steps, previous=previous, previous_rows=rows)


async def read_all_rows(
    run: ReportRun, query: ReportQuery, comparison: DayComparison | None
) -> tuple[NamedRows, PreviousRows | None]:
    """Return all rows of a query, and of the days to compare with. They stay in its memory."""
    run.progress.expect(1 + (comparison is not None))
    if comparison is None:
        report = await read_whole(run, "report", query)
        run.memory.shrink_to(report.bytes())
        return report, None
    days = await other_days(run, comparison)
    previous = await read_previous_rows(run, query, days)
    report = await read_whole(run, "report", query, previous.keys)
    run.memory.shrink_to(report.bytes() + previous.bytes())
    return report, previous
