"""Reports with details: the rows of a page, their series, and both for other days."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from tracker.reports.answers.compared_rows import PreviousRows, read_previous_rows, run_compared
from tracker.reports.answers.previous import PreviousFigures, previous_parts, read_previous
from tracker.reports.answers.reports import WholeReport
from tracker.reports.answers.request_parts import Parts
from tracker.reports.comparison import Comparison
from tracker.reports.memory import Reservation
from tracker.reports.query import Measures, Report, ReportQuery
from tracker.reports.series import Interval, Step


class DetailedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A report and its details, from one snapshot. `previous_rows` is by the keys of its rows."""

    at: datetime
    report: Report
    steps: Sequence[Step] | None
    previous: PreviousFigures | None
    previous_rows: Mapping[str, Measures] | None


async def read_detailed(
    parts: Parts, query: ReportQuery, interval: Interval | None, comparison: Comparison | None
) -> DetailedReport:
    days = None if comparison is None else await parts.other_days(comparison)
    count = 0 if days is None else 1 + previous_parts(interval, days)
    parts.expect_parts(1 + (interval is not None) + count)
    report, rows = await run_compared(parts, "report", query, days)
    steps, previous = None, None
    if interval is not None:
        steps = (await parts.series("interval", query, interval)).steps
    if days is not None:
        previous = await read_previous(parts, query, interval, days)
    return DetailedReport(
        at=parts.at, report=report, steps=steps, previous=previous, previous_rows=rows
    )


async def read_whole(
    parts: Parts, query: ReportQuery, comparison: Comparison | None, reservation: Reservation
) -> tuple[WholeReport, PreviousRows | None]:
    """Return all rows of a query, and of the days to compare with. They use the `reservation`."""
    parts.expect_parts(1 + (comparison is not None))
    if comparison is None:
        report = await parts.whole("report", query, reservation)
        reservation.shrink_to(report.bytes())
        return report, None
    days = await parts.other_days(comparison)
    previous = await read_previous_rows(parts, query, days, reservation)
    report = await parts.whole("report", query, reservation, previous.keys)
    reservation.shrink_to(report.bytes() + previous.bytes())
    return report, previous
