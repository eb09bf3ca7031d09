"""The series and totals of the days to compare a report with.

Steps are whole, as charts show them. Totals, and the counterpart of the unfinished step, end with
the compared part.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tracker.calendar import Calendar
from tracker.reports.answers.request_parts import Parts
from tracker.reports.comparison import OtherDays
from tracker.reports.periods import DayRange
from tracker.reports.query import Measures, ReportQuery
from tracker.reports.series import Interval, Step, step_at, step_keys


class PreviousFigures(NamedTuple):
    """The totals of the compared part of other `days`, and their whole `steps`.

    `step` is the compared part of the unfinished step's counterpart. None if there is no such step,
    or if the counterpart is another one, as in weeks.
    """

    days: OtherDays
    totals: Measures
    steps: Sequence[Step] | None = None
    step: Measures | None = None


def previous_parts(interval: Interval | None, days: OtherDays) -> int:
    return 1 if interval is None or days.until is None else 2


async def read_previous(
    parts: Parts, query: ReportQuery, interval: Interval | None, days: OtherDays
) -> PreviousFigures:
    if interval is None:
        return PreviousFigures(days, await parts.totals("compare", days.of(query)))
    whole = await parts.series("compare", days.whole(query), interval)
    if days.until is None:
        return PreviousFigures(days, whole.totals, whole.steps)
    part = await parts.series("compare", days.of(query), interval)
    number = _number_at(parts.at, DayRange(query.first, query.last), interval, parts.calendar)
    is_paired = number == _number_at(days.until, days.days, interval, parts.calendar)
    step = part.steps[number].measures if is_paired else None
    return PreviousFigures(days, part.totals, whole.steps, step)


def _number_at(at: datetime, days: DayRange, interval: Interval, calendar: Calendar) -> int:
    """Return the number of the step that contains a moment."""
    return step_keys(days, interval, calendar).index(step_at(at, interval, calendar))
