"""Creation of deliveries: one for each settled conversion and each webhook of its account.

The drain calls this in the transaction that settles the events.

Guarantee: one delivery per event and webhook, however often this runs. Its id follows from both.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from tracker.clock import now
from tracker.stores.mongodb.drivers import Collection, Database
from tracker.stores.mongodb.transaction import MongoSession
from tracker.webhooks.delivery import Kind, delivery_id, new_row
from tracker.webhooks.limits import MAX_ROWS_PER_COMMAND

Document = Mapping[str, Any]
Row = dict[str, Any]


async def create_deliveries(
    database: Database, events: Sequence[Document], session: MongoSession
) -> int:
    """Insert the deliveries of `events`, whose accounts are known; return how many are new.

    They go to active webhooks older than the event that subscribe to conversions.
    """
    if not events:
        return 0
    webhooks = await _active(database, {event["account_id"] for event in events}, session)
    created_at = now()
    rows = (
        _row(webhook["_id"], event, created_at)
        for event in events
        for webhook in webhooks.get(event["account_id"], ())
        if webhook["created_at"] <= event["at"]
    )
    number = 0
    # In pieces, so that waiting requests get their turn.
    while piece := list(islice(rows, MAX_ROWS_PER_COMMAND)):
        number += await _insert_new(database["deliveries"], piece, session)
        await asyncio.sleep(0)
    return number


async def _active(
    database: Database, account_ids: set[UUID], session: MongoSession
) -> dict[UUID, list[Document]]:
    wanted = {"account_id": {"$in": list(account_ids)}, "active": True}
    found = defaultdict(list)
    fields = ["account_id", "created_at", "events"]
    async for row in database["webhooks"].find(wanted, fields, session=session):
        # Webhooks stored before there were other kinds subscribe to conversions.
        if Kind.CONVERSION in row.get("events", [Kind.CONVERSION]):
            found[row["account_id"]].append(row)
    return dict(found)


async def _insert_new(deliveries: Collection, rows: list[Row], session: MongoSession) -> int:
    """Insert the rows that are not stored yet; return how many. Upserts take three times as long.

    A row that another transaction inserts meanwhile is a conflict, and this one is retried.
    """
    wanted = {"_id": {"$in": [row["_id"] for row in rows]}}
    stored = {row["_id"] async for row in deliveries.find(wanted, ["_id"], session=session)}
    if new := [row for row in rows if row["_id"] not in stored]:
        await deliveries.insert_many(new, session=session)
    return len(new)


def _row(webhook_id: UUID, event: Document, created_at: datetime) -> Row:
    one = delivery_id(webhook_id, event["_id"])
    return {
        **new_row(one, webhook_id, event["account_id"], created_at),
        "event_id": event["_id"],
    }
