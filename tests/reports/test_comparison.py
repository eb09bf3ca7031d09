"""Other days to compare with, and the change of each measure."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest

from tracker.calendar import calendar_of
from tracker.reports.comparison import (
    RATE_POINTS,
    Compared,
    DayComparison,
    change_of,
    other_range,
)
from tracker.reports.periods import DayRange
from tracker.reports.query import Measures


def days(first: str, last: str) -> DayRange:
    return DayRange(date.fromisoformat(first), date.fromisoformat(last))


def measures(**fields: Any) -> Measures:
    none = dict.fromkeys(("clicks", "unique_clicks", "bot_clicks", "conversions", "attributed"), 0)
    money = {"value": Decimal(0), "payout": Decimal(0)}
    return Measures(**{**none, **money, **fields})


@pytest.mark.parametrize(
    ("compared", "now", "before"),
    [
        # As many days, which end where the range begins.
        ("previous_period", ("2026-01-31", "2026-01-31"), ("2026-01-30", "2026-01-30")),
        ("previous_period", ("2026-03-01", "2026-03-07"), ("2026-02-22", "2026-02-28")),
        ("previous_period", ("2024-03-01", "2024-03-31"), ("2024-01-30", "2024-02-29")),
        ("previous_period", ("2024-01-01", "2025-12-31"), ("2021-12-31", "2023-12-31")),
        ("previous_period", ("0001-01-02", "0001-01-02"), ("0001-01-01", "0001-01-01")),
        # The same dates.
        ("previous_year", ("2025-12-20", "2026-01-10"), ("2024-12-20", "2025-01-10")),
        ("previous_year", ("2024-02-29", "2024-03-05"), ("2023-02-28", "2023-03-05")),
        ("previous_year", ("2024-02-01", "2024-02-29"), ("2023-02-01", "2023-02-28")),
        ("previous_year", ("2025-02-28", "2025-03-01"), ("2024-02-28", "2024-03-01")),
        # The same weekdays.
        ("previous_week", ("2026-10-12", "2026-10-14"), ("2026-10-05", "2026-10-07")),
        ("previous_week", ("2026-01-01", "2026-01-31"), ("2025-12-25", "2026-01-24")),
        # The same dates, and whole months for whole ones.
        ("previous_month", ("2026-10-01", "2026-10-15"), ("2026-09-01", "2026-09-15")),
        ("previous_month", ("2026-10-01", "2026-10-31"), ("2026-09-01", "2026-09-30")),
        ("previous_month", ("2026-09-01", "2026-09-30"), ("2026-08-01", "2026-08-31")),
        ("previous_month", ("2026-03-01", "2026-03-30"), ("2026-02-01", "2026-02-28")),
        ("previous_month", ("2026-01-01", "2026-01-31"), ("2025-12-01", "2025-12-31")),
        ("previous_month", ("2024-02-01", "2024-03-31"), ("2024-01-01", "2024-02-29")),
        ("previous_month", ("2026-09-15", "2026-09-30"), ("2026-08-15", "2026-08-30")),
    ],
)
def test_the_other_days_are_those_that_their_name_says(
    compared: Compared, now: tuple[str, str], before: tuple[str, str]
) -> None:
    assert other_range(days(*now), compared) == days(*before)


def at(text: str, zone: str = "UTC") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "range_", "compared", "last", "until"),
    [
        (
            "2026-10-15T04:14:37",
            ("2026-10-15", "2026-10-15"),
            "previous_period",
            "10-14",
            "04:14:37",
        ),
        ("2026-10-15T04:14:37", ("2026-10-15", "2026-10-15"), "previous_year", "10-15", "04:14:37"),
        (
            "2026-10-15T04:14:37",
            ("2026-10-09", "2026-10-15"),
            "previous_period",
            "10-08",
            "04:14:37",
        ),
        ("2026-10-15T23:59", ("2026-10-12", "2026-10-15"), "previous_week", "10-08", "23:59"),
        ("2026-10-15T04:14", ("2026-10-01", "2026-10-15"), "previous_month", "09-15", "04:14"),
        ("2026-10-15T04:14", ("2026-10-01", "2026-10-31"), "previous_month", "09-15", "04:14"),
        ("2026-10-15T04:14", ("2026-10-01", "2026-10-31"), "previous_period", "09-14", "04:14"),
        ("2026-10-31T04:14", ("2026-10-31", "2026-10-31"), "previous_month", "09-30", "04:14"),
        ("2026-02-28T04:14", ("2026-02-01", "2026-02-28"), "previous_month", "01-28", "04:14"),
        # Of a leap year the same date, not as many days.
        ("2028-10-15T04:14", ("2028-01-01", "2028-10-15"), "previous_year", "10-15", "04:14"),
        ("2028-02-29T04:14", ("2028-02-29", "2028-02-29"), "previous_year", "02-28", "04:14"),
        ("2026-10-15T00:00", ("2026-10-09", "2026-10-15"), "previous_period", "10-08", "00:00"),
    ],
)
def test_days_that_are_not_over_are_compared_up_to_the_same_time_of_the_same_day(
    now: str, range_: tuple[str, str], compared: Compared, last: str, until: str
) -> None:
    own = days(*range_)
    found = DayComparison(own, other_range(own, compared), compared).at(calendar_of("UTC"), at(now))
    assert found.until == at(f"{found.last.isoformat()}T{until}")
    assert f"{found.last:%m-%d}" == last
    assert found.days == other_range(own, compared)


@pytest.mark.parametrize(
    ("now", "range_", "compared"),
    [
        # They are over, or have not begun.
        ("2026-10-16T00:00", ("2026-10-09", "2026-10-15"), "previous_period"),
        ("2026-10-08T23:59", ("2026-10-09", "2026-10-15"), "previous_period"),
        # On the 31st all 30 days of the month before have passed, likewise in February.
        ("2026-10-31T04:14", ("2026-10-01", "2026-10-31"), "previous_month"),
        ("2026-03-29T04:14", ("2026-03-01", "2026-03-29"), "previous_month"),
        ("2028-02-29T04:14", ("2028-02-01", "2028-02-29"), "previous_year"),
    ],
)
def test_other_days_that_have_all_passed_are_compared_whole(
    now: str, range_: tuple[str, str], compared: Compared
) -> None:
    own = days(*range_)
    other = other_range(own, compared)
    found = DayComparison(own, other, compared).at(calendar_of("UTC"), at(now))
    assert found == (other, other.last, None)


def test_chosen_days_are_compared_in_their_order() -> None:
    own = days("2026-10-12", "2026-10-18")
    found = DayComparison(own, days("2025-06-02", "2025-06-08"))
    calendar = calendar_of("UTC")
    assert found.at(calendar, at("2026-10-14T10:00")).until == at("2025-06-04T10:00")
    shorter = DayComparison(own, days("2025-06-02", "2025-06-03"))
    assert shorter.at(calendar, at("2026-10-14T10:00")).until is None


@pytest.mark.parametrize(
    ("zone", "now", "until"),
    [
        # Both clocks show 04:14; one day had 23 hours, the other 25.
        ("Europe/Berlin", "2026-03-30T04:14", "2026-03-29T04:14"),
        ("Europe/Berlin", "2026-03-29T04:14", "2026-03-28T04:14"),
        ("Europe/Berlin", "2026-10-26T04:14", "2026-10-25T04:14"),
        ("Europe/Berlin", "2026-10-25T04:14", "2026-10-24T04:14"),
        # Clocks skipped 02:30, which would have been an hour later.
        ("Europe/Berlin", "2026-03-30T02:30", "2026-03-29T03:30"),
        # They showed it twice: the first counts.
        ("Europe/Berlin", "2026-10-26T02:30", "2026-10-25T02:30"),
        ("Australia/Lord_Howe", "2026-10-05T04:14", "2026-10-04T04:14"),
        ("Asia/Kolkata", "2026-10-15T04:14", "2026-10-14T04:14"),
    ],
)
def test_the_time_of_the_day_is_that_of_clocks(zone: str, now: str, until: str) -> None:
    today = days(now[:10], now[:10])
    compared = DayComparison(today, other_range(today, "previous_period"), "previous_period")
    found = compared.at(calendar_of(zone), at(now, zone))
    assert found.until == at(until, zone)


def test_a_change_of_a_rate_is_also_told_in_points() -> None:
    one = measures(clicks=200, conversions=5, attributed=5)
    other = measures(clicks=100, conversions=2, attributed=2)
    change = change_of(one, other)
    assert (change["conversion_rate"], change[RATE_POINTS]) == (0.25, 0.005)
    assert change_of(other, one)[RATE_POINTS] == -0.005
    without = measures(clicks=9)
    assert change_of(one, without)[RATE_POINTS] == 0.025
    for pair in ((one, measures()), (measures(), one)):
        assert change_of(*pair)[RATE_POINTS] is None


def test_there_are_no_days_before_the_year_1() -> None:
    for compared in get_args(Compared):
        with pytest.raises(OverflowError):
            other_range(days("0001-01-01", "0001-01-31"), compared)


def test_a_change_is_a_fraction_of_what_was_before() -> None:
    now = measures(
        clicks=15, unique_clicks=0, bot_clicks=7, conversions=1, attributed=1, value=Decimal(-5)
    )
    before = measures(clicks=12, unique_clicks=3, conversions=1, attributed=1, value=Decimal(-10))
    change = change_of(now, before)
    assert change.pop("conversion_rate") == pytest.approx(-0.2, abs=1e-5)
    assert change == {
        "clicks": 0.25,
        "unique_clicks": -1,
        "bot_clicks": None,
        "conversions": 0,
        "attributed": 0,
        "value": 0.5,
        "payout": None,
        **dict.fromkeys(("cost", "unknown_cost_clicks", "profit", "roi", "epc", "cpc", "cpa")),
        **dict.fromkeys(
            ("pending_conversions", "pending_value", "rejected_conversions", "refunded_value")
        ),
        RATE_POINTS: pytest.approx(-0.016667, abs=1e-5),
    }


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
    assert found["value"] == change
