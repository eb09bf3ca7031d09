"""The steps of a range: complete, in order, each once, with the sums of its rows."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.calendar import calendar_of
from tracker.errors import BadRequest
from tracker.reports.periods import DayRange, Interval, step_keys
from tracker.reports.query import Measures
from tracker.reports.series import (
    NO_MEASURES,
    default_interval,
    row_dimension,
    series_of,
)

UTC_CALENDAR = calendar_of("UTC")


def days(first: str, last: str) -> DayRange:
    return DayRange(date.fromisoformat(first), date.fromisoformat(last))


def row(clicks: int, value: str = "0") -> Measures:
    return Measures(
        clicks=clicks,
        unique_clicks=clicks,
        bot_clicks=1,
        conversions=2,
        attributed=1,
        value=Decimal(value),
        payout=Decimal(0),
    )


@pytest.mark.parametrize(
    ("first", "last", "interval", "keys"),
    [
        ("2026-01-30", "2026-02-01", "day", ["2026-01-30", "2026-01-31", "2026-02-01"]),
        ("2024-02-28", "2024-03-01", "day", ["2024-02-28", "2024-02-29", "2024-03-01"]),
        # A Sunday, and the Monday after it.
        ("2026-02-01", "2026-02-02", "week", ["2026-01-26", "2026-02-02"]),
        ("2026-02-02", "2026-02-08", "week", ["2026-02-02"]),
        ("2025-12-31", "2026-01-01", "week", ["2025-12-29"]),
        ("2025-12-31", "2026-02-01", "month", ["2025-12", "2026-01", "2026-02"]),
        ("9999-12-31", "9999-12-31", "day", ["9999-12-31"]),
        ("0001-01-01", "0001-01-07", "week", ["0001-01-01"]),
        ("0001-01-01", "0001-01-07", "month", ["0001-01"]),
    ],
)
def test_a_range_has_every_step_that_it_touches(
    first: str, last: str, interval: Interval, keys: list[str]
) -> None:
    assert step_keys(days(first, last), interval, UTC_CALENDAR) == keys


@pytest.mark.parametrize(
    ("zone", "day", "count", "some"),
    [
        ("UTC", "2026-01-31", 24, {0: "2026-01-31T00:00Z", 23: "2026-01-31T23:00Z"}),
        ("Europe/Berlin", "2026-01-31", 24, {0: "2026-01-31T00:00+01:00"}),
        (
            "Europe/Berlin",
            "2026-03-29",
            23,
            {1: "2026-03-29T01:00+01:00", 2: "2026-03-29T03:00+02:00"},
        ),
        (
            "Europe/Berlin",
            "2026-10-25",
            25,
            {
                2: "2026-10-25T02:00+02:00",
                3: "2026-10-25T02:00+01:00",
                24: "2026-10-25T23:00+01:00",
            },
        ),
        ("Pacific/Apia", "2011-12-30", 0, {}),
    ],
)
def test_a_day_has_the_hours_that_clocks_of_the_zone_show(
    zone: str, day: str, count: int, some: dict[int, str]
) -> None:
    keys = step_keys(days(day, day), "hour", calendar_of(zone))
    assert len(keys) == count
    assert {number: keys[number] for number in some} == some


def test_hours_where_dates_begin_are_refused() -> None:
    with pytest.raises(BadRequest, match="interval: hour"):
        step_keys(days("0001-01-01", "0001-01-01"), "hour", calendar_of("Asia/Tokyo"))


@given(
    st.dates(date(1990, 1, 1), date(2035, 1, 1)),
    st.integers(0, 40),
    st.sampled_from(get_args(Interval)),
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Beirut"]),
)
def test_steps_are_in_order_each_once_and_every_row_belongs_to_one(
    first: date, length: int, interval: Interval, zone: str
) -> None:
    calendar, range_ = calendar_of(zone), DayRange(first, first + timedelta(length))
    keys = step_keys(range_, interval, calendar)
    assert len(set(keys)) == len(keys)
    if interval != "hour":
        assert keys == sorted(keys)
    rows = dict.fromkeys(step_keys(range_, row_dimension(interval), calendar), row(1))
    steps = series_of(rows, keys, interval)
    assert [step.key for step in steps] == keys
    assert sum(step.measures.clicks for step in steps) == len(rows)


def test_steps_without_rows_are_zero_and_the_others_add_up() -> None:
    rows = {
        "2026-01-31": row(5, "0.000000001"),
        "2026-01-01": row(2, "1234567890123456789012345"),
        "2026-03-31": row(1, "-0.5"),
    }
    keys = step_keys(days("2025-12-31", "2026-03-31"), "month", UTC_CALENDAR)
    steps = series_of(rows, keys, "month")
    found = {step.key: step.measures for step in steps}
    assert list(found) == ["2025-12", "2026-01", "2026-02", "2026-03"]
    assert found["2025-12"] == found["2026-02"] == NO_MEASURES
    assert found["2026-01"] == Measures(
        clicks=7,
        unique_clicks=7,
        bot_clicks=2,
        conversions=4,
        attributed=2,
        value=Decimal("1234567890123456789012345.000000001"),
        payout=Decimal(0),
    )
    assert str(found["2026-03"].value) == "-0.5"
    assert found["2026-01"].conversion_rate == 0.285714


@pytest.mark.parametrize(
    ("count", "interval"),
    [
        (1, "hour"),
        (2, "hour"),
        (3, "day"),
        (92, "day"),
        (93, "week"),
        (366, "week"),
        (367, "month"),
        (731, "month"),
    ],
)
def test_the_default_interval_follows_from_the_length(count: int, interval: Any) -> None:
    first = date(2026, 1, 1)
    assert default_interval(DayRange(first, first + timedelta(count - 1))) == interval
