"""What one MongoDB transaction stores: clicks, events, events that move on, and what they count.

Exactly once is made here. A document is inserted, or moves from one state to the next, in the same
transaction that adds to the rollups what this counts; if it was there already, or has moved on,
nothing of the transaction is stored and the caller plans anew without it. So the sum of the rollups
is always that of the documents, however often a batch is delivered.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bson import SON
from pymongo.errors import BulkWriteError, OperationFailure

from tracker.db.connect import Database
from tracker.db.documents import DUPLICATE_KEY
from tracker.db.transaction import Session, in_transaction
from tracker.ingest.slot import Slot
from tracker.reports.rollup import Rollup


class Outdated(Exception):
    """Something in the posting is stored already, or is not in the state it moves on from."""


class Move(NamedTuple):
    """A stored event and the `fields` to set on it, which change its status."""

    event: dict[str, Any]
    fields: dict[str, Any]


class Posting(NamedTuple):
    """Documents of clicks and of events that are new, and moves of events that are not."""

    clicks: list[dict[str, Any]]
    events: list[dict[str, Any]]
    moves: list[Move]

    def is_empty(self) -> bool:
        return not (self.clicks or self.events or self.moves)

    def rollup(self) -> Rollup:
        rollup = Rollup()
        for click in self.clicks:
            rollup.add_click(click)
        for event in self.events:
            rollup.add_event(event)
        for event, fields in self.moves:
            rollup.add_event(event, sign=-1)
            rollup.add_event({**event, **fields})
        return rollup


class Books:
    """Where a drain's postings are written to."""

    def __init__(self, database: Database, slot: Slot) -> None:
        self._database = database
        self._slot = slot

    async def post(self, posting: Posting) -> None:
        """Store all of it, or nothing. Raises Outdated or PyMongoError."""
        if posting.is_empty():
            return
        updates = posting.rollup().updates(await self._slot.number())
        try:
            await in_transaction(
                await self._slot.session(),
                lambda session: self._write(posting, updates, session),
            )
        except (BulkWriteError, OperationFailure) as error:
            if _is_duplicate(error):
                raise Outdated from None
            raise

    async def _write(
        self, posting: Posting, updates: Sequence[Mapping[str, Any]], session: Session
    ) -> None:
        if posting.clicks:
            await self._database["clicks"].insert_many(posting.clicks, session=session)
        if posting.events:
            await self._database["events"].insert_many(posting.events, session=session)
        if posting.moves:
            moves = [_move(one) for one in posting.moves]
            if await self._update("events", moves, session) < len(moves):
                raise Outdated
        await self._update("rollups", updates, session)

    async def _update(
        self, collection: str, updates: Sequence[Mapping[str, Any]], session: Session
    ) -> int:
        """How many documents matched. One command: the driver's own costs far more a statement."""
        if not updates:
            return 0
        answer = await self._database.command(
            SON([("update", collection), ("updates", updates), ("ordered", True)]),
            session=session,
            codec_options=self._database.codec_options,
        )
        if errors := answer.get("writeErrors"):
            raise OperationFailure(errors[0]["errmsg"], errors[0]["code"], errors[0])
        return int(answer["n"])


def _move(move: Move) -> dict[str, Any]:
    matching = {"_id": move.event["_id"], "status": move.event["status"]}
    return {"q": matching, "u": {"$set": move.fields}}


def _is_duplicate(error: OperationFailure) -> bool:
    if isinstance(error, BulkWriteError):
        refused = (error.details or {}).get("writeErrors", [])
        return bool(refused) and all(one["code"] == DUPLICATE_KEY for one in refused)
    return error.code == DUPLICATE_KEY
