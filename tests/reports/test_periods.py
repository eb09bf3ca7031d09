"""Rolling periods: which days they are on which day."""

from datetime import date, timedelta
from typing import get_args

import pytest

from tracker.reports.periods import RollingPeriod, days_of


@pytest.mark.parametrize(
    ("today", "period", "first", "last"),
    [
        ("2026-11-24", "today", "2026-11-24", "2026-11-24"),
        ("2026-11-24", "yesterday", "2026-11-23", "2026-11-23"),
        ("2026-11-24", "week", "2026-11-23", "2026-11-24"),
        ("2026-11-23", "week", "2026-11-23", "2026-11-23"),
        ("2026-11-22", "last_week", "2026-11-09", "2026-11-15"),
        ("2026-11-23", "last_week", "2026-11-16", "2026-11-22"),
        ("2027-01-01", "last_week", "2026-12-21", "2026-12-27"),
        ("2026-11-24", "month", "2026-11-01", "2026-11-24"),
        ("2028-03-31", "last_month", "2028-02-01", "2028-02-29"),
        ("2027-01-01", "last_month", "2026-12-01", "2026-12-31"),
        ("2027-01-01", "yesterday", "2026-12-31", "2026-12-31"),
        ("2028-12-31", "year", "2028-01-01", "2028-12-31"),
    ],
)
def test_a_period_has_the_days_that_its_name_says(
    today: str, period: RollingPeriod, first: str, last: str
) -> None:
    days = days_of(period, date.fromisoformat(today))
    assert (days.first.isoformat(), days.last.isoformat()) == (first, last)


def test_every_period_ends_today_or_before_on_every_day() -> None:
    for number in range(366 * 4):
        today = date(2027, 1, 1) + timedelta(days=number)
        for period in get_args(RollingPeriod):
            days = days_of(period, today)
            assert days.first <= days.last <= today
            assert days.days <= 366
