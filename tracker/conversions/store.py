"""Conversions in MongoDB, by event id. Their other ids are the 16 bytes of a UUID."""

import contextlib
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from pymongo.errors import DuplicateKeyError

from tracker.clicks.document import PARENT_LINK
from tracker.conversions.conversion import Conversion
from tracker.conversions.document import (
    COUNTED,
    Attribution,
    ClickAndConfig,
    ConversionDocument,
    TransactionId,
    changed,
)
from tracker.conversions.new_document import document
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import (
    StoredId,
    as_stored,
    stored_id,
    stored_ids,
    with_byte_ids,
)
from tracker.stores.mongodb.transaction import MongoSession

MAX_PENDING_READ: Final = 500
MAX_OVERDUE_READ: Final = 200
MAX_AWAITED_READ: Final = 1000


class Awaited(NamedTuple):
    """Clicks that pending conversions wait for, and those that clicks name as parents."""

    by_conversions: Collection[bytes]
    by_children: Collection[bytes]


class Conversions:
    """The conversions of all accounts."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._conversions = with_byte_ids(mongodb["events"])

    async def claim(self, conversion: Conversion, scopes: Collection[UUID]) -> int:
        """Store a conversion before its journal entry, unless its transaction id is taken.

        Return the id of the conversion that has the transaction id in one of `scopes`.
        """
        # In one session: the insert may conflict with a document that no majority has yet.
        async with await self._conversions.database.client.start_session() as session:
            with contextlib.suppress(DuplicateKeyError):
                claimed = changed(document(conversion), {"status": Attribution.CLAIMED})
                await self._conversions.insert_one(as_stored(claimed), session=session)
            holders = {
                "transaction_scope": {"$in": [StoredId(one.bytes) for one in scopes]},
                "transaction_id": conversion.transaction_id or "",
            }
            first = await self._conversions.find_one(
                holders, sort=[("at", 1), ("_id", 1)], session=session
            )
        return conversion.id if first is None else int(first["_id"])

    async def stored(self, ids: Collection[int]) -> dict[int, ConversionDocument]:
        if not ids:
            return {}
        return {
            row["_id"]: row async for row in self._conversions.find({"_id": {"$in": list(ids)}})
        }

    async def stored_or_holding(
        self, ids: Collection[int], transactions: Collection[TransactionId]
    ) -> dict[int, ConversionDocument]:
        """Return the conversions with these ids or transaction ids, by id."""
        wanted: list[dict[str, Any]] = [
            {"transaction_scope": stored_id(scope), "transaction_id": one}
            for scope, one in transactions
        ]
        if ids:
            wanted.append({"_id": {"$in": list(ids)}})
        if not wanted:
            return {}
        return {row["_id"]: row async for row in self._conversions.find({"$or": wanted})}

    async def counted(
        self,
        wanted: Collection[ClickAndConfig],
        excluding: Collection[int] = (),
        session: MongoSession | None = None,
    ) -> dict[ClickAndConfig, int]:
        """Return how many stored conversions count for these clicks and configurations."""
        if not wanted:
            return {}
        clicks = stored_ids({click_id for click_id, _ in wanted})
        matching: dict[str, Any] = {
            "click_id": {"$in": clicks},
            "status": {"$in": list(COUNTED)},
            "account_id": {"$ne": None},
        }
        if excluding:
            matching["_id"] = {"$nin": list(excluding)}
        which = {"click_id": "$click_id", "event_config_id": "$event_config_id"}
        stages: list[dict[str, Any]] = [
            {"$match": matching},
            {"$group": {"_id": which, "count": {"$sum": 1}}},
        ]
        rows = self._conversions.aggregate(stages, session=session)
        return {
            (row["_id"]["click_id"], row["_id"]["event_config_id"]): row["count"]
            async for row in rows
        }

    async def awaited(self, click_ids: Collection[bytes]) -> Awaited:
        """Return those of these clicks that others wait for, or all beyond MAX_AWAITED_READ.

        The ids of a batch are from one time, and few pending conversions name a click of that time.
        So one range is read: to search for 16,000 ids takes 6 ms, half of it MongoDB's. In one
        query, because a further one would take each batch some 0.4 ms.
        """
        if not click_ids:
            return Awaited([], [])
        first, last = stored_ids((min(click_ids), max(click_ids)))
        times = {"$gte": first, "$lte": last}
        children = _ids({"parent_id": times}, "parent_id")
        stages = [
            *_ids({"click_id": times, "status": Attribution.PENDING}, "click_id"),
            {"$unionWith": {"coll": "clicks", "pipeline": children}},
        ]
        rows = await self._conversions.aggregate(stages).to_list(2 * MAX_AWAITED_READ)
        by_name = ([row[name] for row in rows if name in row] for name in ("click_id", "parent_id"))
        return Awaited(
            *(
                click_ids if len(ids) == MAX_AWAITED_READ else {*ids}.intersection(click_ids)
                for ids in by_name
            )
        )

    async def pending(
        self, click_ids: Collection[bytes], after: int = 0
    ) -> list[ConversionDocument]:
        """Return conversions with ids above `after` that wait for one of these clicks, by id.

        There may be more than the MAX_PENDING_READ that are returned.
        """
        if not click_ids:
            return []
        waiting = {
            "click_id": {"$in": stored_ids(click_ids)},
            "status": Attribution.PENDING,
            "_id": {"$gt": after},
        }
        found = self._conversions.find(waiting).sort("_id", 1).limit(MAX_PENDING_READ)
        return [row async for row in found]

    async def without_parent(
        self, click_ids: Collection[bytes], after: int = 0
    ) -> list[ConversionDocument]:
        """Return conversions with ids above `after` that have all of these clicks but the parent.

        There may be more than the MAX_PENDING_READ that are returned.
        """
        wanted = {
            "click_id": {"$in": stored_ids(click_ids)},
            "status": {"$in": [Attribution.ATTRIBUTED, Attribution.TEST]},
            PARENT_LINK: None,
            "_id": {"$gt": after},
        }
        found = self._conversions.find(wanted).sort("_id", 1).limit(MAX_PENDING_READ)
        return [row async for row in found]

    async def overdue(self, at: datetime) -> list[ConversionDocument]:
        """Return pending conversions whose notification is due, longest overdue first."""
        due = {"tell_at": {"$lte": at}, "status": Attribution.PENDING}
        found = self._conversions.find(due).sort("tell_at", 1).limit(MAX_OVERDUE_READ)
        return [row async for row in found]


def _ids(matching: dict[str, Any], name: str) -> list[dict[str, Any]]:
    shown = {"$project": {"_id": 0, name: 1}}
    return [{"$match": matching}, {"$limit": MAX_AWAITED_READ}, shown]
