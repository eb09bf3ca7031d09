"""What one MongoDB transaction stores: clicks, events, events that move on, and what they count.

Exactly once is made here. A document is inserted, or moves from one state to the next, in the same
transaction that adds to the rollups what this counts; if it was there already, or has moved on,
nothing of the transaction is stored and the caller plans anew without it. So the sum of the rollups
is always that of the documents, however often a batch is delivered. The deliveries of the webhooks
that are to be told of an event come with it in the same way.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from pymongo.errors import BulkWriteError, OperationFailure

from tracker.clock import now
from tracker.conversions.store import ClickAndConfig, Events
from tracker.db.connect import Database
from tracker.db.documents import DUPLICATE_KEY, run_inserts, run_updates
from tracker.db.transaction import Session, in_transaction
from tracker.ingest.slot import Slot
from tracker.ingest.telling import is_to_be_told
from tracker.reports.rollup import Rollup
from tracker.webhooks.creation import create_deliveries

_PIECE, _EVENTS = 400, 100
"""Clicks (4 µs each) or statements, and events (15 µs each), made or counted in one go."""

_COMMAND = 1000
"""Documents or statements of one command: while the driver encodes it, 3 ms, nobody else has a
turn."""


Item = TypeVar("Item")


class Outdated(Exception):
    """Something in the posting is stored already, or is not in the state it moves on from."""


class Move(NamedTuple):
    """A stored event and the `fields` to set on it. It counts anew if they change its status."""

    event: dict[str, Any]
    fields: dict[str, Any]


class Posting(NamedTuple):
    """Documents of clicks and of events that are new, and moves of events that are not. `caps`: how
    many events of a click and configuration may count, of those that it adds to."""

    clicks: list[dict[str, Any]]
    events: list[dict[str, Any]]
    moves: list[Move]
    caps: Mapping[ClickAndConfig, int] = {}

    def is_empty(self) -> bool:
        return not (self.clicks or self.events or self.moves)

    def told(self) -> list[dict[str, Any]]:
        """The events that webhooks are to be told of, as they are then."""
        arrived = [event for event in self.events if is_to_be_told(None, event)]
        changed = [(event, {**event, **fields}) for event, fields in self.moves]
        return arrived + [after for before, after in changed if is_to_be_told(before, after)]

    async def rollup(self) -> Rollup:
        """What it all counts. Requests that wait get their turn meanwhile."""
        rollup = Rollup()
        for clicks in _pieces(self.clicks, _PIECE):
            for click in clicks:
                rollup.add_click(click)
            await asyncio.sleep(0)
        for events in _pieces(self.events, _EVENTS):
            for event in events:
                rollup.add_event(event)
            await asyncio.sleep(0)
        for moves in _pieces(self.moves, _EVENTS):
            for event, fields in moves:
                if "status" in fields:
                    rollup.add_event(event, sign=-1)
                    rollup.add_event({**event, **fields})
            await asyncio.sleep(0)
        return rollup


class Books:
    """Where a drain's postings are written to, one after the other, as there is one session.
    `made_due` is set when one has created deliveries."""

    def __init__(self, database: Database, slot: Slot, made_due: asyncio.Event) -> None:
        self._database = database
        self._slot = slot
        self._made_due = made_due
        self._writing = asyncio.Lock()

    async def post(self, posting: Posting) -> None:
        """Store all of it, or nothing. Raises PyMongoError; Outdated when what made it so can be
        read."""
        if posting.is_empty():
            return
        rollup = await posting.rollup()
        async with self._writing:
            await self._post(posting, rollup)

    async def _post(self, posting: Posting, rollup: Rollup) -> None:
        updates = await _statements(rollup, await self._slot.number())
        session = await self._slot.session()
        try:
            if await in_transaction(session, lambda _: self._write(posting, updates, session)):
                self._made_due.set()
        except Outdated:
            await self._catch_up(session)
            raise
        except OperationFailure as error:
            if not _is_duplicate(error):
                raise
            await self._catch_up(session)
            raise Outdated from None

    async def _catch_up(self, session: Session) -> None:
        """Wait until a majority has what the session met: it may have been stored that moment,
        and reads would not tell of it yet."""
        await self._database["rollups"].find_one({"_id": None}, session=session)

    async def _write(
        self, posting: Posting, updates: Sequence[Mapping[str, Any]], session: Session
    ) -> int:
        """How many deliveries it has created."""
        await self._lock(posting.caps, session)
        for collection, documents in (("clicks", posting.clicks), ("events", posting.events)):
            for new in _pieces(documents, _COMMAND):
                await run_inserts(self._database, collection, new, session)
        if posting.moves:
            moves = [_move(one) for one in posting.moves]
            if await run_updates(self._database, "events", moves, session) < len(moves):
                raise Outdated
        await self._check_caps(posting.caps, session)
        created = await create_deliveries(self._database, posting.told(), session)
        for statements in _pieces(updates, _COMMAND):
            await run_updates(self._database, "rollups", statements, session)
        return created

    async def _lock(self, caps: Mapping[ClickAndConfig, int], session: Session) -> None:
        """Have transactions that add to the same click and configuration come one after the other:
        else each would count without what the other adds."""
        locks = [
            {
                "q": {"_id": {"click_id": click_id, "event_config_id": config_id}},
                "u": {"$set": {"at": now()}, "$inc": {"taken": 1}},
                "upsert": True,
            }
            for click_id, config_id in caps
        ]
        await run_updates(self._database, "conversion_locks", locks, session)

    async def _check_caps(self, caps: Mapping[ClickAndConfig, int], session: Session) -> None:
        """Raises Outdated if more count than may: others were stored since it was planned."""
        counts = await Events(self._database).counted(caps.keys(), session=session)
        if any(counts.get(one, 0) > caps[one] for one in caps):
            raise Outdated


async def _statements(rollup: Rollup, slot: int) -> list[dict[str, Any]]:
    """All updates. Requests that wait get their turn meanwhile."""
    statements: list[dict[str, Any]] = []
    updates = rollup.updates(slot)
    while piece := list(islice(updates, _PIECE)):
        statements += piece
        await asyncio.sleep(0)
    return statements


def _move(move: Move) -> dict[str, Any]:
    """It has moved on also if its webhooks were told meanwhile."""
    event, fields = move
    matching = {"_id": event["_id"], "status": event["status"], "tell_at": event.get("tell_at")}
    gone = {name: "" for name in ("tell_at", "expires_at") if name not in fields}
    if "tell_at" not in event:
        gone.pop("tell_at", None)
    # `expires_at` also if it was not there when the event was read: a settled one must not expire.
    unset = {"$unset": gone} if gone else {}
    return {"q": matching, "u": {"$set": fields, **unset}}


def _is_duplicate(error: OperationFailure) -> bool:
    if isinstance(error, BulkWriteError):
        refused = (error.details or {}).get("writeErrors", [])
        return bool(refused) and all(one["code"] == DUPLICATE_KEY for one in refused)
    return error.code == DUPLICATE_KEY


def _pieces(all_of_them: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(all_of_them), size):
        yield all_of_them[start : start + size]
