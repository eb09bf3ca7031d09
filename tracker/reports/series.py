"""Series: the measures of a range in steps of an hour, day, week or month. Pure."""

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import Final, Literal

import msgspec

from tracker.reports.periods import DayRange, Interval, step_of
from tracker.reports.query import Measures

MAX_HOURLY_DAYS: Final = 31
"""The longest range in hours: as many steps as two years have days."""

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


def series_of(
    rows: Mapping[str, Measures], steps: Sequence[str], interval: Interval
) -> Sequence[Step]:
    """Return all `steps` of a range, from its rows by `row_dimension`."""
    sums = dict.fromkeys(steps, NO_MEASURES)
    for row, measures in rows.items():
        key = step_of(row, interval)
        sums[key] = added(sums[key], measures)
    return [Step(key=key, measures=measures) for key, measures in sums.items()]


def added(one: Measures, other: Measures) -> Measures:
    return Measures(
        clicks=one.clicks + other.clicks,
        unique_clicks=one.unique_clicks + other.unique_clicks,
        bot_clicks=one.bot_clicks + other.bot_clicks,
        conversions=one.conversions + other.conversions,
        attributed=one.attributed + other.attributed,
        value=_money(one.value, other.value),
        payout=_money(one.payout, other.payout),
        pending_conversions=one.pending_conversions + other.pending_conversions,
        pending_value=_money(one.pending_value, other.pending_value),
        rejected_conversions=one.rejected_conversions + other.rejected_conversions,
        refunded_value=_money(one.refunded_value, other.refunded_value),
        cost=one.cost if other.cost is None else _money(one.cost or Decimal(0), other.cost),
        unknown_cost_clicks=one.unknown_cost_clicks + other.unknown_cost_clicks,
        has_other_payout=one.has_other_payout or other.has_other_payout,
    )


def _money(one: Decimal, other: Decimal) -> Decimal:
    """Return a sum without exponent or trailing zeros."""
    if not one or not other:
        return one or other
    return Decimal(f"{_EXACT.add(one, other).normalize(_EXACT):f}")
