"""Series: the measures of a range in steps of an hour, day, week or month. Pure.

Steps without rows are zero. Weeks begin on Monday. A step that the range cuts off has the key of
the whole step.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Context, Decimal
from typing import Final, Literal

import msgspec

from tracker.calendar import Calendar
from tracker.errors import BadRequest
from tracker.reports.periods import DayRange, step_of
from tracker.reports.query import GroupRow, Measures

Interval = Literal["hour", "day", "week", "month"]

MAX_HOURLY_DAYS: Final = 31
"""The longest range in hours, which has as many steps as two years in days."""

_DEFAULTS: Final[tuple[tuple[int, Interval], ...]] = ((2, "hour"), (92, "day"), (366, "week"))
"""The longest range, in days, for which an interval is the default."""

NO_MEASURES: Final = Measures(
    clicks=0,
    unique_clicks=0,
    bot_clicks=0,
    conversions=0,
    attributed=0,
    value=Decimal(0),
    payout=Decimal(0),
)

# Sums of money have up to 34 digits.
_EXACT: Final = Context(prec=50)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a series, with the key of a report's row."""

    key: str
    measures: Measures


def default_interval(days: DayRange) -> Interval:
    return next((interval for most, interval in _DEFAULTS if days.days <= most), "month")


def row_dimension(interval: Interval) -> Literal["hour", "day"]:
    """Return the dimension whose rows make up the steps."""
    return "hour" if interval == "hour" else "day"


def step_keys(days: DayRange, interval: Interval, calendar: Calendar) -> list[str]:
    """Return the keys of all steps, in order. Some days have 23 or 25 hours.

    Raises BadRequest for hours of the first day that dates have.
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


def series_of(
    rows: Iterable[GroupRow], days: DayRange, interval: Interval, calendar: Calendar
) -> Sequence[Step]:
    """Return the steps of `days` from rows by `row_dimension`. Raises as `step_keys`."""
    sums = dict.fromkeys(step_keys(days, interval, calendar), NO_MEASURES)
    for row in rows:
        key = step_of(row.key, interval)
        sums[key] = _sum(sums[key], row.measures)
    return [Step(key=key, measures=measures) for key, measures in sums.items()]


def step_at(at: datetime, interval: Interval, calendar: Calendar) -> str:
    day, hour = calendar.day_and_hour(at)
    if interval == "hour":
        return calendar.hour_text(day, hour)
    return step_of(day.isoformat(), interval)


def _sum(one: Measures, other: Measures) -> Measures:
    return Measures(
        clicks=one.clicks + other.clicks,
        unique_clicks=one.unique_clicks + other.unique_clicks,
        bot_clicks=one.bot_clicks + other.bot_clicks,
        conversions=one.conversions + other.conversions,
        attributed=one.attributed + other.attributed,
        value=_money(one.value, other.value),
        payout=_money(one.payout, other.payout),
    )


def _money(one: Decimal, other: Decimal) -> Decimal:
    """Return a sum without exponent or trailing zeros."""
    return Decimal(f"{_EXACT.add(one, other).normalize(_EXACT):f}")
