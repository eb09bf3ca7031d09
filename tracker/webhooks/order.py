"""The order of deliveries: changes of a conversion or link reach a webhook one after the other.

- While an earlier delivery of the subject is due there, a later one is postponed until after it.
- When the earlier one ends, whether delivered or not, the next one is due at once.

Both read one subject's due deliveries from an index, whatever else waits. If a process dies in
between, the next one is due when it was postponed to.
"""

from collections.abc import Collection, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.drivers import Database
from tracker.webhooks.delivery import Delivery, DeliveryStatus
from tracker.webhooks.queue import DueWebhook

_AFTER: Final = timedelta(milliseconds=1)

_Row = Mapping[str, Any]
_Key = tuple[UUID, int | UUID | None]
"""A webhook and a subject: the id of a conversion or link."""


async def postpone_later_ones(database: Database, due: Sequence[_Row]) -> Sequence[_Row]:
    """Return the rows that may be sent now; postpone those that come after another one."""
    keys = {_key(row) for row in due if row.get("revision")}
    firsts = await _firsts(database, keys)
    free, statements = [], []
    for row in due:
        first = firsts.get(_key(row))
        if first is None or row.get("revision", 0) <= first["revision"]:
            free.append(row)
            continue
        # Unless it was claimed meanwhile, or made due because the earlier one has ended.
        same = {"_id": row["_id"], "status": DeliveryStatus.DUE, "due_at": row["due_at"]}
        statements.append({"q": same, "u": {"$set": {"due_at": first["due_at"] + _AFTER}}})
    await run_updates(database, "deliveries", statements)
    return free


async def make_next_due(
    database: Database, ended: Collection[Delivery], at: datetime
) -> list[DueWebhook]:
    """Make due at `at` what waits for `ended` deliveries, unless it was tried before."""
    keys = {(one.webhook_id, one.event_id or one.link_id) for one in ended}
    ids = [first["id"] for first in (await _firsts(database, keys)).values()]
    waiting = {"_id": {"$in": ids}, "status": DeliveryStatus.DUE, "attempts": []}
    free = {**waiting, "holder": {"$exists": False}}
    await database["deliveries"].update_many(free, {"$set": {"due_at": at}})
    return [DueWebhook(one.account_id, one.webhook_id, at) for one in ended]


def first_of_each(**matching: Any) -> list[dict[str, Any]]:
    """Return stages that find the first due delivery of each webhook.

    MongoDB skips from webhook to webhook in an index, and reads only what it finds.
    """
    first = {name: {"$first": f"${name}"} for name in ("webhook_id", "account_id", "due_at")}
    return [
        {"$match": {"status": DeliveryStatus.DUE, **matching}},
        {"$sort": {"status": 1, "webhook_id": 1, "due_at": 1}},
        {"$group": {"_id": "$webhook_id", **first}},
    ]


async def _firsts(database: Database, keys: Set[_Key]) -> dict[_Key, dict[str, Any]]:
    """Return revision, id and time of the first due delivery of each webhook and subject."""
    events = {one for one in keys if isinstance(one[1], int)}
    found = await _firsts_by(database, "event_id", events)
    return found | await _firsts_by(database, "link_id", keys - events)


async def _firsts_by(database: Database, name: str, keys: Set[_Key]) -> dict[_Key, dict[str, Any]]:
    if not keys:
        return {}
    webhook_ids, subjects = map(set, zip(*keys, strict=True))
    matching = {
        "status": DeliveryStatus.DUE,
        "webhook_id": {"$in": list(webhook_ids)},
        name: {"$in": list(subjects), "$exists": True},
        "revision": {"$gte": 0},  # as in the index
    }
    # Objects compare by their fields in order.
    first = {"$min": {"revision": "$revision", "id": "$_id", "due_at": "$due_at"}}
    group = {"_id": {"webhook_id": "$webhook_id", "subject": f"${name}"}, "first": first}
    rows = database["deliveries"].aggregate([{"$match": matching}, {"$group": group}])
    return {(row["_id"]["webhook_id"], row["_id"]["subject"]): row["first"] async for row in rows}


def _key(row: _Row) -> _Key:
    return row["webhook_id"], row.get("event_id") or row.get("link_id")
