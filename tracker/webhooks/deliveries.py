"""Deliveries in MongoDB. The sender claims and records them; the API lists and retries them.

- A claim sets `due_at` to the end of its lease. So one index finds due and abandoned deliveries.
- Only the holder of a delivery records an attempt at it.
- Changes of one conversion are claimed in their order (`order`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import msgspec

from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_struct, run_updates, sendable
from tracker.stores.mongodb.transaction import MongoSession, in_transaction
from tracker.webhooks.delivery import Attempt, Delivery, DeliveryStatus, in_states
from tracker.webhooks.limits import MAX_SENT_NOW
from tracker.webhooks.operational_messages import create_messages, delivery_failed
from tracker.webhooks.order import first_of_each, make_next_due, postpone_later_ones
from tracker.webhooks.queue import DeliveryQueue, DueWebhook, due_webhook

LEASE: Final = timedelta(seconds=30)
"""The duration of a claim: twice the time limit of an attempt."""

LOG_DAYS, CLICKS_LOG_DAYS = 30, 3
"""Finished deliveries are deleted after this time; those of clicks have many ids."""

MAX_STORED_ATTEMPTS: Final = 20
"""Only retries by hand make more."""

SHOWN_CHARACTERS: Final = 4096
"""A page may have many payloads, so it shows only the beginning of each."""

RETRIED: Final = (DeliveryStatus.FAILED, DeliveryStatus.CANCELLED)

MAX_COUNTED: Final = 100_000

_MAX_SEARCHES: Final = 5
"""Searches of a claim, while all that it finds has to wait for earlier deliveries."""

_SHOWN_FIELDS: Final = {
    **dict.fromkeys(set(Delivery.__struct_fields__) - {"macros", "click_ids"}, True),
    "payload": {
        "$cond": [
            {"$eq": [{"$type": "$payload"}, "string"]},
            {"$substrCP": ["$payload", 0, SHOWN_CHARACTERS]},
            None,
        ]
    },
}


class AttemptResult(NamedTuple):
    """The result of an attempt. `due_at` is the time of the next one, if any."""

    delivery: Delivery
    attempt: Attempt
    status: DeliveryStatus
    due_at: datetime | None


class DeliveryBacklog(NamedTuple):
    """Claimable deliveries, counted up to 100,000, and when the oldest became due."""

    due: int
    oldest: datetime | None


class Deliveries:
    """The deliveries of all accounts."""

    def __init__(self, mongodb: MongoDB, queue: DeliveryQueue) -> None:
        self._database = mongodb.database
        self._reader = mongodb.reads
        self._deliveries = mongodb["deliveries"]
        self._queue = queue

    async def next_due(self, webhook_ids: Collection[UUID]) -> dict[UUID, datetime]:
        """Return when each webhook's first delivery is due, those being sent included."""
        rows = self._deliveries.aggregate(first_of_each(webhook_id={"$in": list(webhook_ids)}))
        return {row["_id"]: row["due_at"] async for row in rows}

    async def claim(self, wanted: Mapping[UUID, int], at: datetime) -> list[Delivery]:
        """Claim each webhook's oldest deliveries until `at` + LEASE, up to the wanted numbers."""
        rows = await self._next_in_order(wanted, at)
        if not rows:
            return []
        holder, until = uuid4(), at + LEASE
        ids = [row["_id"] for row in rows]
        free = {"_id": {"$in": ids}, "status": DeliveryStatus.DUE, "due_at": {"$lte": at}}
        claim = {"$set": {"holder": holder, "due_at": until}}
        claimed = await self._deliveries.update_many(free, claim)
        if claimed.modified_count < len(ids):
            held = {"_id": {"$in": ids}, "holder": holder}
            mine = {row["_id"] async for row in self._deliveries.find(held, ["_id"])}
            rows = [row for row in rows if row["_id"] in mine]
        return [as_struct(Delivery, {**row, "holder": holder, "due_at": until}) for row in rows]

    async def _next_in_order(self, wanted: Mapping[UUID, int], at: datetime) -> Sequence[Any]:
        for _ in range(_MAX_SEARCHES if wanted else 0):
            found = await self._oldest(wanted, at)
            if (rows := await postpone_later_ones(self._database, found)) or not found:
                return rows
        return []

    async def _oldest(self, wanted: Mapping[UUID, int], at: datetime) -> list[dict[str, Any]]:
        first, *others = [_oldest_of(webhook_id, at, limit) for webhook_id, limit in wanted.items()]
        together = [{"$unionWith": {"coll": "deliveries", "pipeline": one}} for one in others]
        return await self._deliveries.aggregate([*first, *together]).to_list(None)

    async def store_content(
        self, unstored: Sequence[tuple[Delivery, Mapping[str, str | None]]]
    ) -> None:
        """Store `payload`, `macros` and `url` of claimed deliveries, for later attempts."""
        statements = [
            {"q": {"_id": one.id, "holder": one.holder}, "u": {"$set": dict(fields)}}
            for one, fields in unstored
            if fields
        ]
        for piece in sendable(statements):
            await run_updates(self._database, "deliveries", piece)

    async def record(self, results: Sequence[AttemptResult]) -> None:
        """Record results, unless another holder has claimed the delivery. May be repeated.

        If a conversion failed for good, subscribed webhooks are notified in the same transaction.
        If a delivery has ended, a later one of its conversion is due.
        """
        failed = [one for one in results if _should_notify(one)]
        others = [one for one in results if not _should_notify(one)]
        await run_updates(self._database, "deliveries", [_update_of(one) for one in others])
        await self._queue.add(_due_early(others))
        if failed:
            async with await self._database.client.start_session() as session:
                work = partial(self._record_failed, failed)
                await self._queue.add(await in_transaction(session, work))
        ended = [one.delivery for one in results if one.due_at is None]
        if in_order := [one for one in ended if one.revision is not None]:
            at = max(one.attempt.at for one in results)
            await self._queue.add(await make_next_due(self._database, in_order, at))

    async def _record_failed(
        self, results: Sequence[AttemptResult], session: MongoSession
    ) -> set[DueWebhook]:
        ours = await self._still_claimed(results, session)
        updates = [_update_of(one) for one in ours]
        await run_updates(self._database, "deliveries", updates, session)
        messages = [delivery_failed(one.delivery, one.attempt) for one in ours]
        return await create_messages(self._database, messages, session)

    async def _still_claimed(
        self, results: Sequence[AttemptResult], session: MongoSession
    ) -> list[AttemptResult]:
        ids = {"_id": {"$in": [one.delivery.id for one in results]}}
        rows = self._deliveries.find(ids, ["holder"], session=session)
        holders = {row["_id"]: row.get("holder") async for row in rows}
        return [one for one in results if holders.get(one.delivery.id) == one.delivery.holder]

    async def release(self, deliveries: Collection[Delivery], at: datetime) -> None:
        """Release our claims: the deliveries are due again at `at`."""
        held = {
            "_id": {"$in": [one.id for one in deliveries]},
            "holder": {"$in": list({one.holder for one in deliveries})},
        }
        await self._deliveries.update_many(held, {"$set": {"due_at": at}, "$unset": {"holder": ""}})
        released = {DueWebhook(one.account_id, one.webhook_id, at) for one in deliveries}
        await self._queue.add(released)

    async def cancel(self, webhook_ids: Collection[UUID], at: datetime) -> None:
        """Cancel the due deliveries of deleted or inactive webhooks, unless they are being sent."""
        due = {
            "status": DeliveryStatus.DUE,
            "webhook_id": {"$in": list(webhook_ids)},
            "$or": [{"holder": {"$exists": False}}, {"due_at": {"$lte": at}}],
        }
        await self._deliveries.update_many(due, _set_finished(DeliveryStatus.CANCELLED, at))

    async def find(self, delivery_id: UUID) -> Delivery | None:
        row = await self._reader.find_one("deliveries", {"_id": delivery_id})
        return None if row is None else as_struct(Delivery, row)

    async def find_all(self, ids: Collection[UUID]) -> dict[UUID, Delivery]:
        """Return the deliveries by id, with at most SHOWN_CHARACTERS of each payload."""
        rows = await self._reader.find("deliveries", {"_id": {"$in": list(ids)}}, _SHOWN_FIELDS)
        return {row["_id"]: as_struct(Delivery, row) for row in rows}

    async def postback_keys(self, event_ids: Collection[int]) -> dict[int, str | None]:
        """Return the postback keys of stored conversions, by event id; None for one without."""
        of_ids = {"_id": {"$in": list(event_ids)}}
        conversions = await self._reader.find("events", of_ids, ["event_config_id"])
        config_ids = {row["_id"]: row["event_config_id"] for row in conversions}
        of_configs = {"_id": {"$in": [one for one in config_ids.values() if one]}}
        configs = await self._reader.find("event_configs", of_configs, ["pbk"])
        pbks = {row["_id"]: row["pbk"] for row in configs}
        return {event_id: pbks.get(config_id) for event_id, config_id in config_ids.items()}

    async def statuses(self, ids: Collection[UUID]) -> dict[UUID, DeliveryStatus]:
        rows = await self._reader.find("deliveries", {"_id": {"$in": list(ids)}}, ["status"])
        return {row["_id"]: DeliveryStatus(row["status"]) for row in rows}

    async def page(
        self, webhook_id: UUID, states: Collection[str], page: int, page_size: int
    ) -> tuple[list[Delivery], int]:
        """Return a page, newest first, and the total. Payloads have at most SHOWN_CHARACTERS."""
        matching = in_states(webhook_id, states)
        total = await self._reader.count("deliveries", matching)
        newest = {"sort": {"created_at": -1, "_id": -1}}
        part = {"skip": (page - 1) * page_size, "limit": page_size}
        rows = await self._reader.find("deliveries", matching, _SHOWN_FIELDS, **newest, **part)
        return [as_struct(Delivery, row) for row in rows], total

    async def count(self, webhook_id: UUID, state: str) -> int:
        """Return how many there are, counted up to MAX_COUNTED: those that fail are read."""
        matching = in_states(webhook_id, [state])
        return await self._reader.count("deliveries", matching, limit=MAX_COUNTED)

    async def send_now(self, webhook_id: UUID, account_id: UUID, at: datetime) -> int:
        """Make the first MAX_SENT_NOW that are due later due now; return how many."""
        waiting = {"webhook_id": webhook_id, "status": DeliveryStatus.DUE, "due_at": {"$gt": at}}
        free = {**waiting, "holder": {"$exists": False}}
        first = self._deliveries.find(free, ["_id"]).sort("due_at", 1).limit(MAX_SENT_NOW)
        matching = {**waiting, "_id": {"$in": [row["_id"] async for row in first]}}
        return await self.retry_matching(matching, {webhook_id: account_id}, at)

    async def retry(self, delivery_id: UUID, at: datetime) -> None:
        """Make a delivery due, whatever its state, unless it is being sent."""
        free = {"_id": delivery_id, "holder": {"$exists": False}}
        await self._deliveries.update_one(free, _set_due(at))
        rows = self._deliveries.find({"_id": delivery_id}, ["account_id", "webhook_id"])
        await self._queue.add([due_webhook({**row, "due_at": at}) async for row in rows])

    async def retry_since(
        self, webhook_id: UUID, account_id: UUID, since: datetime, at: datetime
    ) -> int:
        """Make due all failed and cancelled deliveries created since then; return how many."""
        matching = {
            "webhook_id": webhook_id,
            "status": {"$in": list(RETRIED)},
            "created_at": {"$gte": since},
        }
        return await self.retry_matching(matching, {webhook_id: account_id}, at)

    async def retry_matching(
        self, matching: Mapping[str, Any], accounts: Mapping[UUID, UUID], at: datetime
    ) -> int:
        """Make matching deliveries due, unless they are being sent; return how many.

        `accounts` has the account of each webhook that they may be of.
        """
        free = {"$and": [matching, {"holder": {"$exists": False}}]}
        updated = await self._deliveries.update_many(free, _set_due(at))
        await self._queue.add(DueWebhook(account, key, at) for key, account in accounts.items())
        return updated.matched_count

    async def backlog(self, at: datetime) -> DeliveryBacklog:
        """Return the backlog. The cost grows with the webhooks that have something due."""
        oldest = {"$group": {"_id": None, "due_at": {"$min": "$due_at"}}}
        stages = [*first_of_each(), oldest]
        [first] = await self._deliveries.aggregate(stages).to_list(None) or [{"due_at": None}]
        matching = {"status": DeliveryStatus.DUE, "due_at": {"$lte": at}}
        due = await self._deliveries.count_documents(matching, limit=MAX_COUNTED)
        return DeliveryBacklog(due, first["due_at"] if due else None)


def _should_notify(result: AttemptResult) -> bool:
    return result.status is DeliveryStatus.FAILED and result.delivery.event_id is not None


def _due_early(results: Iterable[AttemptResult]) -> Iterator[DueWebhook]:
    """Yield attempts that are due before the lease ends, when the queue is looked at."""
    for delivery, _, _, due_at in results:
        if due_at and delivery.due_at and due_at < delivery.due_at:
            yield DueWebhook(delivery.account_id, delivery.webhook_id, due_at)


def _oldest_of(webhook_id: UUID, at: datetime, limit: int) -> list[dict[str, Any]]:
    due = {"status": DeliveryStatus.DUE, "webhook_id": webhook_id, "due_at": {"$lte": at}}
    return [{"$match": due}, {"$sort": {"due_at": 1}}, {"$limit": limit}]


def _update_of(result: AttemptResult) -> dict[str, Any]:
    delivery, attempt, status, due_at = result
    days = LOG_DAYS if delivery.click_ids is None else CLICKS_LOG_DAYS
    change = _set_due(due_at) if due_at else _set_finished(status, attempt.at, days)
    change["$unset"]["holder"] = ""
    attempts = {"$each": [msgspec.structs.asdict(attempt)], "$slice": -MAX_STORED_ATTEMPTS}
    change["$push"] = {"attempts": attempts}
    return {"q": {"_id": delivery.id, "holder": delivery.holder}, "u": change}


def _set_due(at: datetime) -> dict[str, Any]:
    return {"$set": {"status": DeliveryStatus.DUE, "due_at": at}, "$unset": {"expires_at": ""}}


def _set_finished(status: DeliveryStatus, at: datetime, days: int = LOG_DAYS) -> dict[str, Any]:
    finished = {"status": status, "expires_at": at + timedelta(days=days)}
    return {"$set": finished, "$unset": {"due_at": "", "holder": ""}}
