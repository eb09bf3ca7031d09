"""Days and hours of a time zone, as accounts count in them. Pure.

A day begins at its first moment, also where clocks skip its 00:00. Hours are numbered from 0 since
then, so the two 02:00 of a day with 25 hours differ. In UTC the number is the clock's hour.
"""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones, reset_tzpath

DEFAULT_ZONE: Final = "UTC"

CACHED_CALENDARS: Final = 1000

CACHED_STARTS: Final = 2000

# Only the package tzdata is read, whose version is pinned: machines whose own time zones differ
# would count one click on two days.
reset_tzpath(to=())

_NO_ZONES: Final = {"Factory"}
"""Names of tzdata that are no zone: a machine has this one until somebody sets its zone. Browsers
refuse it."""

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_END: Final = datetime.max.replace(tzinfo=UTC)


class ZoneChange(NamedTuple):
    """The first day of a calendar in another `zone`, its beginning, and its number of hours."""

    first: date
    start: datetime
    hours: int
    before: str
    zone: str


class Calendar:
    """The days and hours of one time zone; make it with `calendar_of`.

    `zone` names what is counted in the calendar. The zone of a moment is `zone_at`.
    """

    changes: tuple[ZoneChange, ...] = ()

    def __init__(self, zone: str) -> None:
        self.zone = zone
        self._zone: tzinfo = UTC if zone == DEFAULT_ZONE else ZoneInfo(zone)
        self._start_of = lru_cache(CACHED_STARTS)(self._first_moment)
        # Most clicks are of the same day as the last one.
        self._start = self._end = datetime.min.replace(tzinfo=UTC)

    def zone_at(self, at: datetime) -> str:
        return self.zone

    def change_after(self, at: datetime) -> ZoneChange | None:
        """Return the last change, if it begins after a moment."""
        return self.changes[-1] if self.changes and self.changes[-1].start > at else None

    def start_of(self, day: date) -> datetime:
        return self._start_of(day)

    def end_of(self, day: date) -> datetime:
        """Return the first moment after a day, in UTC."""
        return _END if day == date.max else self._start_of(day + _DAY)

    def day_of(self, at: datetime) -> date:
        self._enter(at)
        return self._day

    def day_and_hour(self, at: datetime) -> tuple[date, int]:
        """Return the day of an aware datetime, and the number of its hour."""
        self._enter(at)
        return self._day, (at - self._start) // _HOUR

    def hours_in(self, day: date) -> int:
        """Return the number of hours; a part of an hour counts as one."""
        return -((self.start_of(day) - self.end_of(day)) // _HOUR)

    def start_of_hour(self, day: date, hour: int) -> datetime:
        return self.start_of(day) + hour * _HOUR

    def end_of_hour(self, day: date, hour: int) -> datetime:
        return min(self.start_of_hour(day, hour + 1), self.end_of(day))

    def at_clock(self, day: date, clock: time) -> datetime:
        """Return the first moment at which clocks show a time; if they skip it, that much later."""
        at = self._moment(day, clock.replace(fold=0))
        return min(max(at, self.start_of(day)), self.end_of(day))

    def local(self, at: datetime) -> datetime:
        return at.astimezone(self._zone)

    def hour_text(self, day: date, hour: int) -> str:
        """Return the name of an hour, such as `2026-01-31T09:00Z` or `2026-01-31T09:00+01:00`."""
        shown = self.local(self.start_of_hour(day, hour))
        return shown.isoformat(timespec="minutes").replace("+00:00", "Z")

    def clock_hour(self, day: date, hour: int) -> int:
        """Return the hour that clocks show at its beginning, 0 to 23."""
        return self.local(self.start_of_hour(day, hour)).hour

    def _enter(self, at: datetime) -> None:
        if self._start <= at < self._end:
            return
        day = self.local(at).date()
        # Clocks show another day where midnight is repeated, and where an account has changed its
        # zone.
        while at < self.start_of(day):
            day -= _DAY
        while at >= self.end_of(day):
            day += _DAY
        self._day, self._start, self._end = day, self.start_of(day), self.end_of(day)

    def moment_text(self, at: datetime) -> str:
        """Return a moment as clocks show it, such as `2026-01-31T09:30:05.250+01:00`."""
        return self.local(at).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _first_moment(self, day: date) -> datetime:
        return self._moment(day, time())

    def _moment(self, day: date, clock: time) -> datetime:
        return datetime.combine(day, clock, self._zone).astimezone(UTC)


class ChangedCalendar(Calendar):
    """A calendar that changes to another time zone with a day.

    Earlier days stay as they were. `first` begins as before and ends as in the new zone. So it has
    up to 50 hours or none, and no moment has two days. `counts` is the zone that names what is
    counted; by default that of `before`.
    """

    def __init__(self, zone: str, first: date, before: Calendar, counts: str | None = None) -> None:
        super().__init__(zone)
        self.zone = counts or before.zone
        self._later = zone
        self._first = first
        self._before = before
        self._from = before.start_of(first)
        zone_before = before.changes[-1].zone if before.changes else before.zone
        change = ZoneChange(first, self._from, self.hours_in(first), zone_before, zone)
        self.changes = (*before.changes, change)

    def zone_at(self, at: datetime) -> str:
        return self._later if at >= self._from else self._before.zone_at(at)

    def local(self, at: datetime) -> datetime:
        return self._before.local(at) if at < self._from else super().local(at)

    def _first_moment(self, day: date) -> datetime:
        if day <= self._first:
            return self._before.start_of(day)
        return max(self._from, super()._first_moment(day))

    def _moment(self, day: date, clock: time) -> datetime:
        if day < self._first:
            return self._before.at_clock(day, clock)
        return super()._moment(day, clock)


@lru_cache(CACHED_CALENDARS)
def calendar_of(zone: str) -> Calendar:
    """Return the calendar of an IANA time zone. Raises KeyError if there is none."""
    return Calendar(zone)


def is_zone(name: str) -> bool:
    return name in zones()


@lru_cache(1)
def zones() -> frozenset[str]:
    """Return the names of all time zones; read once, in 20 ms."""
    return frozenset(available_timezones()) - _NO_ZONES
