"""Days and hours are those that clocks of the zone show, through daylight saving."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.calendar import Calendar, ChangedCalendar, calendar_of, is_zone


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "day", "start", "hours"),
    [
        ("UTC", "2026-01-31", "2026-01-31T00:00", 24),
        ("Europe/Berlin", "2026-01-31", "2026-01-30T23:00", 24),
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00", 23),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00", 25),
        ("Asia/Kolkata", "2026-06-01", "2026-05-31T18:30", 24),
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00", 25),  # 24 and a half
        ("America/Santiago", "2026-09-06", "2026-09-06T04:00", 23),  # midnight is skipped
        ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00", 0),  # the whole day is skipped
    ],
)
def test_a_day_begins_and_ends_with_the_clocks_of_its_zone(
    zone: str, day: str, start: str, hours: int
) -> None:
    calendar = calendar_of(zone)
    one = date.fromisoformat(day)
    assert calendar.start_of(one) == utc(start)
    assert calendar.hours_in(one) == hours


def test_the_two_hours_of_a_repeated_one_differ_and_have_the_same_clock_hour() -> None:
    berlin = calendar_of("Europe/Berlin")
    day = date(2026, 10, 25)
    first, second = utc("2026-10-25T00:30"), utc("2026-10-25T01:30")
    assert berlin.day_and_hour(first) == (day, 2)
    assert berlin.day_and_hour(second) == (day, 3)
    assert [berlin.clock_hour(day, hour) for hour in (2, 3)] == [2, 2]
    assert [berlin.hour_text(day, hour) for hour in (2, 3)] == [
        "2026-10-25T02:00+02:00",
        "2026-10-25T02:00+01:00",
    ]


def test_an_hour_of_utc_is_named_with_z() -> None:
    assert calendar_of("UTC").hour_text(date(2026, 1, 31), 9) == "2026-01-31T09:00Z"


def test_the_last_part_of_an_hour_ends_with_its_day() -> None:
    lord_howe = calendar_of("Australia/Lord_Howe")
    day = date(2026, 4, 5)
    assert lord_howe.end_of_hour(day, 24) == lord_howe.end_of(day)
    assert lord_howe.end_of_hour(day, 24) - lord_howe.start_of_hour(day, 24) == timedelta(
        minutes=30
    )


ZONES = [
    *("UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe"),
    *("America/Santiago", "Asia/Kathmandu", "Africa/Casablanca", "Asia/Beirut"),
]


MOMENTS = st.datetimes(datetime(1985, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC))


@given(st.sampled_from(ZONES), MOMENTS)
def test_every_moment_is_within_its_day_and_its_hour(zone: str, at: datetime) -> None:
    check_moment(calendar_of(zone), at)


def check_moment(calendar: Calendar, at: datetime) -> None:
    day, hour = calendar.day_and_hour(at)
    assert calendar.day_of(at) == day
    assert calendar.start_of(day) <= at < calendar.end_of(day)
    assert calendar.start_of_hour(day, hour) <= at < calendar.end_of_hour(day, hour)
    assert 0 <= hour < calendar.hours_in(day)


FAR = ["Pacific/Kiritimati", "Etc/GMT+12", "Europe/Berlin", "UTC"]
FIRST = date(2026, 3, 30)


@given(
    st.lists(st.sampled_from(FAR), min_size=3, max_size=3),
    st.datetimes(datetime(2026, 3, 25), datetime(2026, 4, 5), timezones=st.just(UTC)),
)
def test_after_changes_of_the_zone_every_moment_is_in_one_day(
    zones: list[str], at: datetime
) -> None:
    original, second, third = zones
    before = ChangedCalendar(second, FIRST - timedelta(days=1), calendar_of(original))
    changed = ChangedCalendar(third, FIRST, before)
    check_moment(changed, at)
    if at < before.start_of(FIRST):
        assert changed.day_and_hour(at) == before.day_and_hour(at)
        assert changed.moment_text(at) == before.moment_text(at)
    elif at >= calendar_of(third).start_of(FIRST + timedelta(days=2)):
        assert changed.day_and_hour(at) == calendar_of(third).day_and_hour(at)
    days = [FIRST + timedelta(days=number) for number in range(-4, 5)]
    for day in days:
        assert (
            changed.start_of(day)
            <= changed.end_of(day)
            == changed.start_of(day + timedelta(days=1))
        )


def test_the_first_day_after_a_change_begins_where_the_last_one_ended() -> None:
    changed = ChangedCalendar("Europe/Berlin", FIRST, calendar_of("UTC"))
    assert changed.start_of(FIRST) == utc("2026-03-30T00:00")
    assert changed.hours_in(FIRST) == 22
    assert changed.hour_text(FIRST, 0) == "2026-03-30T02:00+02:00"
    assert changed.hour_text(FIRST - timedelta(days=1), 0) == "2026-03-29T00:00Z"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Europe/Berlin", True),
        ("UTC", True),
        ("Mars/Olympus", False),
        ("", False),
        ("../etc", False),
    ],
)
def test_only_names_of_the_time_zone_database_are_zones(name: str, expected: bool) -> None:
    assert is_zone(name) is expected
