"""The writer of batches: one MongoDB transaction for clicks, events, moves and their rollups.

Guarantee: everything counts exactly once. One transaction inserts or moves a document and updates
its rollups and deliveries. A conflict drops the whole transaction, and the drain plans the batch
again. So rollups always equal the documents, however often a batch is delivered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from pymongo.errors import OperationFailure

from tracker.clicks.document import HAS_PARENTS, PARENT_LINK, ClickDocument
from tracker.clock import now
from tracker.conversions.document import (
    Attribution,
    ClickAndConfig,
    ConversionDocument,
    unchanged,
)
from tracker.conversions.store import Conversions
from tracker.feeds.arrivals import Arrivals
from tracker.ingest.calendars import AccountCalendars
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.planning.write_set import Move, WriteConflict, WriteSet
from tracker.reports.rollups.full_rollups import DocumentKey, FullRollups
from tracker.reports.rollups.rollup import Calendars, Rollup
from tracker.reports.rollups.stored_rollups import RollupWrites, StoredRollups
from tracker.reports.rollups.upsert import Upsert
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import (
    DOCUMENT_TOO_LARGE,
    DUPLICATE_KEY,
    as_stored,
    run_inserts,
    run_updates,
    shared_id,
    stored_ids,
)
from tracker.stores.mongodb.transaction import MongoSession, in_transaction
from tracker.webhooks.creation import create_deliveries
from tracker.webhooks.queue import DeliveryQueue, DueWebhook
from tracker.webhooks.subscriptions.clicks import ClickWebhooks

_RECORDS_PER_TURN, _EVENTS_PER_TURN = 400, 100
"""Records in one turn of the event loop: clicks (4 µs each) or statements; events (15 µs each)."""

_DOCUMENTS_PER_COMMAND = 1000
"""Documents or statements in one command. The driver blocks the loop for 3 ms to encode them."""

Item = TypeVar("Item")

InTransaction = Callable[[MongoSession], Awaitable[None]]


class _RollupIsStored(Exception):
    """A rollup was to be inserted that a drain of the same number has inserted."""


class BatchWriter:
    """The writer of one drain: one batch at a time, because a drain has one session.

    Webhooks with new deliveries are added to `queue`.
    """

    def __init__(self, mongodb: MongoDB, drain_number: DrainNumber, queue: DeliveryQueue) -> None:
        self._database = mongodb.database
        self._events = Conversions(mongodb)
        self._drain_number = drain_number
        self._queue = queue
        self._writing = asyncio.Lock()
        self._full_rollups = FullRollups(mongodb.reads)
        self._stored_rollups = StoredRollups(mongodb.reads)
        self._with_parents: set[bytes] = set()
        self._click_webhooks = ClickWebhooks(mongodb)
        self.calendars = AccountCalendars(mongodb)

    async def write(self, write_set: WriteSet, also: InTransaction | None = None) -> None:
        """Store the whole write set and what `also` stores, or nothing.

        Raises WriteConflict if the write set is outdated.
        """
        if write_set.is_empty():
            return
        is_distrusted = False
        await self._click_webhooks.refresh()
        while True:
            number = await self._drain_number.number()
            calendars = await self.calendars.get(write_set.accounts(), write_set.newest())
            rollup = await _rollup(write_set, calendars)
            full = await self._full_rollups.full(rollup.cells(), number)
            upserts = await _upserts(rollup, number, full)
            rollups = await self._stored_rollups.writes(upserts)
            try:
                async with self._writing:
                    due = await self._commit(write_set, rollups, number, also)
            except _RollupIsStored:
                self._stored_rollups.refuse(rollups)
            except OperationFailure as error:
                if error.code not in DOCUMENT_TOO_LARGE or is_distrusted:
                    raise
                self._full_rollups.distrust(rollup.cells())
                is_distrusted = True
            else:
                self._stored_rollups.remember(rollups)
                self._with_parents |= write_set.accounts_with_parents()
                await self._queue.add(due)
                return

    async def _commit(
        self,
        write_set: WriteSet,
        rollups: RollupWrites,
        number: int,
        also: InTransaction | None,
    ) -> set[DueWebhook]:
        arrivals = _arrivals(write_set)
        session = await self._drain_number.session()

        async def work(session: MongoSession) -> set[DueWebhook]:
            due = await self._store(write_set, rollups, session)
            due |= await self._click_webhooks.create(write_set.clicks, number, session)
            if arrivals:
                await arrivals.store(self._database, number, session)
            if also is not None:
                await also(session)
            return due

        try:
            return await in_transaction(session, work)
        except WriteConflict:
            await self._catch_up(session)
            raise
        except OperationFailure as error:
            if error.code != DUPLICATE_KEY:
                raise
            await self._catch_up(session)
            raise WriteConflict from None

    async def _catch_up(self, session: MongoSession) -> None:
        """Wait until a majority has the conflicting documents: earlier reads do not find them."""
        await self._database["rollups"].find_one({"_id": None}, session=session)

    async def _store(
        self, write_set: WriteSet, rollups: RollupWrites, session: MongoSession
    ) -> set[DueWebhook]:
        """Return the webhooks with new deliveries."""
        await self._lock(write_set.caps, session)
        for new in (write_set.clicks, write_set.imported):
            for clicks in _pieces(new, _DOCUMENTS_PER_COMMAND):
                await run_inserts(self._database, "clicks", clicks, session)
        await self._remove(write_set.removed, session)
        await self._join(write_set, session)
        for events in _pieces(write_set.events, _DOCUMENTS_PER_COMMAND):
            rows = [as_stored(one) for one in events]
            await run_inserts(self._database, "events", rows, session)
        if write_set.moves:
            moves = [_move(one) for one in write_set.moves]
            if await run_updates(self._database, "events", moves, session) < len(moves):
                raise WriteConflict
        await self._check_caps(write_set.caps, session)
        settled, updated = write_set.events_to_notify(), write_set.conversions_updated()
        due = await create_deliveries(self._database, settled, session, updated)
        await self._insert_rollups(rollups.inserts, session)
        for statements in _pieces(rollups.updates, _DOCUMENTS_PER_COMMAND):
            await run_updates(self._database, "rollups", statements, session)
        return due

    async def _remove(self, clicks: Sequence[ClickDocument], session: MongoSession) -> None:
        """Delete clicks. Raises WriteConflict if one is deleted already: it was subtracted then."""
        for piece in _pieces(clicks, _DOCUMENTS_PER_COMMAND):
            ids = {"_id": {"$in": stored_ids(one["_id"] for one in piece)}}
            answer = await self._database["clicks"].delete_many(ids, session=session)
            if answer.deleted_count < len(piece):
                raise WriteConflict

    async def _join(self, write_set: WriteSet, session: MongoSession) -> None:
        """Set the links of parents, and tell of accounts with some: their reports have a column.

        Raises WriteConflict if another drain has set one.
        """
        for piece in _pieces(write_set.children, _DOCUMENTS_PER_COMMAND):
            updates = [
                {
                    "q": as_stored({"_id": one["_id"], PARENT_LINK: None}),
                    "u": {"$set": {PARENT_LINK: shared_id(one["parent_link_id"])}},
                }
                for one in piece
            ]
            if await run_updates(self._database, "clicks", updates, session) < len(piece):
                raise WriteConflict
        new = stored_ids(write_set.accounts_with_parents() - self._with_parents)
        marks = [
            {"q": {"_id": one, HAS_PARENTS: {"$ne": True}}, "u": {"$set": {HAS_PARENTS: True}}}
            for one in new
        ]
        await run_updates(self._database, "accounts", marks, session)

    async def _insert_rollups(
        self, documents: Sequence[Mapping[str, Any]], session: MongoSession
    ) -> None:
        for piece in _pieces(documents, _DOCUMENTS_PER_COMMAND):
            try:
                await run_inserts(self._database, "rollups", piece, session)
            except OperationFailure as error:
                if error.code == DUPLICATE_KEY:
                    raise _RollupIsStored from error
                raise

    async def _lock(self, caps: Mapping[ClickAndConfig, int], session: MongoSession) -> None:
        """Serialize transactions that add to a cap, so that each sees the other's events."""
        locks = [
            {
                "q": {"_id": as_stored({"click_id": click_id, "event_config_id": config_id})},
                "u": {"$set": {"at": now()}, "$inc": {"taken": 1}},
                "upsert": True,
            }
            for click_id, config_id in caps
        ]
        await run_updates(self._database, "conversion_locks", locks, session)

    async def _check_caps(self, caps: Mapping[ClickAndConfig, int], session: MongoSession) -> None:
        """Raise WriteConflict if other drains have used up a cap since the plan."""
        if not caps:
            return
        counts = await self._events.counted(caps.keys(), session=session)
        if any(counts.get(one, 0) > caps[one] for one in caps):
            raise WriteConflict


def _arrivals(write_set: WriteSet) -> Arrivals:
    """Return new clicks, and new and repeated events. Confirmed claims are new."""
    moved = [one for one in write_set.moves if one.counts_again()]
    new: list[ConversionDocument] = list(write_set.events)
    repeated: list[ConversionDocument] = []
    for move in moved:
        event = move.event
        is_new = event["account_id"] is None or event["status"] == Attribution.CLAIMED
        (new if is_new else repeated).append(move.after)
    return Arrivals(write_set.clicks, new, repeated)


async def _rollup(write_set: WriteSet, calendars: Calendars) -> Rollup:
    rollup = Rollup(calendars)
    for new in (write_set.clicks, write_set.imported):
        for clicks in _pieces(new, _RECORDS_PER_TURN):
            for click in clicks:
                rollup.add_click(click)
            await asyncio.sleep(0)
    for clicks in _pieces(write_set.removed, _RECORDS_PER_TURN):
        for click in clicks:
            rollup.remove_click(click)
        await asyncio.sleep(0)
    for click in write_set.children:
        rollup.count_parent(click)
    for events in _pieces(write_set.events, _EVENTS_PER_TURN):
        for event in events:
            rollup.add_event(event)
        await asyncio.sleep(0)
    for moves in _pieces(write_set.moves, _EVENTS_PER_TURN):
        for move in moves:
            if move.counts_again():
                rollup.add_event(move.event, sign=-1)
                rollup.add_event(move.after)
        await asyncio.sleep(0)
    return rollup


async def _upserts(rollup: Rollup, number: int, full: Collection[DocumentKey]) -> list[Upsert]:
    found: list[Upsert] = []
    upserts = rollup.upserts(number, full)
    while piece := list(islice(upserts, _RECORDS_PER_TURN)):
        found += piece
        await asyncio.sleep(0)
    return found


def _move(move: Move) -> dict[str, Any]:
    """Return the update. It matches nothing if another drain has changed the event."""
    event, removed = move.event, move.removed()
    matching = as_stored({"_id": event["_id"], "status": event["status"], **unchanged(event)})
    unset = {"$unset": dict.fromkeys(removed, "")} if removed else {}
    return {"q": matching, "u": {"$set": as_stored(move.fields()), **unset}}


def _pieces(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
