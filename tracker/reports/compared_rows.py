"""The rows of a report, read again of other days."""

from collections.abc import Mapping, Sequence
from typing import Final, get_args
from uuid import UUID

from msgspec.structs import replace

from tracker.clicks.country import UNKNOWN
from tracker.reports.day_range import DayRange
from tracker.reports.dimensions import NO_KEY
from tracker.reports.parts import Parts
from tracker.reports.query import Measures, Query, Row, Value
from tracker.reports.series import NO_MEASURES, Interval, step_keys

_NAME: Final = "compare"
_OF_TIME: Final[tuple[Interval, ...]] = get_args(Interval)
_NOT_FILTERED: Final = ("event", "hour_of_day", "weekday", "hour_of_week")
"""Dimensions with so few rows that all of them are read."""

_ALL_ROWS: Final = 10**6


async def measures_before(
    parts: Parts, query: Query, rows: Sequence[Row], days: DayRange
) -> Mapping[str, Measures]:
    """Return the measures of `rows`, which a query has found, of other days: by their keys.

    The first hour, day, week or month is compared with the first of the other days, and so on.
    Raises as `Parts.run`.
    """
    if not rows:
        return {}
    other = replace(
        query,
        first=days.first,
        last=days.last,
        sort="key",
        search=None,
        page=1,
        page_size=_ALL_ROWS,
    )
    for interval in _OF_TIME:
        if interval == query.group_by:
            return await _of_time(parts, query, other, interval)
    found: dict[str, Measures] = {}
    for one in _narrowed(other, [row.key for row in rows]):
        report = await parts.run(_NAME, one)
        found |= {row.key: row.measures for row in report.rows}
    return {row.key: found.get(row.key, NO_MEASURES) for row in rows}


async def _of_time(
    parts: Parts, query: Query, other: Query, interval: Interval
) -> Mapping[str, Measures]:
    keys, other_keys = [
        step_keys(DayRange(one.first, one.last), interval, parts.calendar) for one in (query, other)
    ]
    report = await parts.run(_NAME, other)
    found = {row.key: row.measures for row in report.rows}
    paired = dict(zip(keys, other_keys, strict=False))
    return {key: found.get(paired.get(key, ""), NO_MEASURES) for key in keys}


def _narrowed(query: Query, keys: Sequence[str]) -> Sequence[Query]:
    """Return the queries that have the rows with these keys, and few others.

    A link has one row among as many as there are links, so its row is found by a filter.
    """
    dimension = query.group_by
    # With a filter by tags, a filter by the tags of the rows would count other links.
    if dimension in _NOT_FILTERED or (dimension == "tag" and "tag" in query.filters):
        return [query]
    without = NO_KEY.get(dimension)
    named: list[Value] = [key for key in keys if key != without]
    if dimension in ("link", "tag"):
        named = [UUID(str(key)) for key in named]
    queries = []
    if named:
        # Any of the rows' own tags: without a filter by tags, `all_tags` meant nothing until here.
        own = {**query.filters, dimension: named}
        queries.append(replace(query, filters=own, all_tags=query.all_tags and dimension != "tag"))
    if without in keys:  # conversions without a click have neither link nor domain
        queries.append(replace(query, filters={**query.filters, "domain": [UNKNOWN]}))
    return queries
