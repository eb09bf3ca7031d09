"""Rolling periods: days that depend on the day on which they are asked for. Pure."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Final, Literal

from tracker.reports.periods import DayRange

RollingPeriod = Literal["today", "yesterday", "week", "last_week", "month", "last_month", "year"]
"""`week`, `month` and `year` go up to today. Weeks begin on Monday."""

_DAY: Final = timedelta(days=1)


def days_of(period: RollingPeriod, today: date) -> DayRange:
    """Return the days of a period. Raises OverflowError if dates do not have them."""
    return _DAYS_OF[period](today)


def _yesterday(today: date) -> DayRange:
    return DayRange(today - _DAY, today - _DAY)


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
    "yesterday": _yesterday,
    "week": lambda today: DayRange(_monday_of(today), today),
    "last_week": _last_week,
    "month": lambda today: DayRange(today.replace(day=1), today),
    "last_month": _last_month,
    "year": lambda today: DayRange(today.replace(month=1, day=1), today),
}
