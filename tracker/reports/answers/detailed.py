"""Reports with details: the rows of a page, their series, and both for other days."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, get_args
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tracker.reports.answers.previous import PreviousFigures, previous_parts, read_previous
from tracker.reports.answers.reports import WholeReport
from tracker.reports.answers.request_parts import Parts
from tracker.reports.comparison import Comparison, OtherDays
from tracker.reports.dimensions import DOMAIN, EVENT, FILTERS, NO_KEY, TAG
from tracker.reports.memory import Reservation
from tracker.reports.periods import DayRange
from tracker.reports.query import FilterValue, GroupRow, Measures, Report, ReportQuery
from tracker.reports.series import NO_MEASURES, Interval, Step, step_keys
from tracker.reports.threads import in_thread
from tracker.visitor_dimensions import UNKNOWN

_NAME: Final = "compare"
_OF_TIME: Final[tuple[Interval, ...]] = get_args(Interval)
_ALL_ROWS: Final = 10**6

MAX_PREVIOUS_PARTS: Final = 2
"""The parts that `previous_measures` reads at most."""


class DetailedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A report and its details, from one snapshot. `previous_rows` is by the keys of its rows."""

    at: datetime
    report: Report
    steps: Sequence[Step] | None
    previous: PreviousFigures | None
    previous_rows: Mapping[str, Measures] | None


class PreviousReport:
    """All rows of other days. `paired` maps keys to their counterparts, if these differ."""

    def __init__(self, report: WholeReport, paired: Mapping[str, str] | None) -> None:
        self._report = report
        self._paired = paired
        self._numbers = {key: number for number, key in enumerate(report.keys)}

    def bytes(self) -> int:
        """Return their approximate size in memory."""
        return 2 * self._report.bytes()

    def of(self, rows: Sequence[GroupRow]) -> Mapping[str, Measures]:
        keys, paired = [row.key for row in rows], self._paired
        numbers = {
            key: self._numbers.get(key if paired is None else paired.get(key, "")) for key in keys
        }
        found = {key: number for key, number in numbers.items() if number is not None}
        measures = self._report.measures(list(found.values()))
        return dict.fromkeys(keys, NO_MEASURES) | dict(zip(found, measures, strict=True))


async def read_detailed(
    parts: Parts, query: ReportQuery, interval: Interval | None, comparison: Comparison | None
) -> DetailedReport:
    days = None if comparison is None else await parts.other_days(comparison)
    count = 0 if days is None else MAX_PREVIOUS_PARTS + previous_parts(interval, days)
    parts.expect_parts(1 + (interval is not None) + count)
    report = await parts.run("report", query)
    steps = None
    if interval is not None:
        steps = (await parts.series("interval", query, interval)).steps
    previous, rows = None, None
    if days is not None:
        rows = await previous_measures(parts, query, report.rows, days)
        previous = await read_previous(parts, query, interval, days)
    return DetailedReport(
        at=parts.at, report=report, steps=steps, previous=previous, previous_rows=rows
    )


async def read_whole(
    parts: Parts, query: ReportQuery, comparison: Comparison | None, reservation: Reservation
) -> tuple[WholeReport, PreviousReport | None]:
    """Return all rows of a query, and of the days to compare with. They use the `reservation`."""
    parts.expect_parts(1 + (comparison is not None))
    report = await parts.whole("report", query, reservation)
    previous = None
    if comparison is not None:
        previous = await _previous_report(
            parts, query, await parts.other_days(comparison), reservation
        )
    reservation.shrink_to(report.bytes() + (0 if previous is None else previous.bytes()))
    return report, previous


async def previous_measures(
    parts: Parts, query: ReportQuery, rows: Sequence[GroupRow], days: OtherDays
) -> Mapping[str, Measures]:
    """Return the measures of a query's `rows` on other days, by their keys.

    The first hour, day, week or month is compared with the first of the other days, and so on.
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


async def _previous_report(
    parts: Parts, query: ReportQuery, days: OtherDays, reservation: Reservation
) -> PreviousReport:
    other = _of_days(query, days)
    report = await parts.whole(_NAME, other, reservation)
    # In a thread: there may be a million.
    return await in_thread(PreviousReport, report, _paired(parts, query, other))


def _of_days(query: ReportQuery, days: OtherDays) -> ReportQuery:
    """Return the query for all rows on other days."""
    return days.of(replace(query, sort="key", search=None, page=1, page_size=_ALL_ROWS))


def _paired(parts: Parts, query: ReportQuery, other: ReportQuery) -> Mapping[str, str] | None:
    """Return the counterparts of the keys of time; None for other dimensions."""
    for interval in _OF_TIME:
        if interval == query.group_by:
            keys, other_keys = [
                step_keys(DayRange(one.first, one.last), interval, parts.calendar)
                for one in (query, other)
            ]
            return dict(zip(keys, other_keys, strict=False))
    return None


def _narrowed(query: ReportQuery, keys: Sequence[str]) -> Sequence[ReportQuery]:
    """Return queries for these rows and few others: a link is one row of many."""
    dimension = query.group_by
    # Events are few. A second filter by tags would count other links.
    is_filtered = dimension in FILTERS and dimension != EVENT
    if not is_filtered or (dimension == TAG and TAG in query.filters):
        return [query]
    without = NO_KEY.get(dimension)
    named: list[FilterValue] = [key for key in keys if key != without]
    if FILTERS[dimension].are_ids:
        named = [UUID(str(key)) for key in named]
    queries = []
    if named:
        # The rows' own tags: `all_tags` had no meaning without a filter by tags.
        own = {**query.filters, dimension: named}
        queries.append(replace(query, filters=own, all_tags=query.all_tags and dimension != TAG))
    if without in keys:  # conversions without a click have neither link nor domain
        queries.append(replace(query, filters={**query.filters, DOMAIN: [UNKNOWN]}))
    return queries
