"""The recount of a day: rollups are compared with the stored documents, and corrected.

Called by the operator's `verify` and `rebuild_rollups`.
Drains continue counting. A correction adds the difference of one snapshot in one step, which
commutes with other additions. So a report sees either the old figure or the right one.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import pymongo
from pymongo.errors import DuplicateKeyError

from tracker.calendar import Calendar
from tracker.clock import now, start_of
from tracker.conversions.document import Attribution
from tracker.reports.joint_counts.due_accounts import DueAccounts
from tracker.reports.limits import RECOUNT_SECONDS, SUMS_PER_TRANSACTION
from tracker.reports.repair.day_count import UTC, DayCount, count_day, version_id
from tracker.reports.rollups.layout import (
    CORRECTIONS,
    DRAIN_NUMBER,
    RollupId,
    Sums,
    increments,
    of_zone,
    statement_of,
)
from tracker.reports.rollups.parts import divided, has_many_cells
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.transaction import MongoSession, in_transaction

CORRECTIONS_NUMBER: Final = 1000
"""The drain number of corrections. Drains have lower ones, so they never wait for each other."""


class Recount:
    """The comparison of rollups with documents, and the correction of rollups."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._reader = mongodb.reads
        self._due = DueAccounts(mongodb.database)

    async def accounts(self) -> list[UUID]:
        """Return the ids of all accounts, and of removed ones that rollups still name."""
        existing = {row["_id"] async for row in self._database["accounts"].find({}, ["_id"])}
        with pymongo.timeout(RECOUNT_SECONDS):
            counted = await self._database["rollups"].distinct("_id.account_id")
        return sorted(existing | set(counted))

    async def days(
        self, account_id: UUID, first: str, last: str, calendar: Calendar = UTC
    ) -> list[str]:
        """Return the days from `first` to `last` that have clicks, events or rollups."""
        with pymongo.timeout(RECOUNT_SECONDS):
            found = await self._days_with("clicks", {"account_id": account_id}, calendar)
            # With every status, because the index of events has the status before the time.
            of_account = {"account_id": account_id, "status": {"$in": list(Attribution)}}
            found |= await self._days_with("events", of_account, calendar)
            for name in ("account", "link"):
                # One at a time, so that MongoDB jumps from day to day in the index.
                counted = {"_id.account_id": account_id, "_id.of": of_zone(name, calendar.zone)}
                found |= set(await self._database["rollups"].distinct("_id.day", counted))
        return sorted(day for day in found if first <= day <= last)

    async def correct(self, account_id: UUID, day: str, calendar: Calendar = UTC) -> int:
        """Correct the rollups of a day. Return the number of wrong sums.

        Simultaneous corrections never add a difference twice, because each increments the day's
        version.
        """
        while True:
            async with self._reader.at_one_snapshot() as snapshot:
                counted = await count_day(snapshot, account_id, day, calendar)
            missing = await asyncio.to_thread(counted.differences)
            if not missing:
                return 0
            if await self._correct(counted, missing):
                await self._due.hasten([account_id], now())
                return sum(map(len, missing.values()))

    async def _correct(self, counted: DayCount, missing: Mapping[RollupId, Sums]) -> bool:
        """Add the differences. Return False if another correction was first."""
        async with await self._database.client.start_session() as session:
            for number, piece in enumerate(_pieces(missing)):
                updates = [
                    update
                    for rollup_id in piece
                    for update in _statements(
                        rollup_id, missing[rollup_id], counted.domain_names.get(rollup_id)
                    )
                ]
                if _account_of(counted) not in piece:
                    updates.append(_correction_of_account(counted))
                version = counted.version + number
                if not await self._correct_piece(counted, version, updates, session):
                    return False
        return True

    async def _correct_piece(
        self,
        counted: DayCount,
        version: int,
        piece: Sequence[Mapping[str, Any]],
        session: MongoSession,
    ) -> bool:
        async def work(session: MongoSession) -> bool:
            taken = await self._take_version(counted, version, session)
            if taken:
                await run_updates(self._database, "rollups", piece, session)
            return taken

        try:
            return await in_transaction(session, work)
        except DuplicateKeyError:  # the other correction inserted the version first
            return False

    async def _take_version(self, counted: DayCount, version: int, session: MongoSession) -> bool:
        of_day = version_id(counted.account_id, counted.day, counted.zone)
        matching = {"_id": of_day, "version": version}
        following = {"$set": {"version": version + 1}}
        updated = await self._database["rebuilds"].update_one(
            matching, following, upsert=not version, session=session
        )
        return bool(updated.matched_count or updated.upserted_id)

    async def _days_with(
        self, collection: str, matching: Mapping[str, Any], calendar: Calendar
    ) -> set[str]:
        """Return the days with such documents. One look-up finds each day."""
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


def _statements(
    rollup_id: RollupId, missing: Sums, domain_name: str | None
) -> Iterator[dict[str, Any]]:
    added = {**increments(missing), **_correction()}
    numbered: Mapping[int, Mapping[str, Any]] = {CORRECTIONS_NUMBER: added}
    if has_many_cells(missing):
        numbered = divided(added, CORRECTIONS_NUMBER)
    for number, some in numbered.items():
        yield statement_of({**rollup_id._asdict(), DRAIN_NUMBER: number}, some, domain_name)


def _account_of(counted: DayCount) -> RollupId:
    of = of_zone("account", counted.zone)
    return RollupId(counted.account_id, of, counted.day, None)


def _correction_of_account(counted: DayCount) -> dict[str, Any]:
    """Return the update that marks the account's rollup as corrected.

    Its fingerprint alone validates counts, even counts made from rollups of links.
    """
    account = {**_account_of(counted)._asdict(), DRAIN_NUMBER: CORRECTIONS_NUMBER}
    return statement_of(account, _correction(), None)


def _correction() -> dict[str, int]:
    """Return the update that marks a rollup as corrected."""
    return {f"total.{CORRECTIONS}": 1}


def _pieces(missing: Mapping[RollupId, Sums]) -> Iterator[list[RollupId]]:
    """Yield the rollups that one transaction corrects."""
    piece: list[RollupId] = []
    size = 0
    for rollup_id, sums in missing.items():
        piece.append(rollup_id)
        size += len(sums)
        if size >= SUMS_PER_TRANSACTION:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def first_whole_day(calendar: Calendar, utc_day: str) -> str:
    """Return the first day to begin no earlier than `utc_day`. Empty stays empty."""
    if not utc_day:
        return ""
    at = start_of(utc_day)
    day = calendar.day_of(at)
    return (day if calendar.start_of(day) >= at else day + timedelta(days=1)).isoformat()
