"""The rows of a report, read again of other days."""

from collections.abc import Mapping, Sequence
from typing import Final, get_args
from uuid import UUID

from msgspec.structs import replace

from tracker.clicks.country import UNKNOWN
from tracker.reports.day_range import DayRange
from tracker.reports.dimensions import NO_KEY
from tracker.reports.memory import Reservation
from tracker.reports.parts import Parts
from tracker.reports.query import Measures, Query, Row, Value
from tracker.reports.series import NO_MEASURES, Interval, step_keys
from tracker.reports.threads import in_thread
from tracker.reports.whole_report import WholeReport

_NAME: Final = "compare"
_OF_TIME: Final[tuple[Interval, ...]] = get_args(Interval)
_NOT_FILTERED: Final = ("event", "hour_of_day", "weekday", "hour_of_week")
"""Dimensions with so few rows that all of them are read."""

_ALL_ROWS: Final = 10**6

MAX_PARTS_BEFORE: Final = 2
"""Parts that `measures_before` reads at most."""


async def measures_before(
    parts: Parts, query: Query, rows: Sequence[Row], days: DayRange
) -> Mapping[str, Measures]:
    """Return the measures of `rows`, which a query has found, of other days: by their keys.

    The first hour, day, week or month is compared with the first of the other days, and so on.
    Raises as `Parts.run`.
    """
    if not rows:
        return {}
    other = _of_days(query, days)
    paired = _paired(parts, query, other)
    found: dict[str, Measures] = {}
    keys = [row.key for row in rows]
    for one in [other] if paired is not None else _narrowed(other, keys):
        report = await parts.run(_NAME, one)
        found |= {row.key: row.measures for row in report.rows}
    return {
        key: found.get(key if paired is None else paired.get(key, ""), NO_MEASURES) for key in keys
    }


class WholeBefore:
    """The measures of all rows of other days, for those who take rows piece by piece.

    `paired` has the key that each key is compared with, if that is not the same.
    """

    def __init__(self, report: WholeReport, paired: Mapping[str, str] | None) -> None:
        self._report = report
        self._paired = paired
        self._numbers = {key: number for number, key in enumerate(report.keys)}

    def bytes(self) -> int:
        """Return about how many bytes they take."""
        return 2 * self._report.bytes()

    def of(self, rows: Sequence[Row]) -> Mapping[str, Measures]:
        """Return the measures of `rows` of the other days, by their keys."""
        keys, paired = [row.key for row in rows], self._paired
        numbers = {
            key: self._numbers.get(key if paired is None else paired.get(key, "")) for key in keys
        }
        found = {key: number for key, number in numbers.items() if number is not None}
        measures = self._report.measures(list(found.values()))
        return dict.fromkeys(keys, NO_MEASURES) | dict(zip(found, measures, strict=True))


async def whole_before(
    parts: Parts, query: Query, days: DayRange, held: Reservation
) -> WholeBefore:
    """Return the measures of all rows of a query on other days, in memory that is `held`.

    Raises as `Parts.run`.
    """
    other = _of_days(query, days)
    report = await parts.whole(_NAME, other, held)
    # In a thread, because there may be a million.
    return await in_thread(WholeBefore, report, _paired(parts, query, other))


def _of_days(query: Query, days: DayRange) -> Query:
    """Return the query of all rows on other days."""
    every = replace(query, sort="key", search=None, page=1, page_size=_ALL_ROWS)
    return replace(every, first=days.first, last=days.last)


def _paired(parts: Parts, query: Query, other: Query) -> Mapping[str, str] | None:
    """Return the key of `other` that each key of `query` is compared with, if it has another."""
    for interval in _OF_TIME:
        if interval == query.group_by:
            keys, other_keys = [
                step_keys(DayRange(one.first, one.last), interval, parts.calendar)
                for one in (query, other)
            ]
            return dict(zip(keys, other_keys, strict=False))
    return None


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
