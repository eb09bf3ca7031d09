"""Comparison of a report with that of other days: which days, and how much changed. Pure."""

from datetime import date, timedelta
from decimal import Context, Decimal
from typing import Final, Literal

import msgspec

from tracker.reports.day_range import DayRange
from tracker.reports.query import Measures

Compared = Literal["previous_period", "previous_year"]

DECIMALS: Final = 6
"""The decimals of a change, as of the conversion rate."""

# Sums of money have up to 34 digits.
_EXACT: Final = Context(prec=50)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The change of each measure as a fraction: 0.25 is a quarter more. None where it was 0."""

    clicks: float | None
    unique_clicks: float | None
    bot_clicks: float | None
    conversions: float | None
    conversion_rate: float | None
    value: float | None
    payout: float | None


def other_range(days: DayRange, compared: Compared) -> DayRange:
    """Return the days to compare `days` with. Raises OverflowError if they precede year 1.

    - `previous_period`: as many days, which end where `days` begin.
    - `previous_year`: the days with the same names a year before; 28 February for the 29th.
    """
    if compared == "previous_year":
        return DayRange(_year_before(days.first), _year_before(days.last))
    length = timedelta(days.days)
    return DayRange(days.first - length, days.last - length)


def _year_before(day: date) -> date:
    if day.year == date.min.year:
        raise OverflowError("there is no year 0")
    is_leap_day = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year - 1, day=28 if is_leap_day else day.day)


def change_of(now: Measures, before: Measures) -> Change:
    """Return the change from `before` to `now`."""
    return Change(
        **{
            name: _fraction(getattr(now, name), getattr(before, name))
            for name in Change.__struct_fields__
        }
    )


def _fraction(now: Decimal | float, before: Decimal | float) -> float | None:
    """Return the change in parts of `before`; its sign is that of the difference.

    Sums of money may be negative: from -10 to -5 is a change of 0.5.
    """
    if not before:
        return None
    old, new = Decimal(str(before)), Decimal(str(now))  # a rate as it is shown, to six decimals
    return round(float(_EXACT.divide(_EXACT.subtract(new, old), abs(old))), DECIMALS)
