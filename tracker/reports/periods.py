"""Ranges of days, their steps, and the periods of joint counts: months, days and hours. Pure.

A report's range is cut into the fewest periods: whole finished months, then days, and hours of the
unfinished day. So most of them are cached.
"""

from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final, Literal, NamedTuple

from tracker.calendar import Calendar
from tracker.errors import BadRequest

ALLOWED_LATENESS: Final = timedelta(minutes=10)
"""Almost all clicks are stored within this time after their period. Later ones count too: the
cached counts then no longer match the rollups, and are computed again."""

Interval = Literal["hour", "day", "week", "month"]

PeriodKind = Literal["month", "day", "hours", "hour"]

RollingPeriod = Literal["today", "yesterday", "week", "last_week", "month", "last_month", "year"]
"""`week`, `month` and `year` end today. Weeks begin on Monday."""

_DAY: Final = timedelta(days=1)

_FEW_HOURS: Final = 2
"""Hours below which their sum saves nothing."""


class DayRange(NamedTuple):
    """Days from `first` to `last`, both included."""

    first: date
    last: date

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    def dates(self) -> Iterator[date]:
        # Not by adding a day to each: there is none after 9999-12-31.
        for number in range(self.first.toordinal(), self.last.toordinal() + 1):
            yield date.fromordinal(number)


class Period(NamedTuple):
    """A month, a day, the first `hours` of a day, or an `hour` of it. `end` is not included.

    `key` is its name in stored counts: `2026-01`, `2026-01-31`, `2026-01-31T first hours` or
    `2026-01-31T09`.
    """

    kind: PeriodKind
    key: str
    first: date
    last: date
    start: datetime
    end: datetime
    hour: int | None = None
    hours: int = 0

    def dates(self) -> Iterator[date]:
        yield from DayRange(self.first, self.last).dates()


def day_period(calendar: Calendar, day: date) -> Period:
    start, end = calendar.start_of(day), calendar.end_of(day)
    return Period("day", day.isoformat(), day, day, start, end)


def month_period(calendar: Calendar, day: date) -> Period:
    first, last = day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1])
    start, end = calendar.start_of(first), calendar.end_of(last)
    return Period("month", f"{first:%Y-%m}", first, last, start, end)


def hours_of(calendar: Calendar, day: date) -> list[Period]:
    return [_hour_of(calendar, day, hour) for hour in range(calendar.hours_in(day))]


def _hour_of(calendar: Calendar, day: date, hour: int) -> Period:
    start, end = calendar.start_of_hour(day, hour), calendar.end_of_hour(day, hour)
    return Period("hour", f"{day.isoformat()}T{hour:02}", day, day, start, end, hour)


def first_hours(calendar: Calendar, day: date, count: int) -> Period:
    """Return one period of the first hours. Its key is the same for any number of them."""
    start, end = calendar.start_of(day), calendar.end_of_hour(day, count - 1)
    key = f"{day.isoformat()}T first hours"
    return Period("hours", key, day, day, start, end, hours=count)


def with_first_hours(calendar: Calendar, hours: Sequence[Period], now: datetime) -> list[Period]:
    """Return all hours of a day, its finished hours as one period."""
    count = sum(is_over(hour, now) for hour in hours)
    if count < _FEW_HOURS:
        return list(hours)
    return [first_hours(calendar, hours[0].first, count), *hours[count:]]


def periods_of(
    calendar: Calendar, first: date, last: date, now: datetime, months: bool
) -> list[Period]:
    """Return the periods from `first` to `last`. Months are whole and over, if wanted."""
    found: list[Period] = []
    for day in DayRange(first, last).dates():
        if found and day <= found[-1].last:
            continue
        if months and day.day == 1:
            month = month_period(calendar, day)
            if month.last <= last and is_over(month, now):
                found.append(month)
                continue
        found.append(day_period(calendar, day))
    return found


def is_over(period: Period, now: datetime) -> bool:
    """Return whether a period ended so long ago that late clicks are stored too."""
    return period.end <= now - ALLOWED_LATENESS


def step_of(key: str, interval: str) -> str:
    """Return the key of the step that contains an hour or day. Weeks begin on Monday."""
    if interval == "month":
        return key[:7]
    if interval == "week":
        return _monday_of(date.fromisoformat(key)).isoformat()
    return key


def step_keys(days: DayRange, interval: Interval, calendar: Calendar) -> list[str]:
    """Return the keys of all steps, in order. Some days have 23 or 25 hours.

    A step that the range cuts off has the key of the whole step. Raises BadRequest for hours of the
    first day that dates have.
    """
    if interval != "hour":
        return list(dict.fromkeys(step_of(day.isoformat(), interval) for day in days.dates()))
    try:
        return [
            calendar.hour_text(day, hour)
            for day in days.dates()
            for hour in range(calendar.hours_in(day))
        ]
    except OverflowError:
        raise BadRequest("interval: hour is not for the first day of all dates") from None


def step_at(at: datetime, interval: Interval, calendar: Calendar) -> str:
    day, hour = calendar.day_and_hour(at)
    if interval == "hour":
        return calendar.hour_text(day, hour)
    return step_of(day.isoformat(), interval)


def days_of(period: RollingPeriod, today: date) -> DayRange:
    """Return the days of a period. Raises OverflowError if dates do not have them."""
    return _DAYS_OF[period](today)


def _last_week(today: date) -> DayRange:
    monday = _monday_of(today)
    return DayRange(monday - timedelta(days=7), monday - _DAY)


def _last_month(today: date) -> DayRange:
    last = today.replace(day=1) - _DAY
    return DayRange(last.replace(day=1), last)


def _monday_of(day: date) -> date:
    return day - timedelta(days=day.weekday())


_DAYS_OF: Final[Mapping[RollingPeriod, Callable[[date], DayRange]]] = {
    "today": lambda today: DayRange(today, today),
    "yesterday": lambda today: DayRange(today - _DAY, today - _DAY),
    "week": lambda today: DayRange(_monday_of(today), today),
    "last_week": _last_week,
    "month": lambda today: DayRange(today.replace(day=1), today),
    "last_month": _last_month,
    "year": lambda today: DayRange(today.replace(month=1, day=1), today),
}
