"""The time zones of accounts, and their changes.

A drain carries out a requested change (`ingest/time_zone_change`). Until then the account keeps the
old zone. Fields of the account's document:

- `time_zone`: missing in accounts of earlier releases, which count in UTC;
- `time_zones_before`: the zones of earlier days;
- `time_zone_change`: the change in progress;
- `time_zones_obsolete`: the zones whose rollups are to be deleted;
- `time_zone_due`: since when a drain has work; missing without any.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Final
from uuid import UUID, uuid4

import msgspec
from pymongo import ReturnDocument

from tracker.calendar import DEFAULT_ZONE, Calendar, ChangedCalendar, calendar_of, is_zone
from tracker.clock import now
from tracker.errors import BadRequest, NotFound
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

FIELDS: Final = ("time_zone", "time_zones_before", "time_zone_change", "time_zones_obsolete")

_CACHED_CALENDARS: Final = 1000


class EarlierZone(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier zone of an account, for its days before the day `until`."""

    zone: str
    until: str


class ZoneChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of an account's zone in progress.

    - `is_counting`: drains count in the new zone too.
    - `first`: the first day to count again. Earlier days keep their figures. None: count all.
    - `days`: the number of days to count, None while unknown. `done_through` is the last done.
    """

    id: str
    zone: str
    requested_at: datetime
    is_counting: bool = False
    first: str | None = None
    days: int | None = None
    days_done: int = 0
    done_through: str = ""


class AccountZone(msgspec.Struct, frozen=True, kw_only=True):
    """The zone of an account, and the work on it."""

    zone: str = DEFAULT_ZONE
    earlier: tuple[EarlierZone, ...] = ()
    change: ZoneChange | None = None
    obsolete: tuple[str, ...] = ()

    @property
    def calendar(self) -> Calendar:
        """Return the calendar of the account's reports."""
        return _calendar(self.zone, self.earlier)

    @property
    def next_calendar(self) -> Calendar | None:
        """Return the calendar of the change in progress, once drains count in it; else None."""
        if self.change is None or not self.change.is_counting:
            return None
        return _calendar(self.change.zone, self.earlier_after(self.change))

    @property
    def calendars(self) -> tuple[Calendar, ...]:
        """Return all calendars in which drains count, the reports' calendar first."""
        return (self.calendar, self.next_calendar) if self.next_calendar else (self.calendar,)

    def earlier_after(self, change: ZoneChange) -> tuple[EarlierZone, ...]:
        """Return the zones of the days before the change."""
        if change.first is None:
            return ()
        return (*self.earlier, EarlierZone(zone=self.zone, until=change.first))


UTC_ACCOUNT: Final = AccountZone()


class TimeZones:
    """The time zones of accounts in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._accounts = mongodb["accounts"]
        self._reader = mongodb.reads

    async def find(self, account_id: UUID) -> AccountZone:
        return await zone_of(self._reader, account_id)

    async def request(self, account_id: UUID, zone: str) -> tuple[str, AccountZone]:
        """Request another zone; return the zone requested before, and the account's zone.

        It replaces a change in progress. Raises NotFound if there is no such account.
        """

        async def work(session: MongoSession) -> tuple[str, AccountZone]:
            row = await self._accounts.find_one({"_id": account_id}, FIELDS, session=session)
            if row is None:
                raise NotFound("account: not found")
            found = zone_from_row(row)
            wanted = found.change.zone if found.change else found.zone
            if zone == wanted:
                return wanted, found
            update = _request_update(found, zone, now())
            row = await self._accounts.find_one_and_update(
                {"_id": account_id}, update, return_document=ReturnDocument.AFTER, session=session
            )
            return wanted, zone_from_row(row)

        return await run_in_transaction(self._database, work)

    async def next_due(self) -> tuple[UUID, AccountZone] | None:
        """Return the account whose work has waited longest; None if none has work."""
        row = await self._accounts.find_one(
            {"time_zone_due": {"$exists": True}}, FIELDS, sort=[("time_zone_due", 1)]
        )
        return None if row is None else (row["_id"], zone_from_row(row))

    async def update_change(
        self,
        account_id: UUID,
        change: ZoneChange,
        update: Mapping[str, Any],
        session: MongoSession | None = None,
    ) -> bool:
        """Update an account during this change. Return False if another change has replaced it."""
        current = {
            "_id": account_id,
            "time_zone_change.id": change.id,
            "time_zone_change.done_through": change.done_through,
        }
        done = await self._accounts.update_one(current, update, session=session)
        return bool(done.matched_count)

    async def complete(self, account_id: UUID, found: AccountZone) -> bool:
        """Switch the account to the new zone. Return False if another change has replaced this."""
        change = found.change
        assert change is not None
        earlier = [msgspec.structs.asdict(one) for one in found.earlier_after(change)]
        update = {
            "$set": {"time_zone": change.zone, "time_zones_before": earlier},
            "$addToSet": {"time_zones_obsolete": found.zone},
            "$unset": {"time_zone_change": ""},
        }
        return await self.update_change(account_id, change, update)

    async def lock_obsolete(self, account_id: UUID, zone: str, session: MongoSession) -> bool:
        """Lock an obsolete zone until the transaction ends. Return False if it is in use again."""
        done = await self._accounts.update_one(
            {"_id": account_id, "time_zones_obsolete": zone},
            {"$inc": {"time_zone_steps": 1}},
            session=session,
        )
        return bool(done.matched_count)

    async def forget_obsolete(self, account_id: UUID, zone: str) -> None:
        await self._accounts.update_one(
            {"_id": account_id}, {"$pull": {"time_zones_obsolete": zone}}
        )

    async def clear_due(self, account_id: UUID) -> None:
        """Remove the fields of pending work from an account without any."""
        nothing = {
            "time_zone_change": {"$exists": False},
            "time_zones_obsolete.0": {"$exists": False},
        }
        unset = dict.fromkeys(("time_zone_due", "time_zones_obsolete", "time_zone_steps"), "")
        await self._accounts.update_one({"_id": account_id, **nothing}, {"$unset": unset})


async def zone_of(reader: MongoReads, account_id: UUID) -> AccountZone:
    """Return the zone of an account in the reader's snapshot, UTC if there is no such account."""
    row = await reader.find_one("accounts", {"_id": account_id}, FIELDS)
    return UTC_ACCOUNT if row is None else zone_from_row(row)


def zone_from_row(row: Mapping[str, Any]) -> AccountZone:
    earlier = [msgspec.convert(one, EarlierZone) for one in row.get("time_zones_before", ())]
    change = row.get("time_zone_change")
    return AccountZone(
        zone=row.get("time_zone", DEFAULT_ZONE),
        earlier=tuple(earlier),
        change=None if change is None else msgspec.convert(change, ZoneChange),
        obsolete=tuple(row.get("time_zones_obsolete", ())),
    )


def checked_zone(name: object) -> str:
    """Return `name` if it is a time zone. Raises BadRequest if not."""
    if not isinstance(name, str) or not is_zone(name):
        raise BadRequest("time_zone: must be an IANA time zone such as Europe/Berlin or UTC")
    return name


def _request_update(found: AccountZone, zone: str, at: datetime) -> dict[str, Any]:
    """Return the update that requests a zone, and abandons the change in progress."""
    fields: dict[str, Any] = {"time_zone_due": at}
    update: dict[str, Any] = {"$set": fields}
    if found.change is not None and found.change.is_counting:
        update["$addToSet"] = {"time_zones_obsolete": found.change.zone}
    if zone == found.zone:
        update["$unset"] = {"time_zone_change": ""}
    else:
        change = ZoneChange(id=uuid4().hex, zone=zone, requested_at=at)
        fields["time_zone_change"] = msgspec.structs.asdict(change)
    return update


@lru_cache(_CACHED_CALENDARS)
def _calendar(zone: str, earlier: Sequence[EarlierZone]) -> Calendar:
    if not earlier:
        return calendar_of(zone)
    *others, last = earlier
    before = _calendar(last.zone, tuple(others))
    return ChangedCalendar(zone, date.fromisoformat(last.until), before)
