"""The bound of what waits for a webhook about clicks and links, and the count of what is skipped.

Each drain counts in a document of its own, so that their transactions do not conflict.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.transaction import MongoSession
from tracker.webhooks.creation import insert_deliveries
from tracker.webhooks.limits import MAX_WAITING
from tracker.webhooks.queue import DueWebhook


async def count_waiting(
    database: Database, webhook_ids: Iterable[UUID], session: MongoSession | None = None
) -> dict[UUID, int]:
    """Return how many deliveries about clicks and links wait for each webhook."""
    waiting = {"status": "due", "skipped": {"$gte": 0}}  # as in the index
    matching = {"$match": {"webhook_id": {"$in": list(webhook_ids)}, **waiting}}
    counted = {"$group": {"_id": "$webhook_id", "waiting": {"$sum": 1}}}
    rows = database["deliveries"].aggregate([matching, counted], hint="bounded", session=session)
    return {row["_id"]: row["waiting"] async for row in rows}


async def insert_bounded(
    database: Database,
    rows: Mapping[UUID, Sequence[dict[str, Any]]],
    waiting: Mapping[UUID, int],
    writer: int | str,
    session: MongoSession,
) -> set[DueWebhook]:
    """Insert deliveries by webhook, up to MAX_WAITING with those that wait; count what is not."""
    told: list[dict[str, Any]] = []
    updates = []
    for webhook_id, own in rows.items():
        room = max(0, MAX_WAITING - waiting.get(webhook_id, 0))
        told += own[:room]
        left = sum(row.get("clicks", 1) for row in own[room:])
        if skipped := left + sum(row["skipped"] for row in own):
            counter = {"_id": f"{webhook_id} {writer}"}
            updates.append({"q": counter, "u": {"$inc": {"skipped": skipped}}, "upsert": True})
    await run_updates(database, "webhook_skips", updates, session)
    return await insert_deliveries(database, told, session)


async def count_skipped(reads: MongoReads, webhook_id: UUID) -> int:
    """Return how many clicks and links a webhook was not told of."""
    of_webhook = {"_id": {"$regex": f"^{webhook_id} "}}
    return sum(row["skipped"] for row in await reads.find("webhook_skips", of_webhook))
