"""The rows of a report beside those of other days. A row of either time is a row of the report.

The other days are read first: their keys take part in the order, the pages and the limits.
"""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from msgspec.structs import replace

from tracker.reports.answers.request_parts import Parts
from tracker.reports.answers.rows import Rows
from tracker.reports.comparison import OtherDays
from tracker.reports.memory import Reservation
from tracker.reports.periods import DayRange
from tracker.reports.query import GroupRow, Measures, Report, ReportQuery
from tracker.reports.series import NO_MEASURES, Interval, step_keys
from tracker.reports.threads import in_thread_if_large

_OF_TIME: Final[tuple[Interval, ...]] = get_args(Interval)


class PreviousRows:
    """All rows of other days. `paired` maps keys to their counterparts, if these differ.

    `keys` are their keys in the report: a counterpart's, in place of an hour, day, week or month.
    """

    def __init__(self, rows: Rows, paired: Mapping[str, str] | None) -> None:
        self._rows = rows
        numbers = {key: number for number, key in enumerate(rows.keys)}
        if paired is not None:
            numbers = {key: numbers[one] for key, one in paired.items() if one in numbers}
        self._numbers = numbers
        self.keys = numbers.keys()

    def bytes(self) -> int:
        """Return their approximate size in memory."""
        return 2 * self._rows.bytes()

    def of(self, rows: Sequence[GroupRow]) -> Mapping[str, Measures]:
        found = {row.key: self._numbers[row.key] for row in rows if row.key in self._numbers}
        measures = self._rows.at(list(found.values())).measures()
        return dict.fromkeys((row.key for row in rows), NO_MEASURES) | dict(
            zip(found, measures, strict=True)
        )


async def run_compared(
    parts: Parts, name: str, query: ReportQuery, days: OtherDays | None
) -> tuple[Report, Mapping[str, Measures] | None]:
    """Return the report of a part, and the measures of its rows on other days, by their keys."""
    if days is None:
        return await parts.run(name, query), None
    with parts.reserve() as reservation:
        previous = await read_previous_rows(parts, query, days, reservation)
        report = await parts.run(name, query, previous.keys, reservation)
        return report, previous.of(report.rows)


async def read_previous_rows(
    parts: Parts, query: ReportQuery, days: OtherDays, reservation: Reservation
) -> PreviousRows:
    """Return the rows of other days. They alone stay in the `reservation`."""
    other = days.of(replace(query, search=None))  # the report searches in its own keys
    rows = await parts.rows("compare", other, reservation)
    found = await in_thread_if_large(
        len(rows.keys), PreviousRows, rows, _paired(parts, query, other)
    )
    reservation.shrink_to(found.bytes())
    return found


def _paired(parts: Parts, query: ReportQuery, other: ReportQuery) -> Mapping[str, str] | None:
    """Return the counterparts of the keys of time; None for other dimensions.

    The first hour, day, week or month is compared with the first of the other days, and so on.
    """
    for interval in _OF_TIME:
        if interval == query.group_by:
            keys, other_keys = [
                step_keys(DayRange(one.first, one.last), interval, parts.calendar)
                for one in (query, other)
            ]
            return dict(zip(keys, other_keys, strict=False))
    return None
