"""Reports with details: their series, and the rows, totals and series of other days beside them.

The other days are read first. A row of either time is a row of the report, so their keys take part
in the order, the pages and the limits.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, get_args

import msgspec
from msgspec.structs import replace

from tracker.calendar import Calendar
from tracker.reports.answers.names import NamedRows
from tracker.reports.answers.one_report import (
    found_rows,
    page_of,
    read_page,
    read_rows,
    read_series,
    read_totals,
    read_whole,
)
from tracker.reports.answers.rows import PreviousRows
from tracker.reports.answers.selection import narrowed
from tracker.reports.arrays import np
from tracker.reports.comparison import DayComparison, OtherDays
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.periods import DayRange, Interval, step_at, step_keys
from tracker.reports.query import GroupRow, Measures, Report, ReportQuery
from tracker.reports.series import Step
from tracker.reports.threads import in_thread_if_large
from tracker.stores.mongodb.retention import first_complete_day

_OF_TIME: Final[tuple[Interval, ...]] = get_args(Interval)

_NO_COUNTERPART: Final = "none"
"""The key of no hour, day, week or month."""


class PreviousFigures(NamedTuple):
    """The totals of the compared part of other `days`, and their whole `steps`.

    `step` is the compared part of the unfinished step's counterpart. None if there is no such step,
    or if the counterpart is another one, as in weeks.
    """

    days: OtherDays
    totals: Measures
    steps: Sequence[Step] | None = None
    step: Measures | None = None

    def figures(self) -> Sequence[Measures]:
        return [self.totals, *(step.measures for step in self.steps or ())]


class Movers(NamedTuple):
    """The rows that rose most and fell most since other days, with their measures `before`."""

    gained: Sequence[GroupRow]
    lost: Sequence[GroupRow]
    before: Mapping[str, Measures]


class DetailedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A report and its details. `previous_rows` is by the keys of its rows."""

    report: Report
    steps: Sequence[Step] | None
    previous: PreviousFigures | None
    previous_rows: Mapping[str, Measures] | None


async def read_detailed(
    run: ReportRun, query: ReportQuery, interval: Interval | None, comparison: DayComparison | None
) -> DetailedReport:
    query = narrowed(run.scope, query)
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
    report = await read_whole(run, "report", query, previous)
    run.memory.shrink_to(report.bytes() + previous.bytes())
    return report, previous


async def other_days(run: ReportRun, comparison: DayComparison) -> OtherDays:
    """Return the other days, up to the counterpart of the run's moment.

    Where clicks may be deleted, they end with the hour before, because counts have no minutes.
    Raises BadRequest if the calendar lacks the days.
    """
    calendar = run.scope.calendar
    try:
        found = comparison.at(calendar, run.at)
    except OverflowError:
        raise run.no_days("compare") from None
    if found.until is None:
        return found
    hour = calendar.start_of_hour(*calendar.day_and_hour(found.until))
    is_kept = await first_complete_day(run.database) <= hour.date().isoformat()
    return found if is_kept else found._replace(until=hour)


async def read_compared(
    run: ReportRun, name: str, query: ReportQuery, days: OtherDays | None
) -> tuple[Report, Mapping[str, Measures] | None]:
    """Return the page of a query, and the measures of its rows on other days, by their keys."""
    if days is None:
        return await read_page(run, name, query), None
    taken = run.memory.bytes
    previous = await read_previous_rows(run, query, days)
    report = await read_page(run, name, query, previous)
    found = previous.of(report.rows)
    run.memory.shrink_to(taken)
    return report, found


async def read_movers(
    run: ReportRun, name: str, query: ReportQuery, moving: ReportQuery, days: OtherDays
) -> tuple[Report, Movers]:
    """Return the page of a query, and the first of its rows that rose, and that fell, by the change
    of the `sort` of `moving`. `before` has the measures of all of them.
    """
    taken = run.memory.bytes
    previous = await read_previous_rows(run, query, days)
    async with run.part(name):
        rows, totals = await found_rows(run, query, previous)
        pages = [await page_of(run, query, (rows, totals), previous)]
        change = await in_thread_if_large(len(rows.keys), rows.change, moving.sort, previous)
        for descending, passing in ((True, change > 0), (False, change < 0)):
            moved = rows.at(np.flatnonzero(passing)), totals
            order = replace(moving, descending=descending)
            pages.append(await page_of(run, order, moved, previous))
    report, gained, lost = pages
    before = previous.of([row for page in pages for row in page.rows])
    run.memory.shrink_to(taken)
    return report, Movers(gained.rows, lost.rows, before)


async def read_previous_rows(run: ReportRun, query: ReportQuery, days: OtherDays) -> PreviousRows:
    """Return the rows of other days. They alone stay in the run's memory."""
    taken = run.memory.bytes
    # The report searches in its own keys, and has its own conditions.
    other = _of_parents(run, query, days.of(replace(query, search=None, having=())))
    rows = await read_rows(run, "compare", other)
    paired = paired_keys(run.scope.calendar, query.group_by, query, other)
    found = await in_thread_if_large(len(rows.keys), PreviousRows, rows, paired)
    run.memory.shrink_to(taken + found.bytes())
    return found


def _of_parents(run: ReportRun, query: ReportQuery, other: ReportQuery) -> ReportQuery:
    """Return the query of other days with the counterparts of its parents."""
    parents = []
    for name, key in zip(query.levels, query.parents, strict=False):
        paired = paired_keys(run.scope.calendar, name, query, other)
        parents.append(key if paired is None else paired.get(key, _NO_COUNTERPART))
    return replace(other, parents=parents)


def paired_keys(
    calendar: Calendar, group_by: str, query: ReportQuery, other: ReportQuery
) -> Mapping[str, str] | None:
    """Return the counterparts of the keys of time; None for other dimensions.

    The first hour, day, week or month is compared with the first of the other days, and so on.
    """
    for interval in _OF_TIME:
        if interval == group_by:
            keys, other_keys = [
                step_keys(DayRange(one.first, one.last), interval, calendar)
                for one in (query, other)
            ]
            return dict(zip(keys, other_keys, strict=False))
    return None


def previous_parts(interval: Interval | None, days: OtherDays) -> int:
    """Return the number of parts of `read_previous`."""
    return 1 if interval is None or days.until is None else 2


async def read_previous(
    run: ReportRun, query: ReportQuery, interval: Interval | None, days: OtherDays
) -> PreviousFigures:
    """Return the figures of other days.

    Steps are whole, as charts show them. Totals, and the counterpart of the unfinished step, end
    with the compared part.
    """
    if interval is None:
        other = _of_parents(run, query, days.of(query))
        return PreviousFigures(days, await read_totals(run, "compare", other))
    whole = await read_series(run, "compare", days.whole(query), interval)
    if days.until is None:
        return PreviousFigures(days, whole.totals, whole.steps)
    part = await read_series(run, "compare", days.of(query), interval)
    calendar = run.scope.calendar
    number = _number_at(run.at, DayRange(query.first, query.last), interval, calendar)
    is_paired = number == _number_at(days.until, days.days, interval, calendar)
    step = part.steps[number].measures if is_paired else None
    return PreviousFigures(days, part.totals, whole.steps, step)


def _number_at(at: datetime, days: DayRange, interval: Interval, calendar: Calendar) -> int:
    """Return the number of the step that contains a moment."""
    return step_keys(days, interval, calendar).index(step_at(at, interval, calendar))
