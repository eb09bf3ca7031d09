"""The series and the totals of the days that a report is compared with.

The steps are whole, so that a picture shows them as they were. Totals, and the step that is
compared with the unfinished one, end where the compared part ends.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from tracker.calendar import Calendar
from tracker.reports.answers.request_parts import Parts
from tracker.reports.comparison import OtherDays
from tracker.reports.periods import DayRange
from tracker.reports.query import Measures, Query
from tracker.reports.series import Interval, Step, step_at, step_keys


class Before(NamedTuple):
    """The totals of the compared part of other `days`, and the `steps` of all of them.

    `step` is the part of the step that is compared with the unfinished one: None if there is no
    such step, or if it is compared with another one, such as a week that begins earlier.
    """

    days: OtherDays
    totals: Measures
    steps: Sequence[Step] | None = None
    step: Measures | None = None


def parts_before(interval: Interval | None, days: OtherDays) -> int:
    return 1 if interval is None or days.until is None else 2


async def read_before(
    parts: Parts, query: Query, interval: Interval | None, days: OtherDays
) -> Before:
    """Return what a query finds of the days that its own are compared with.

    Raises as `Parts.series`.
    """
    if interval is None:
        return Before(days, await parts.totals("compare", days.of(query)))
    whole = await parts.series("compare", days.whole(query), interval)
    if days.until is None:
        return Before(days, whole.totals, whole.steps)
    part = await parts.series("compare", days.of(query), interval)
    number = _number_at(parts.at, DayRange(query.first, query.last), interval, parts.calendar)
    is_paired = number == _number_at(days.until, days.days, interval, parts.calendar)
    step = part.steps[number].measures if is_paired else None
    return Before(days, part.totals, whole.steps, step)


def _number_at(at: datetime, days: DayRange, interval: Interval, calendar: Calendar) -> int:
    """Return the number of the step of `days` that a moment is in."""
    return step_keys(days, interval, calendar).index(step_at(at, interval, calendar))
