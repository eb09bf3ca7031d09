"""Deliveries of every account, for operators: found by what they filter, and sent again."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
import pymongo

from tracker.db.connect import Database
from tracker.db.documents import record
from tracker.webhooks.deliveries import Deliveries
from tracker.webhooks.delivery import Delivery, Status

SECONDS: Final = 600.0
"""How long MongoDB may take: without a webhook no index has what operators filter by."""

RETRIED: Final = (Status.FAILED, Status.CANCELLED)
"""What is sent again where nothing else is asked for."""


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which deliveries are meant: all that match every field that is given."""

    ids: Collection[UUID] = ()
    account_id: UUID | None = None
    webhook_id: UUID | None = None
    statuses: Collection[Status] = tuple(Status)
    since: datetime | None = None

    @property
    def query(self) -> dict[str, Any]:
        """The same as a query of MongoDB."""
        given: dict[str, Any] = {"status": {"$in": list(self.statuses)}}
        if self.ids:
            given["_id"] = {"$in": list(self.ids)}
        if self.account_id:
            given["account_id"] = self.account_id
        if self.webhook_id:
            given["webhook_id"] = self.webhook_id
        if self.since:
            given["created_at"] = {"$gte": self.since}
        return given


class Retried(NamedTuple):
    """How many deliveries are due again; how many are not, for their webhooks are inactive or
    gone, or because they are being sent."""

    retried: int
    inactive: int
    being_sent: int


class DeliverySearch:
    """Deliveries across accounts."""

    def __init__(self, database: Database, deliveries: Deliveries) -> None:
        self._rows = database["deliveries"]
        self._webhooks = database["webhooks"]
        self._deliveries = deliveries

    async def find(self, wanted: Filter, limit: int) -> tuple[list[Delivery], int]:
        """Return the newest that match, without their payloads, and how many match in all.

        Raises PyMongoError.
        """
        newest = [("created_at", pymongo.DESCENDING), ("_id", pymongo.DESCENDING)]
        with pymongo.timeout(SECONDS):
            total = await self._rows.count_documents(wanted.query)
            rows = self._rows.find(wanted.query, {"payload": False}).sort(newest).limit(limit)
            return [record(Delivery, row) async for row in rows], total

    async def missing(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of `ids` that no delivery has. Raises PyMongoError."""
        rows = self._rows.find({"_id": {"$in": list(ids)}}, ["_id"])
        there = {row["_id"] async for row in rows}
        return [one for one in ids if one not in there]

    async def retry(self, wanted: Filter, at: datetime) -> Retried:
        """Make due what matches, of active webhooks: for others it would be cancelled at once.

        Raises PyMongoError.
        """
        with pymongo.timeout(SECONDS):
            webhook_ids = await self._rows.distinct("webhook_id", wanted.query)
            rows = self._webhooks.find({"_id": {"$in": webhook_ids}, "active": True}, ["_id"])
            active = [row["_id"] async for row in rows]
            matching = await self._rows.count_documents(wanted.query)
            of_active = {"$and": [wanted.query, {"webhook_id": {"$in": active}}]}
            wanted_of_active = await self._rows.count_documents(of_active)
            retried = await self._deliveries.retry_matching(of_active, at)
        inactive = matching - wanted_of_active
        return Retried(retried, inactive, max(0, wanted_of_active - retried))
