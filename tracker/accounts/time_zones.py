"""The time zones of accounts, and their changes.

A change begins with a following day. Earlier days keep the zone in which they were counted.

Guarantee: a calendar that was read from MongoDB is right for everything up to `KNOWN_FOR` after the
reading. A later change begins at least `NOTICE` after it. The difference is for clocks of machines
that disagree, and for slow writes: a transaction lives for a minute at most.

Fields of the account's document:

- `time_zone`: the zone of its newest days, which may be ahead; missing: UTC;
- `time_zones_before`: the zones of earlier days;
- `time_zone_of_counts`: the zone in the names of its rollups and cached counts, which stays when
  the zone changes; missing: `time_zone`;
- `is_counted`: a drain has read the calendar to count by it.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tracker.calendar import (
    CACHED_CALENDARS,
    DEFAULT_ZONE,
    Calendar,
    ChangedCalendar,
    calendar_of,
    is_zone,
)
from tracker.clock import now
from tracker.errors import BadRequest, LimitReached, NotFound
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

FIELDS: Final = ("time_zone", "time_zones_before", "time_zone_of_counts")

IS_COUNTED: Final = "is_counted"

NOTICE: Final = timedelta(minutes=15)
KNOWN_FOR: Final = timedelta(minutes=5)

MAX_CHANGES: Final = 100
"""Changes of one account. Each makes its calendar slower."""


class EarlierZone(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier zone of an account, for its days before the day `until`."""

    zone: str
    until: str


class AccountZones(msgspec.Struct, frozen=True, kw_only=True):
    """The zones of an account, the newest in `zone`. `counts` names its rollups."""

    zone: str = DEFAULT_ZONE
    earlier: tuple[EarlierZone, ...] = ()
    counts: str = DEFAULT_ZONE

    @property
    def calendar(self) -> Calendar:
        return _calendar(self)

    def begun(self, at: datetime) -> "AccountZones":
        """Return the zones without a change that begins after `at`."""
        if self.calendar.change_after(at) is None:
            return self
        *earlier, last = self.earlier
        return replace(self, zone=last.zone, earlier=tuple(earlier)).begun(at)

    def changed(self, zone: str, at: datetime) -> "AccountZones":
        """Return the zones with another one from the first day that begins after `at`.

        It replaces a change that begins after `at`. Raises BadRequest beyond MAX_CHANGES.
        """
        begun = self.begun(at)
        if zone == begun.zone:
            return begun
        if len(begun.earlier) >= MAX_CHANGES:
            raise LimitReached(f"time_zone: has changed {MAX_CHANGES} times, which is the most")
        first = begun.calendar.day_of(at) + timedelta(days=1)
        last = EarlierZone(zone=begun.zone, until=first.isoformat())
        return replace(begun, zone=zone, earlier=(*begun.earlier, last))


class TimeZones:
    """The time zones of accounts in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._accounts = mongodb["accounts"]
        self._rollups = mongodb["rollups"]
        self._reader = mongodb.reads

    async def find(self, account_id: UUID) -> Calendar:
        return await calendar_in(self._reader, account_id)

    async def begin(self, account_id: UUID, zone: str) -> Calendar:
        """Set the zone of an account that nothing is counted for yet, else request it.

        A drain marks an account before it counts, so either the zone or the mark comes first.
        """
        if await self._rollups.find_one({"_id.account_id": account_id}, ["_id"]) is None:
            fresh = {"_id": account_id, IS_COUNTED: None}
            fields = {"time_zone": zone, "time_zones_before": [], "time_zone_of_counts": zone}
            if (await self._accounts.update_one(fresh, {"$set": fields})).matched_count:
                return calendar_of(zone)
        _, calendar = await self.request(account_id, zone)
        return calendar

    async def request(self, account_id: UUID, zone: str) -> tuple[str, Calendar]:
        """Request another zone; return the zone requested before, and the account's calendar."""

        async def work(session: MongoSession) -> tuple[str, Calendar]:
            row = await self._accounts.find_one({"_id": account_id}, FIELDS, session=session)
            if row is None:
                raise NotFound("account: not found")
            found = zones_from_row(row)
            if zone == found.zone:
                return zone, found.calendar
            # After the first read, which begins the transaction: `now` is a minute old at most.
            changed = found.changed(zone, now() + NOTICE)
            fields = {
                "time_zone": changed.zone,
                "time_zones_before": [msgspec.structs.asdict(one) for one in changed.earlier],
                "time_zone_of_counts": changed.counts,
            }
            await self._accounts.update_one({"_id": account_id}, {"$set": fields}, session=session)
            return found.zone, changed.calendar

        return await run_in_transaction(self._database, work)


async def calendar_in(reader: MongoReads, account_id: UUID) -> Calendar:
    """Return the calendar of an account in a snapshot, UTC if there is no such account."""
    row = await reader.find_one("accounts", {"_id": account_id}, FIELDS)
    return zones_from_row(row or {}).calendar


def zones_from_row(row: Mapping[str, Any]) -> AccountZones:
    zone = row.get("time_zone", DEFAULT_ZONE)
    earlier = [msgspec.convert(one, EarlierZone) for one in row.get("time_zones_before", ())]
    counts = row.get("time_zone_of_counts", zone)
    return AccountZones(zone=zone, earlier=tuple(earlier), counts=counts)


def checked_zone(name: object) -> str:
    """Return `name`. Raises BadRequest if it is no time zone."""
    if not isinstance(name, str) or not is_zone(name):
        raise BadRequest("time_zone: must be an IANA time zone such as Europe/Berlin or UTC")
    return name


@lru_cache(CACHED_CALENDARS)
def _calendar(zones: AccountZones) -> Calendar:
    if not zones.earlier:
        return calendar_of(zones.zone)
    *earlier, last = zones.earlier
    before = _calendar(replace(zones, zone=last.zone, earlier=tuple(earlier)))
    return ChangedCalendar(zones.zone, date.fromisoformat(last.until), before, zones.counts)
