"""Keys of the dimensions that follow from the day and the hour, and their labels. Pure."""

from datetime import date
from typing import Final

from tracker.calendar import Calendar

_WEEKDAYS: Final = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def weekday_label(number: str) -> str:
    return _WEEKDAYS[int(number) - 1]


def hour_of_week_label(key: str) -> str:
    number, hour = key.split("T")
    return f"{weekday_label(number)} {hour}:00"


def weekday(calendar: Calendar, day: str) -> str:
    return str(date.fromisoformat(day).isoweekday())


def hour(calendar: Calendar, day: str, hour: str) -> str:
    return calendar.hour_text(date.fromisoformat(day), int(hour))


def hour_of_day(calendar: Calendar, day: str, hour: str) -> str:
    return f"{calendar.clock_hour(date.fromisoformat(day), int(hour)):02}"


def hour_of_week(calendar: Calendar, day: str, hour: str) -> str:
    return f"{weekday(calendar, day)}T{hour_of_day(calendar, day, hour)}"
