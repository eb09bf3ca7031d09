"""Search of deliveries in all accounts, for operators who list or retry them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
import pymongo

from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_struct
from tracker.webhooks.deliveries import Deliveries
from tracker.webhooks.delivery import Delivery, DeliveryStatus

QUERY_SECONDS: Final = 600.0
"""The time limit of a query. No index helps a filter without a webhook."""


class DeliveryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of deliveries. A delivery has to match every given field."""

    ids: Collection[UUID] = ()
    account_id: UUID | None = None
    webhook_id: UUID | None = None
    statuses: Collection[DeliveryStatus] = tuple(DeliveryStatus)
    since: datetime | None = None

    @property
    def query(self) -> dict[str, Any]:
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


class RetryCounts(NamedTuple):
    """How many deliveries are due again, have no active webhook, or are being sent."""

    retried: int
    inactive: int
    being_sent: int


class DeliverySearch:
    """The deliveries of all accounts."""

    def __init__(self, mongodb: MongoDB, deliveries: Deliveries) -> None:
        self._rows = mongodb["deliveries"]
        self._webhooks = mongodb["webhooks"]
        self._deliveries = deliveries

    async def find(self, wanted: DeliveryFilter, limit: int) -> tuple[list[Delivery], int]:
        """Return the newest deliveries that match, without payloads, and how many match."""
        newest = [("created_at", pymongo.DESCENDING), ("_id", pymongo.DESCENDING)]
        with pymongo.timeout(QUERY_SECONDS):
            total = await self._rows.count_documents(wanted.query)
            rows = self._rows.find(wanted.query, {"payload": False}).sort(newest).limit(limit)
            return [as_struct(Delivery, row) async for row in rows], total

    async def missing(self, ids: Sequence[UUID]) -> list[UUID]:
        rows = self._rows.find({"_id": {"$in": list(ids)}}, ["_id"])
        existing = {row["_id"] async for row in rows}
        return [one for one in ids if one not in existing]

    async def retry(self, wanted: DeliveryFilter, at: datetime) -> RetryCounts:
        """Make matching deliveries of active webhooks due; the rest would be cancelled at once."""
        with pymongo.timeout(QUERY_SECONDS):
            webhook_ids = await self._rows.distinct("webhook_id", wanted.query)
            wanted_active = {"_id": {"$in": webhook_ids}, "active": True}
            rows = self._webhooks.find(wanted_active, ["account_id"])
            active = {row["_id"]: row["account_id"] async for row in rows}
            matching = await self._rows.count_documents(wanted.query)
            of_active = {"$and": [wanted.query, {"webhook_id": {"$in": list(active)}}]}
            wanted_of_active = await self._rows.count_documents(of_active)
            retried = await self._deliveries.retry_matching(of_active, active, at)
        inactive = matching - wanted_of_active
        return RetryCounts(retried, inactive, max(0, wanted_of_active - retried))
