"""One report of a run: a page of its rows, all of them, or its series.

Raises BadRequest for too many values, and Unavailable if memory is short; else as `ReportRun.part`.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tracker.ids import id_text
from tracker.reports import arrays, columns
from tracker.reports.answers.costs import CostParts, cost_parts
from tracker.reports.answers.currencies import by_currency, other_currencies
from tracker.reports.answers.cut_reading import CutReading
from tracker.reports.answers.names import NamedRows, named_rows, rows_with_text
from tracker.reports.answers.reading import Reading
from tracker.reports.answers.rows import PreviousRows, ReportRows, rows_of, totals_of
from tracker.reports.answers.selection import of_parents, selection_of
from tracker.reports.answers.tags import by_tag
from tracker.reports.columns import Columns
from tracker.reports.dimensions import TAG
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.periods import DayRange, Interval, step_keys
from tracker.reports.query import Measures, Report, ReportQuery
from tracker.reports.series import Step, row_dimension, series_of
from tracker.reports.threads import in_thread_if_large


class Series(NamedTuple):
    """The steps of a range, and its totals."""

    steps: Sequence[Step]
    totals: Measures


class Counts(NamedTuple):
    """The counts of a query with the parts of its `costs`, and those in other currencies."""

    table: Columns
    crossed: Columns | None
    costs: CostParts | None


async def read_page(
    run: ReportRun, name: str, query: ReportQuery, previous: PreviousRows | None = None
) -> Report:
    """Return the page of a query. Rows of `previous` days have rows, of zeros if need be."""
    async with run.part(name):
        return await page_of(run, query, await found_rows(run, query, previous), previous)


async def page_of(
    run: ReportRun,
    query: ReportQuery,
    found: tuple[ReportRows, Measures],
    previous: PreviousRows | None,
) -> Report:
    """Return the page of a query whose rows and totals have been found."""
    (rows, totals), size = found, query.page_size
    page = await named_rows(run.reader, query, rows, (query.page - 1) * size, size, previous)
    return Report(rows=page.piece(0, size), total_rows=len(rows.keys), totals=totals)


async def read_rows(run: ReportRun, name: str, query: ReportQuery) -> ReportRows:
    """Return all rows in no order, in memory that the caller frees."""
    async with run.part(name, keeps_memory=True):
        rows, _ = await found_rows(run, query)
    return rows


async def read_of_links(run: ReportRun, query: ReportQuery, ids: Collection[bytes]) -> ReportRows:
    """Return the page of a query by link whose rows are these links, of zeros if need be."""
    async with run.part("report"):
        rows, _ = await found_rows(run, query)
        return await in_thread_if_large(len(ids) + len(rows.keys), _page_of_links, rows, query, ids)


def _page_of_links(rows: ReportRows, query: ReportQuery, ids: Collection[bytes]) -> ReportRows:
    first, size = (query.page - 1) * query.page_size, query.page_size
    keys = list(map(id_text, ids))
    chosen = rows.chosen(frozenset(keys).__contains__).with_keys(keys)
    return chosen.ordered(query.sort, query.descending, str, first + size).page(first, size)


async def read_whole(
    run: ReportRun, name: str, query: ReportQuery, previous: PreviousRows | None = None
) -> NamedRows:
    """Return all rows in order, in memory that the caller frees."""
    async with run.part(name, keeps_memory=True):
        rows, _ = await found_rows(run, query, previous)
        return await named_rows(run.reader, query, rows, 0, len(rows.keys), previous)


async def read_totals(run: ReportRun, name: str, query: ReportQuery) -> Measures:
    """Return the totals of a query, which are equal in every dimension."""
    async with run.part(name):
        _, totals = await found_rows(run, replace(query, group_by="day", search=None, having=()))
    return totals


async def read_series(run: ReportRun, name: str, query: ReportQuery, interval: Interval) -> Series:
    """Return the series of a query's days. Raises also as `step_keys`."""
    steps = step_keys(DayRange(query.first, query.last), interval, run.scope.calendar)
    async with run.part(name):
        by_time = replace(query, group_by=row_dimension(interval), search=None, having=())
        rows, totals = await found_rows(run, by_time)
    measures = dict(zip(rows.keys, rows.measures(), strict=True))
    return Series(series_of(measures, steps, interval), totals)


async def read_counts(run: ReportRun, query: ReportQuery) -> Counts:
    await arrays.load()
    # Tests have no rollups to cut.
    read = CutReading if query.until is not None and query.tests != "only" else Reading
    selection = await selection_of(run, query)
    reading = read(run, query, selection)
    table = await reading.table()
    crossed = await by_currency(run, query, read, selection, table)
    costs = await cost_parts(run, query, read, reading.names)
    if costs is not None:
        table = columns.joined([table, costs.table], reading.names)
    return Counts(table, crossed, costs)


async def found_rows(
    run: ReportRun, query: ReportQuery, previous: PreviousRows | None = None
) -> tuple[ReportRows, Measures]:
    """Return the rows that pass filters, search and conditions, in no order, and the totals."""
    table, crossed, costs = await read_counts(run, query)
    others = await other_currencies(run, query, crossed)
    table = await of_parents(run, query, table)
    keyed = await by_tag(run, table, query.within) if query.group_by == TAG else table
    rows = await in_thread_if_large(
        keyed.rows, rows_of, keyed, query.group_by, query.bots, run.scope, run.host
    )
    rows = rows.with_currencies(others.by_key)
    if previous is not None:
        count = len(previous.keys) + len(rows.keys)
        rows = await in_thread_if_large(count, rows.with_keys, previous.keys)
    if query.having:
        rows = await in_thread_if_large(len(rows.keys), rows.having, query.having)
    if query.search:
        rows = await rows_with_text(run.reader, query, rows)
    totals = totals_of(table, query.bots, others.totals)
    return rows, totals if costs is None or query.parents else costs.beside(totals)
