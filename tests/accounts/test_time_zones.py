"""A change begins with a following day; until shortly before, another request replaces it."""

from datetime import UTC, datetime

import pytest

from tracker.accounts import time_zones
from tracker.accounts.time_zones import NOTICE, AccountZones
from tracker.errors import BadRequest

BERLIN, TOKYO, NEW_YORK = "Europe/Berlin", "Asia/Tokyo", "America/New_York"


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("requests", "changes"),
    [
        ([("2026-01-10T12:00", BERLIN)], [("2026-01-11", BERLIN, 23)]),
        ([("2026-01-10T12:00", NEW_YORK)], [("2026-01-11", NEW_YORK, 29)]),
        ([("2026-01-10T23:45", BERLIN)], [("2026-01-12", BERLIN, 23)]),
        ([("2026-01-10T23:44", BERLIN)], [("2026-01-11", BERLIN, 23)]),
        # Another one replaces it, and the zone of today cancels it.
        (
            [("2026-01-10T12:00", BERLIN), ("2026-01-10T23:44", TOKYO)],
            [("2026-01-11", TOKYO, 15)],
        ),
        ([("2026-01-10T12:00", BERLIN), ("2026-01-10T23:44", "UTC")], []),
        # In its last minutes drains may count in it already.
        (
            [("2026-01-10T12:00", BERLIN), ("2026-01-10T23:45", "UTC")],
            [("2026-01-11", BERLIN, 23), ("2026-01-12", "UTC", 25)],
        ),
        (
            [("2026-01-10T12:00", BERLIN), ("2026-01-11T22:44", NEW_YORK)],
            [("2026-01-11", BERLIN, 23), ("2026-01-12", NEW_YORK, 30)],
        ),
    ],
)
def test_a_change_begins_with_the_first_day_that_is_far_enough_ahead(
    requests: list[tuple[str, str]], changes: list[tuple[str, str, int]]
) -> None:
    zones = AccountZones()
    for at, zone in requests:
        zones = zones.changed(zone, utc(at) + NOTICE)
    found = zones.calendar.changes
    assert [(one.first.isoformat(), one.zone, one.hours) for one in found] == changes
    assert zones.counts == zones.calendar.zone == "UTC"


def test_the_number_of_changes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_zones, "MAX_CHANGES", 1)
    zones = AccountZones().changed(BERLIN, utc("2026-01-10T12:00"))
    assert zones.changed(TOKYO, utc("2026-01-10T13:00")).zone == TOKYO
    with pytest.raises(BadRequest, match="time_zone: has changed 1 times"):
        zones.changed(TOKYO, utc("2026-01-12T12:00"))
