"""Deliveries come into being here: in the transaction that settles what they tell of.

Called by the drain with the events that its transaction settles. A delivery's id follows from its
webhook and its event, so there is one for both however often this runs.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tracker.clock import now
from tracker.db.connect import Database
from tracker.db.documents import run_updates
from tracker.db.transaction import Session
from tracker.webhooks.delivery import Status, delivery_id

_PIECE: Final = 1000
"""Statements of one command, which has a limit of size and of time."""

Document = Mapping[str, Any]


async def create_deliveries(
    database: Database, events: Sequence[Document], session: Session
) -> None:
    """One delivery for each of these events, whose accounts are known, and each webhook that was
    there before it and is active. Raises PyMongoError."""
    if not events:
        return
    webhooks = await _active(database, {event["account_id"] for event in events}, session)
    created_at = now()
    statements = [
        _statement(webhook["_id"], event, created_at)
        for event in events
        for webhook in webhooks.get(event["account_id"], ())
        if webhook["created_at"] <= event["at"]
    ]
    for piece in _pieces(statements):
        await run_updates(database, "deliveries", piece, session)


async def _active(
    database: Database, account_ids: set[UUID], session: Session
) -> dict[UUID, list[Document]]:
    wanted = {"account_id": {"$in": list(account_ids)}, "active": True}
    found = defaultdict(list)
    fields = ["account_id", "created_at"]
    async for row in database["webhooks"].find(wanted, fields, session=session):
        found[row["account_id"]].append(row)
    return dict(found)


def _statement(webhook_id: UUID, event: Document, created_at: datetime) -> dict[str, Any]:
    fields = {
        "webhook_id": webhook_id,
        "account_id": event["account_id"],
        "event_id": event["_id"],
        "status": Status.DUE,
        "created_at": created_at,
        "due_at": created_at,
        "attempts": [],
    }
    one = {"_id": delivery_id(webhook_id, event["_id"])}
    return {"q": one, "u": {"$setOnInsert": fields}, "upsert": True}


def _pieces(statements: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(statements), _PIECE):
        yield statements[start : start + _PIECE]
