"""The recount of a day: rollups compared with the stored clicks and events, and corrected.

Called by the operator's `verify` and `rebuild_rollups`, and when an account changes its time zone,
beside drains that go on counting. Clicks, events and rollups are read in one snapshot. A wrong
document is corrected by adding the difference in one step, which commutes with other additions: a
report sees either the old figure or the right one.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import pymongo
from pymongo.errors import DuplicateKeyError

from tracker.calendar import DEFAULT_ZONE, Calendar, calendar_of
from tracker.clicks import dimensions
from tracker.clock import start_of
from tracker.conversions.document import COUNTED, Status
from tracker.db.connect import Database, MongoClient
from tracker.db.documents import run_updates
from tracker.db.transaction import Session, in_transaction
from tracker.reports.limits import RECOUNT_SECONDS, UPDATES_PER_TRANSACTION
from tracker.reports.money import EXACT, differ
from tracker.reports.rollup import (
    CORRECTIONS,
    Rollup,
    RollupId,
    Sums,
    increments,
    of_zone,
    statement,
    stored_sums,
)

CORRECTION_SLOT: Final = 1000
"""The slot of corrections, above those of drains, so that a correction never waits for one."""

_CLICK_VALUES: Final = ("link_id", "domain_name", *dimensions.NAMES, "unique")

_ROWS_PER_READ: Final = 1000
"""Rows that are read at once. Waiting requests are served between reads."""

_HOUR_MS: Final = 3_600_000
UTC: Final = calendar_of(DEFAULT_ZONE)

InCorrection = Callable[[Session], Awaitable[None]]
"""A function that is called in each transaction of a correction, and raises to abandon it."""


class DayCount(NamedTuple):
    """One day of one account, recounted and as stored, in the calendar of `zone`.

    `clicks` and `events` are the numbers of documents that count.
    """

    account_id: UUID
    zone: str
    day: str
    clicks: int
    events: int
    recounted: dict[RollupId, Sums]
    stored: dict[RollupId, Sums]
    domain_names: dict[RollupId, str]
    version: int

    @property
    def is_beyond_exact(self) -> bool:
        """Return whether a sum is too large to be exact, so that only 30 digits are compared."""
        return any(
            abs(number) >= EXACT for sums in self.recounted.values() for number in sums.values()
        )

    def differences(self) -> dict[RollupId, Sums]:
        """Return the missing sums of each wrong rollup, by path; negative if it has too much."""
        found = {}
        for rollup_id in self.recounted.keys() | self.stored.keys():
            recounted = self.recounted.get(rollup_id, {})
            stored = self.stored.get(rollup_id, {})
            missing = {
                path: recounted.get(path, 0) - stored.get(path, 0)
                for path in recounted.keys() | stored.keys()
                if differ(recounted.get(path, 0), stored.get(path, 0))
            }
            if missing:
                found[rollup_id] = missing
        return found


class Recount:
    """The comparison of rollups with documents, and their correction."""

    def __init__(self, client: MongoClient, database: Database) -> None:
        self._client = client
        self._database = database

    async def accounts(self) -> list[UUID]:
        """Return the ids of all accounts, also of those that only rollups name.

        Raises PyMongoError if MongoDB does not answer in time.
        """
        existing = {row["_id"] async for row in self._database["accounts"].find({}, ["_id"])}
        with pymongo.timeout(RECOUNT_SECONDS):
            counted = await self._database["rollups"].distinct("_id.account_id")
        return sorted(existing | set(counted))

    async def days(
        self, account_id: UUID, first: str, last: str, calendar: Calendar = UTC
    ) -> list[str]:
        """Return the days from `first` to `last` with clicks, events or rollups of the account.

        Raises PyMongoError if MongoDB does not answer in time.
        """
        with pymongo.timeout(RECOUNT_SECONDS):
            counted = {"_id.account_id": account_id, "_id.of": _of(calendar.zone)}
            found = set(await self._database["rollups"].distinct("_id.day", counted))
            found |= await self._days_with("clicks", {"account_id": account_id}, calendar)
            # With every state, because the index of events has the state before the time.
            of_account = {"account_id": account_id, "status": {"$in": list(Status)}}
            found |= await self._days_with("events", of_account, calendar)
        return sorted(day for day in found if first <= day <= last)

    async def count_day(
        self, account_id: UUID, day: str, session: Session, calendar: Calendar = UTC
    ) -> DayCount:
        """Return a day of an account, recounted and as stored, in the snapshot of `session`.

        Raises PyMongoError if MongoDB does not answer in time.
        """
        rollup = Rollup({account_id.bytes: [calendar]})
        with pymongo.timeout(RECOUNT_SECONDS):
            clicks = await self._count_clicks(rollup, account_id, day, session, calendar)
            events = await self._count_events(rollup, account_id, day, session, calendar)
            stored, domain_names = await self._stored(account_id, day, session, calendar.zone)
            version = await self._version(account_id, day, session, calendar.zone)
        return DayCount(
            account_id,
            calendar.zone,
            day,
            clicks,
            events,
            # In a thread, because a day of 20,000 links takes a fifth of a second.
            await asyncio.to_thread(rollup.sums),
            stored,
            domain_names | rollup.domain_names(),
            version,
        )

    async def copy_day(
        self, account_id: UUID, day: str, session: Session, zone: str, original: str
    ) -> DayCount:
        """Return a day of an account in `zone` as it should be: as it is stored in `original`.

        That is all there is of a day whose clicks are deleted. Read in the snapshot of `session`.
        Raises PyMongoError if MongoDB does not answer in time.
        """
        with pymongo.timeout(RECOUNT_SECONDS):
            kept, domain_names = await self._stored(account_id, day, session, original)
            stored, _ = await self._stored(account_id, day, session, zone)
            version = await self._version(account_id, day, session, zone)
        renamed = {one: one._replace(of=of_zone(one.of.split()[0], zone)) for one in kept}
        copied = {renamed[one]: sums for one, sums in kept.items()}
        named = {renamed[one]: name for one, name in domain_names.items()}
        return DayCount(account_id, zone, day, 0, 0, copied, stored, named, version)

    async def correct(
        self,
        account_id: UUID,
        day: str,
        calendar: Calendar = UTC,
        in_correction: InCorrection | None = None,
    ) -> int:
        """Correct the rollups of a day; return the number of sums that were wrong.

        Simultaneous corrections never add a difference twice: each increments the day's version.

        Raises PyMongoError if MongoDB does not answer in time, and what `in_correction` raises.
        """
        return await self._correct_to(
            lambda session: self.count_day(account_id, day, session, calendar), in_correction
        )

    async def copy(
        self,
        account_id: UUID,
        day: str,
        zone: str,
        original: str,
        in_correction: InCorrection | None = None,
    ) -> int:
        """Make the rollups of a day in `zone` equal those in `original`, as `correct` does."""
        return await self._correct_to(
            lambda session: self.copy_day(account_id, day, session, zone, original), in_correction
        )

    async def _correct_to(
        self, count: Callable[[Session], Awaitable[DayCount]], in_correction: InCorrection | None
    ) -> int:
        while True:
            async with await self._client.start_session(snapshot=True) as snapshot:
                counted = await count(snapshot)
            missing = await asyncio.to_thread(counted.differences)
            if not missing:
                return 0
            if await self._correct(counted, missing, in_correction):
                return sum(map(len, missing.values()))

    async def _correct(
        self,
        counted: DayCount,
        missing: Mapping[RollupId, Sums],
        in_correction: InCorrection | None,
    ) -> bool:
        """Add the differences, in transactions; return False if another correction came first."""
        updates = [
            statement(
                rollup_id._asdict(),
                CORRECTION_SLOT,
                {**increments(sums), f"total.{CORRECTIONS}": 1},
                counted.domain_names.get(rollup_id),
            )
            for rollup_id, sums in missing.items()
        ]
        async with await self._client.start_session() as session:
            for number, start in enumerate(range(0, len(updates), UPDATES_PER_TRANSACTION)):
                piece = updates[start : start + UPDATES_PER_TRANSACTION]
                version = counted.version + number
                if not await self._correct_piece(counted, version, piece, session, in_correction):
                    return False
        return True

    async def _correct_piece(
        self,
        counted: DayCount,
        version: int,
        piece: Sequence[Mapping[str, Any]],
        session: Session,
        in_correction: InCorrection | None,
    ) -> bool:
        async def work(session: Session) -> bool:
            if in_correction is not None:
                await in_correction(session)
            taken = await self._take_version(counted, version, session)
            if taken:
                await run_updates(self._database, "rollups", piece, session)
            return taken

        try:
            return await in_transaction(session, work)
        except DuplicateKeyError:  # the other correction inserted the version first
            return False

    async def _take_version(self, counted: DayCount, version: int, session: Session) -> bool:
        version_id = _version_id(counted.account_id, counted.day, counted.zone)
        mark = {"_id": version_id, "version": version}
        following = {"$set": {"version": version + 1}}
        updated = await self._database["rebuilds"].update_one(
            mark, following, upsert=not version, session=session
        )
        return bool(updated.matched_count or updated.upserted_id)

    async def _version(self, account_id: UUID, day: str, session: Session, zone: str) -> int:
        mark = await self._database["rebuilds"].find_one(
            {"_id": _version_id(account_id, day, zone)}, session=session
        )
        return int(mark["version"]) if mark else 0

    async def _count_clicks(
        self, rollup: Rollup, account_id: UUID, day: str, session: Session, calendar: Calendar
    ) -> int:
        """Add the day's clicks, which MongoDB groups by their values; return their number."""
        start = calendar.start_of(date.fromisoformat(day))
        since = {"$divide": [{"$subtract": ["$at", start]}, _HOUR_MS]}
        values = {name: f"${name}" for name in _CLICK_VALUES}
        key = {**values, "hour": {"$floor": since}, "bot": {"$ne": ["$bot", None]}}
        stages: list[Mapping[str, Any]] = [
            {"$match": _of_day(account_id, day, calendar)},
            {"$group": {"_id": key, "count": {"$sum": 1}}},
        ]
        total = 0
        rows = self._database["clicks"].aggregate(
            stages, session=session, allowDiskUse=True, batchSize=_ROWS_PER_READ
        )
        async for row in rows:
            group, total = row["_id"], total + row["count"]
            at = start + timedelta(hours=group.pop("hour"))
            bot = "bot" if group["bot"] else None
            rollup.add_click(
                {**group, "account_id": account_id, "at": at, "bot": bot}, row["count"]
            )
        return total

    async def _count_events(
        self, rollup: Rollup, account_id: UUID, day: str, session: Session, calendar: Calendar
    ) -> int:
        total = 0
        matching = {**_of_day(account_id, day, calendar), "status": {"$in": list(COUNTED)}}
        rows = self._database["events"].find(
            matching, {"metadata": 0}, session=session, batch_size=_ROWS_PER_READ
        )
        async for event in rows:
            rollup.add_event(event)
            total += 1
        return total

    async def _stored(
        self, account_id: UUID, day: str, session: Session, zone: str
    ) -> tuple[dict[RollupId, Sums], dict[RollupId, str]]:
        found: defaultdict[RollupId, Counter[str]] = defaultdict(Counter)
        domain_names = {}
        of_day = {"_id.account_id": account_id, "_id.of": _of(zone), "_id.day": day}
        rows = self._database["rollups"].find(of_day, session=session, batch_size=_ROWS_PER_READ)
        async for row in rows:
            rollup_id = RollupId(account_id, row["_id"]["of"], day, row["_id"]["link_id"])
            for path, number in stored_sums(row).items():
                found[rollup_id][path] += number
            if "domain_name" in row:
                domain_names[rollup_id] = row["domain_name"]
        return {one: dict(sums) for one, sums in found.items()}, domain_names

    async def _days_with(
        self, collection: str, matching: Mapping[str, Any], calendar: Calendar
    ) -> set[str]:
        """Return the days that have such documents, with one look-up for each day."""
        days: set[str] = set()
        after: dict[str, Any] = {}
        while True:
            row = await self._database[collection].find_one(
                {**matching, **after}, ["at"], sort=[("at", 1)]
            )
            if row is None:
                return days
            day = calendar.day_of(row["at"])
            days.add(day.isoformat())
            after = {"at": {"$gte": calendar.end_of(day)}}


def first_whole_day(calendar: Calendar, kept: str) -> str:
    """Return the first day of a calendar that begins no earlier than the UTC day `kept`.

    Empty for an empty day, which is before all others.
    """
    if not kept:
        return ""
    at = start_of(kept)
    day = calendar.day_of(at)
    return (day if calendar.start_of(day) >= at else day + timedelta(days=1)).isoformat()


def _of(zone: str) -> dict[str, list[str]]:
    return {"$in": [of_zone("account", zone), of_zone("link", zone)]}


def _of_day(account_id: UUID, day: str, calendar: Calendar) -> dict[str, Any]:
    one = date.fromisoformat(day)
    start: datetime = calendar.start_of(one)
    return {"account_id": account_id, "at": {"$gte": start, "$lt": calendar.end_of(one)}}


def _version_id(account_id: UUID, day: str, zone: str) -> dict[str, Any]:
    of_day = {"account_id": account_id, "day": day}
    return of_day if zone == DEFAULT_ZONE else {**of_day, "zone": zone}
