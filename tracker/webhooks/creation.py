"""Creation of deliveries: one for each settled conversion and each webhook of its account.

The drain calls this in the transaction that settles the conversions. `DeliveryQueue.add` gets the
result once the transaction is committed.

Guarantee: one delivery per conversion and webhook, however often this runs. Its id follows from
both.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from tracker.clock import now
from tracker.stores.mongodb.documents import run_inserts, stored_ids
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession
from tracker.webhooks.delivery import Kind, delivery_id, new_row
from tracker.webhooks.limits import MAX_ROWS_PER_COMMAND
from tracker.webhooks.queue import DueWebhook, due_webhook

MongoDocument = Mapping[str, Any]


async def create_deliveries(
    database: Database, conversions: Sequence[MongoDocument], session: MongoSession
) -> set[DueWebhook]:
    """Insert the deliveries of `conversions`, which have ids of accounts as `bytes`, or None.

    The webhooks are active, older than the conversion, and subscribe to conversions.
    """
    account_ids = {one["account_id"] for one in conversions} - {None}
    if not account_ids:
        return set()
    webhooks = await subscribers(database, account_ids, session)
    created_at = now()
    rows = (
        new_row(
            delivery_id(webhook["_id"], conversion["_id"]),
            webhook["_id"],
            webhook["account_id"],
            created_at,
            event_id=conversion["_id"],
        )
        for conversion in conversions
        for webhook in webhooks.get((conversion["account_id"], Kind.CONVERSION), ())
        if webhook["created_at"] <= conversion["at"]
    )
    return await insert_deliveries(database, rows, session)


async def insert_deliveries(
    database: Database, rows: Iterable[dict[str, Any]], session: MongoSession
) -> set[DueWebhook]:
    """Insert the rows that are not stored yet; return the webhooks to be added to the queue."""
    due, left = set[DueWebhook](), iter(rows)
    # In pieces, to let other tasks run.
    while piece := list(islice(left, MAX_ROWS_PER_COMMAND)):
        due.update(map(due_webhook, await _insert_new(database, piece, session)))
        await asyncio.sleep(0)
    return due


async def subscribers(
    database: Database, account_ids: set[bytes], session: MongoSession
) -> Mapping[tuple[bytes, str], Sequence[MongoDocument]]:
    """Return the active webhooks of accounts, by account and kind of event."""
    wanted = {"account_id": {"$in": stored_ids(account_ids)}, "active": True}
    found = defaultdict(list)
    fields = ["account_id", "created_at", "events"]
    async for row in database["webhooks"].find(wanted, fields, session=session):
        # Webhooks without `events` are older than the other kinds: they subscribe to conversions.
        for kind in row.get("events", [Kind.CONVERSION]):
            found[row["account_id"].bytes, kind].append(row)
    return found


async def _insert_new(
    database: Database, rows: list[dict[str, Any]], session: MongoSession
) -> list[dict[str, Any]]:
    """Insert and return the rows that are not stored yet. Upserts take three times as long.

    If another transaction inserts a row meanwhile, this one conflicts and is retried.
    """
    wanted = {"_id": {"$in": [row["_id"] for row in rows]}}
    found = database["deliveries"].find(wanted, ["_id"], session=session)
    stored = {row["_id"] async for row in found}
    if new := [row for row in rows if row["_id"] not in stored]:
        await run_inserts(database, "deliveries", new, session)
    return new
