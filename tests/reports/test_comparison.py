"""Other days to compare with, and the change of each measure."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from tracker.reports.comparison import change_of, other_range
from tracker.reports.day_range import DayRange
from tracker.reports.query import Measures


def days(first: str, last: str) -> DayRange:
    return DayRange(date.fromisoformat(first), date.fromisoformat(last))


def measures(**fields: Any) -> Measures:
    none = dict.fromkeys(("clicks", "unique_clicks", "bot_clicks", "conversions"), 0)
    money = {"value": Decimal(0), "payout": Decimal(0)}
    return Measures(**{**none, **money, **fields})


@pytest.mark.parametrize(
    ("now", "before"),
    [
        (("2026-01-31", "2026-01-31"), ("2026-01-30", "2026-01-30")),
        (("2026-03-01", "2026-03-07"), ("2026-02-22", "2026-02-28")),
        (("2024-03-01", "2024-03-31"), ("2024-01-30", "2024-02-29")),
        (("2024-01-01", "2025-12-31"), ("2021-12-31", "2023-12-31")),
        (("0001-01-02", "0001-01-02"), ("0001-01-01", "0001-01-01")),
    ],
)
def test_the_previous_period_is_as_long_and_ends_where_the_range_begins(
    now: tuple[str, str], before: tuple[str, str]
) -> None:
    found = other_range(days(*now), "previous_period")
    assert found == days(*before)
    assert found.days == days(*now).days


@pytest.mark.parametrize(
    ("now", "before"),
    [
        (("2026-01-01", "2026-01-31"), ("2025-01-01", "2025-01-31")),
        (("2025-12-20", "2026-01-10"), ("2024-12-20", "2025-01-10")),
        (("2024-02-29", "2024-02-29"), ("2023-02-28", "2023-02-28")),
        (("2024-02-01", "2024-02-29"), ("2023-02-01", "2023-02-28")),
        (("2024-02-29", "2024-03-05"), ("2023-02-28", "2023-03-05")),
        (("2025-02-28", "2025-03-01"), ("2024-02-28", "2024-03-01")),
        (("2000-02-29", "2001-02-28"), ("1999-02-28", "2000-02-28")),
    ],
)
def test_the_previous_year_has_the_same_dates_a_year_before(
    now: tuple[str, str], before: tuple[str, str]
) -> None:
    assert other_range(days(*now), "previous_year") == days(*before)


def test_there_are_no_days_before_the_year_1() -> None:
    for compared in ("previous_period", "previous_year"):
        with pytest.raises(OverflowError):
            other_range(days("0001-01-01", "0001-01-31"), compared)


def test_a_change_is_a_fraction_of_what_was_before() -> None:
    now = measures(clicks=15, unique_clicks=0, bot_clicks=7, conversions=1, value=Decimal(-5))
    before = measures(clicks=12, unique_clicks=3, conversions=1, value=Decimal(-10))
    change = change_of(now, before)
    assert change.clicks == 0.25
    assert change.unique_clicks == -1
    assert change.bot_clicks is None
    assert change.conversions == 0
    assert change.conversion_rate == pytest.approx(-0.2, abs=1e-5)
    assert change.value == 0.5
    assert change.payout is None


@pytest.mark.parametrize(
    ("now", "before", "change"),
    [
        ("2", "3", -0.333333),
        ("1E+25", "1E-9", 1e34),
        ("10000000000000000000000000.000000001", "1E+25", 0.0),
        ("9999999999999999999999999.999999999", "4999999999999999999999999", 1.0),
        ("0", "-1", 1.0),
    ],
)
def test_changes_of_the_longest_sums_are_numbers(now: str, before: str, change: float) -> None:
    found = change_of(measures(value=Decimal(now)), measures(value=Decimal(before)))
    assert found.value == change
