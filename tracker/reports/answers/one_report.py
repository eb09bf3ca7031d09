"""One report of a run: a page of its rows, all of them, or its series.

Raises BadRequest for too many values, and Unavailable if memory is short; else as `ReportRun.part`.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from tracker.reports import arrays
from tracker.reports.answers.cut_reading import CutReading
from tracker.reports.answers.names import has_text, name_of, records_with_text, stored_names
from tracker.reports.answers.reading import Reading
from tracker.reports.answers.rows import ReportRows, rows_of, totals_of
from tracker.reports.answers.selection import selection_of
from tracker.reports.answers.tags import by_tag
from tracker.reports.dimensions import TAG
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.periods import DayRange
from tracker.reports.query import GroupRow, Measures, Report, ReportQuery
from tracker.reports.series import Interval, Step, row_dimension, series_of, step_keys
from tracker.reports.threads import in_thread, in_thread_if_large


class WholeReport:
    """The rows of a report as arrays, which take less memory than objects."""

    def __init__(self, group_by: str, rows: ReportRows, stored_names: Mapping[str, str]) -> None:
        self.keys = rows.keys
        self._group_by = group_by
        self._rows = rows
        self._stored_names = stored_names

    def bytes(self) -> int:
        return self._rows.bytes()

    def piece(self, first: int, size: int) -> Sequence[GroupRow]:
        """Return `size` rows from number `first` on, fewer at the end."""
        page = self._rows.page(first, size)
        return [
            GroupRow(
                key=key, name=name_of(self._group_by, key, self._stored_names), measures=measures
            )
            for key, measures in zip(page.keys, page.measures(), strict=True)
        ]


class Series(NamedTuple):
    """The steps of a range, and its totals."""

    steps: Sequence[Step]
    totals: Measures


async def read_page(
    run: ReportRun, name: str, query: ReportQuery, also: Collection[str] = ()
) -> Report:
    """Return the page of a query. Keys of `also` have rows, of zeros if need be."""
    taken = run.memory.bytes
    async with run.part(name):
        try:
            return await _page(run, query, also)
        finally:
            # Its tables are freed by now.
            run.memory.shrink_to(taken)


async def read_rows(run: ReportRun, name: str, query: ReportQuery) -> ReportRows:
    """Return all rows in no order, in memory that the caller frees."""
    async with run.part(name):
        rows, _ = await _found(run, query)
    return rows


async def read_whole(
    run: ReportRun, name: str, query: ReportQuery, also: Collection[str] = ()
) -> WholeReport:
    """Return all rows in order, in memory that the caller frees."""
    async with run.part(name):
        found, _ = await _found(run, query, also)
        rows = await _ordered(run, query, found, len(found.keys))
        names = await stored_names(run.reader, query.group_by, rows.keys)
    return WholeReport(query.group_by, rows, names)


async def read_totals(run: ReportRun, name: str, query: ReportQuery) -> Measures:
    """Return the totals of a query, which are equal in every dimension."""
    return (await read_page(run, name, _by_time(query, "day", 1))).totals


async def read_series(run: ReportRun, name: str, query: ReportQuery, interval: Interval) -> Series:
    """Return the series of a query's days. Raises also as `step_keys`."""
    days, calendar = DayRange(query.first, query.last), run.scope.calendar
    dimension = row_dimension(interval)
    count = len(step_keys(days, dimension, calendar))
    report = await read_page(run, name, _by_time(query, dimension, count))
    return Series(series_of(report.rows, days, interval, calendar), report.totals)


def _by_time(query: ReportQuery, group_by: Interval, rows: int) -> ReportQuery:
    """Return the query for all rows by a dimension of time."""
    size = max(rows, 1)
    return replace(query, group_by=group_by, sort="key", search=None, page=1, page_size=size)


async def _page(run: ReportRun, query: ReportQuery, also: Collection[str]) -> Report:
    rows, totals = await _found(run, query, also)
    first = (query.page - 1) * query.page_size
    ordered = await _ordered(run, query, rows, first + query.page_size)
    names = await stored_names(
        run.reader, query.group_by, ordered.page(first, query.page_size).keys
    )
    page = WholeReport(query.group_by, ordered, names).piece(first, query.page_size)
    return Report(rows=page, total_rows=len(rows.keys), totals=totals)


async def _found(
    run: ReportRun, query: ReportQuery, also: Collection[str] = ()
) -> tuple[ReportRows, Measures]:
    """Return the rows that pass the filters and the search, in no order, and the totals."""
    await arrays.load()
    # Tests have no rollups to cut.
    read = CutReading if query.until is not None and query.tests != "only" else Reading
    table = await read(run, query, await selection_of(run, query)).table()
    keyed = await by_tag(run, table) if query.group_by == TAG else table
    group_by, calendar = query.group_by, run.scope.calendar
    rows = await in_thread_if_large(
        keyed.rows, rows_of, keyed, group_by, query.bots, calendar, run.host
    )
    if also:
        rows = await in_thread_if_large(len(also) + len(rows.keys), rows.with_keys, also)
    if query.search:
        text = query.search
        found = await records_with_text(run.reader, query.account_id, group_by, text)
        rows = await in_thread(
            rows.chosen, lambda key: key in found or has_text(group_by, key, text)
        )
    return rows, totals_of(table, query.bots)


async def _ordered(
    run: ReportRun, query: ReportQuery, rows: ReportRows, at_most: int
) -> ReportRows:
    stored: dict[str, str] = {}
    if query.sort == "name":
        stored = await stored_names(run.reader, query.group_by, rows.keys)
    name = partial(name_of, query.group_by, stored=stored)
    return await in_thread_if_large(
        len(rows.keys), rows.ordered, query.sort, query.descending, name, at_most
    )
