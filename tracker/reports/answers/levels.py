"""Cross tables: rows by up to three dimensions, each a level of the rows below those of the one
before. Every level is summed up from one table of counts, so that a row is the sum of those below.
"""

from typing import Any

from msgspec.structs import replace

from tracker.ids import parse_id
from tracker.reports.answers.rows import key_column
from tracker.reports.answers.tags import with_tag
from tracker.reports.arrays import np
from tracker.reports.columns import Columns, passing
from tracker.reports.dimensions import DIMENSIONS, LINK, TAG
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.query import ReportQuery
from tracker.reports.threads import in_thread_if_large
from tracker.visitor_dimensions import UNKNOWN


def narrowed(scope: ReportScope, query: ReportQuery) -> ReportQuery:
    """Return the query without levels below its rows, and with parents as filters.

    With costs of periods it stays: their parts are rounded in the table of all levels. Raises
    BadRequest if a parent is no id.
    """
    if scope.has_costs:
        return query
    filters: dict[str, Any] = {**query.filters}
    for name, key in zip(query.levels, query.parents, strict=False):
        if DIMENSIONS[name].filter is None or name in filters:
            continue
        if name not in (LINK, TAG):
            filters[name] = [key]
        elif key != UNKNOWN:
            filters[name] = [parse_id("parents", key)]
    return replace(query, levels=query.levels[: len(query.parents) + 1], filters=filters)


async def of_parents(run: ReportRun, query: ReportQuery, table: Columns) -> Columns:
    """Return the counts of the row of a query's parents."""
    for name, key in zip(query.levels, query.parents, strict=False):
        if name == TAG:
            is_seen = query.within is None or key in map(str, query.within)
            table = await with_tag(run, table, key if is_seen else UNKNOWN)
        else:
            table = await in_thread_if_large(table.rows, _of_key, run, table, name, key)
    return table


def _of_key(run: ReportRun, table: Columns, name: str, key: str) -> Columns:
    column = key_column(table, name, run.scope, run.host)
    return table.of_rows(np.flatnonzero(passing(column.values, {key})[column.codes]))
