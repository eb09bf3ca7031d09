"""Changes of accounts' time zones: a drain counts everything again in the new zone, day by day.

A lease lets one drain work. Each step is stored in the account's document, so any drain can resume.

1. Drains begin to count in the new zone too; tokens ensure it (`ingest/calendars`).
2. Each day is counted from the documents. Days whose clicks may be deleted are copied instead.
3. One update switches the account to the new zone.
4. Once no drain counts in the old zone, its rollups are deleted.
"""

import asyncio
import contextlib
import random
from datetime import date, timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid4

import structlog
from msgspec.structs import asdict
from pymongo.errors import PyMongoError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.accounts.time_zones import AccountZone, TimeZones, ZoneChange
from tracker.calendar import Calendar
from tracker.clock import now
from tracker.ingest.calendars import renew_tokens
from tracker.reports.joint_counts.due_accounts import DueAccounts
from tracker.reports.joint_counts.zone_copy import JointCopy
from tracker.reports.periods import day_period
from tracker.reports.repair.recount import Recount, first_whole_day
from tracker.reports.rollups.layout import of_zone
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.retention import first_complete_day
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.stores.redis import keys
from tracker.stores.redis.lease import Lease

log = structlog.get_logger(__name__)

MAX_PAUSE_SECONDS: Final = 2.0

LEASE_SECONDS: Final = 60.0
"""Two drains may count a day that takes longer, which is slow but not wrong."""

_KEPT_DAYS: Final = 1
"""Remaining retention of a day's clicks that makes counting safe."""

_FIRST_DAY, _LAST_DAY = "0001-01-01", "9999-12-31"

_DELETED_AT_ONCE: Final = {"rollups": 500, "joint_counts": 20}
"""Collections with documents of a zone, and the number deleted at once."""


class _Abandoned(Exception):
    """Another change has replaced this one."""


class TimeZoneChanger:
    """The loop of a drain that changes accounts' time zones."""

    def __init__(self, mongodb: MongoDB, redis: Redis, time_zones: TimeZones) -> None:
        self._database = mongodb.database
        self._time_zones = time_zones
        self._recount = Recount(mongodb)
        self._joint_copy = JointCopy(mongodb)
        self._due = DueAccounts(mongodb.database)
        self._lease = Lease(redis, keys.TIME_ZONES_LEASE, LEASE_SECONDS)
        # The days of the last change, because it takes a while to find them.
        self._days: tuple[str, list[str]] = ("", [])

    async def run(self, stop: asyncio.Event) -> None:
        """Change time zones until `stop` is set; the step in progress is cancelled then."""
        await self._lease.run_until(stop, self._work())

    async def _work(self) -> None:
        while True:
            try:
                if await self.step():
                    continue
            except (PyMongoError, RedisError) as error:
                log.warning("a change of a time zone waits", error=type(error).__name__)
            await asyncio.sleep(MAX_PAUSE_SECONDS * random.uniform(0.5, 1))  # noqa: S311

    async def step(self) -> bool:
        """Do the next step of the oldest change; return False if there is none to do here."""
        due = await self._time_zones.next_due()
        if due is None or not await self._lease.acquire():
            return False
        account_id, found = due
        with contextlib.suppress(_Abandoned):
            if found.obsolete:
                await self._delete_counts(account_id, found.obsolete[0])
            elif found.change is None:
                await self._time_zones.clear_due(account_id)
            elif found.next_calendar is None:
                await self._begin(account_id, found, found.change)
            elif found.change.days is None:
                await self._find_days(account_id, found, found.change)
            else:
                await self._count(account_id, found, found.change, found.next_calendar)
        return True

    async def _begin(self, account_id: UUID, found: AccountZone, change: ZoneChange) -> None:
        first = await self._first_counted(account_id, found.calendar)
        begun = {"is_counting": True, "first": first}
        await self._update(account_id, change, begun)
        log.info("a time zone changes", account_id=str(account_id), zone=change.zone)

    async def _first_counted(self, account_id: UUID, calendar: Calendar) -> str | None:
        """Return the first day to count from clicks; None if no older day has to be copied."""
        kept = await first_complete_day(self._database)
        if not kept:
            return None
        kept = (date.fromisoformat(kept) + timedelta(days=_KEPT_DAYS)).isoformat()
        first = first_whole_day(calendar, kept)
        older = await self._recount.days(account_id, _FIRST_DAY, first, calendar)
        return first if any(day < first for day in older) else None

    async def _find_days(self, account_id: UUID, found: AccountZone, change: ZoneChange) -> None:
        """Store the number of days, once every drain counts in the new zone too."""
        await renew_tokens(self._database)
        days = await self._all_days(account_id, found)
        await self._update(account_id, change, {"days": len(days)})

    async def _count(
        self, account_id: UUID, found: AccountZone, change: ZoneChange, calendar: Calendar
    ) -> None:
        known, days = self._days
        if known != change.id:
            days = await self._all_days(account_id, found)
            self._days = change.id, days
        day = next((one for one in days if one > change.done_through), None)
        if day is None:
            if await self._time_zones.complete(account_id, found):
                await self._due.hasten([account_id], now())
                log.info("a time zone has changed", account_id=str(account_id), zone=change.zone)
            return
        check = partial(self._check, account_id, change)
        if change.first is not None and day < change.first:
            await self._recount.copy(account_id, day, calendar.zone, found.zone, check)
            period = day_period(calendar, date.fromisoformat(day))
            await self._joint_copy.copy(account_id, period, calendar, found.calendar)
        else:
            await self._recount.correct(account_id, day, calendar, check)
            if first_whole_day(calendar, await first_complete_day(self._database)) > day:
                await self._restart(account_id, change)
                return
        # A drain that resumes a change may find additional days.
        number = min(change.days_done + 1, change.days or 0)
        done = {"done_through": day, "days_done": number}
        await self._update(account_id, change, done)

    async def _check(self, account_id: UUID, change: ZoneChange, session: MongoSession) -> None:
        """Conflict with any other change of the zone until the transaction ends."""
        step = {"$inc": {"time_zone_steps": 1}}
        if not await self._time_zones.update_change(account_id, change, step, session):
            raise _Abandoned

    async def _restart(self, account_id: UUID, change: ZoneChange) -> None:
        """Restart a change: clicks may have been deleted before they were counted."""
        again = ZoneChange(id=uuid4().hex, zone=change.zone, requested_at=change.requested_at)
        await self._update(account_id, change, asdict(again))
        log.warning("a time zone is counted again", account_id=str(account_id))

    async def _all_days(self, account_id: UUID, found: AccountZone) -> list[str]:
        """Return the days to count or copy, oldest first."""
        calendar, change = found.next_calendar, found.change
        assert calendar is not None and change is not None
        days = set(await self._recount.days(account_id, _FIRST_DAY, _LAST_DAY, calendar))
        if change.first is not None:
            copied = await self._recount.days(account_id, _FIRST_DAY, change.first, found.calendar)
            days |= {day for day in copied if day < change.first}
        return sorted(days)

    async def _update(self, account_id: UUID, change: ZoneChange, fields: dict[str, Any]) -> None:
        update = {"$set": {f"time_zone_change.{name}": value for name, value in fields.items()}}
        if not await self._time_zones.update_change(account_id, change, update):
            raise _Abandoned

    async def _delete_counts(self, account_id: UUID, zone: str) -> None:
        """Delete the counts in a zone, once no drain counts in it."""
        await renew_tokens(self._database)
        of = [of_zone(name, zone) for name in ("account", "link", "month")]
        for name, number in _DELETED_AT_ONCE.items():
            in_zone = {"_id.of": {"$in": of}} if name == "rollups" else {"_id.zone": zone}
            matching = {"_id.account_id": account_id, **in_zone}
            while ids := await self._ids(name, matching, number):
                await self._delete_some(account_id, zone, name, ids)
                await self._lease.acquire()
        await self._time_zones.forget_obsolete(account_id, zone)

    async def _ids(self, name: str, matching: dict[str, Any], number: int) -> list[Any]:
        rows = self._database[name].find(matching, ["_id"]).limit(number)
        return [row["_id"] async for row in rows]

    async def _delete_some(self, account_id: UUID, zone: str, name: str, ids: list[Any]) -> None:
        async def work(session: MongoSession) -> None:
            if not await self._time_zones.lock_obsolete(account_id, zone, session):
                raise _Abandoned
            await self._database[name].delete_many({"_id": {"$in": ids}}, session=session)

        await run_in_transaction(self._database, work)
