"""Comparison of a report with other days: their range, and the change. Pure.

Unfinished days are compared with the same part of the other days. Otherwise any morning would look
like a loss.
"""

from calendar import monthrange
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from tracker.calendar import Calendar
from tracker.reports.periods import DayRange
from tracker.reports.query import DERIVED, NO_FIGURES, Measures, ReportQuery

Compared = Literal["previous_period", "previous_week", "previous_month", "previous_year"]

DECIMALS: Final = 6
"""The decimals of a change, and of the conversion rate."""

RATE_POINTS: Final = "conversion_rate_points"

# Sums of money have up to 34 digits.
_EXACT: Final = Context(prec=50)

_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)


def other_range(days: DayRange, compared: Compared) -> DayRange:
    """Return the days to compare `days` with. Raises OverflowError if they precede year 1.

    - `previous_period`: as many days, directly before.
    - `previous_week`: the same weekdays of the week before.
    - `previous_month`: the same dates, or the month's last day; whole months for whole months.
    - `previous_year`: the same dates; 28 February for the 29th.
    """
    if compared == "previous_year":
        return DayRange(_year_before(days.first), _year_before(days.last))
    if compared == "previous_month":
        last = _month_before(days.last)
        is_whole = days.first.day == 1 and days.last.day == _days_of_month(days.last)
        return DayRange(
            _month_before(days.first), last.replace(day=_days_of_month(last)) if is_whole else last
        )
    if compared == "previous_week":
        return DayRange(days.first - _WEEK, days.last - _WEEK)
    length = timedelta(days.days)
    return DayRange(days.first - length, days.last - length)


class OtherDays(NamedTuple):
    """The days to compare with.

    With `until`, `last` ends there, and later days are left out.
    """

    days: DayRange
    last: date
    until: datetime | None

    def whole(self, query: ReportQuery) -> ReportQuery:
        return replace(query, first=self.days.first, last=self.days.last)

    def of(self, query: ReportQuery) -> ReportQuery:
        return replace(query, first=self.days.first, last=self.last, until=self.until)


class DayComparison(NamedTuple):
    """Days, and the `other` days to compare with; the user chose them if `compared` is None."""

    days: DayRange
    other: DayRange
    compared: Compared | None = None

    def at(self, calendar: Calendar, at: datetime) -> OtherDays:
        """Return the other days, up to the part of `days` that has passed.

        Raises OverflowError if the calendar does not have them.
        """
        whole = OtherDays(self.other, self.other.last, None)
        is_part = is_unfinished(self.days, calendar, at)
        day = self._other_day(calendar.day_of(at)) if is_part else None
        if day is None:
            return whole
        until = calendar.at_clock(day, calendar.local(at).time())
        if until >= calendar.end_of(self.other.last):
            return whole
        return OtherDays(self.other, calendar.day_of(until), until)

    def _other_day(self, today: date) -> date | None:
        """Return today's counterpart; None if all other days precede it."""
        if self.compared in ("previous_month", "previous_year"):
            day = other_range(DayRange(today, today), self.compared).first
            # On the 31st, a month of 30 days is over.
            return None if day.day != today.day and self.days.first < today else day
        day = self.other.first + (today - self.days.first)
        return None if day > self.other.last else day


def is_unfinished(days: DayRange, calendar: Calendar, at: datetime) -> bool:
    """Return whether the days have begun and are not over."""
    return days.first <= calendar.day_of(at) <= days.last


def _month_before(day: date) -> date:
    last = day.replace(day=1) - _DAY
    return last.replace(day=min(day.day, last.day))


def _days_of_month(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _year_before(day: date) -> date:
    if day.year == date.min.year:
        raise OverflowError("there is no year 0")
    is_leap_day = (day.month, day.day) == (2, 29)
    return day.replace(year=day.year - 1, day=28 if is_leap_day else day.day)


def change_of(current: Measures, previous: Measures) -> dict[str, float | None]:
    """Return the change of each measure as a fraction: 0.25 is a quarter more. None where it was 0,
    or is not known.

    RATE_POINTS is the difference of the rates; None unless both have clicks.
    """
    fractions = {
        name: _fraction(getattr(current, name), getattr(previous, name))
        for name in (*Measures.__struct_fields__, *DERIVED)
        if name not in NO_FIGURES
    }
    return {**fractions, RATE_POINTS: _points(current, previous)}


def _points(current: Measures, previous: Measures) -> float | None:
    if not current.clicks or not previous.clicks:
        return None
    return round(current.conversion_rate - previous.conversion_rate, DECIMALS)


def _fraction(current: Decimal | float | None, previous: Decimal | float | None) -> float | None:
    """Return the change as a fraction of `previous`. From -10 to -5 it is 0.5."""
    if not previous or current is None:
        return None
    # Through text: a rate as it is shown, to six decimals.
    old, new = Decimal(str(previous)), Decimal(str(current))
    return round(float(_EXACT.divide(_EXACT.subtract(new, old), abs(old))), DECIMALS)
