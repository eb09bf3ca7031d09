"""Conversion events in MongoDB, by event id."""

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import structlog
from bson import Decimal128
from pymongo.errors import DuplicateKeyError

from tracker.clock import moment
from tracker.conversions.attribution import Status
from tracker.conversions.event import Event
from tracker.db.connect import Database
from tracker.db.documents import insert_new

log = structlog.get_logger(__name__)


_NEVER_CHANGE = ("at", "event_config_id", "click_id", "value", "metadata")


class EventIdTaken(Exception):
    """Two events have one id, which a database restored from the past can lead to."""


class Events:
    def __init__(self, database: Database) -> None:
        self._events = database["events"]

    async def insert(self, events: Sequence[Event]) -> None:
        """Those that are stored already, or whose transaction id is, are left out."""
        documents = {event.id: _document(event) for event in events}
        refused = await insert_new(self._events, list(documents.values()))
        for one in refused:
            if "transaction_id" in one.get("keyPattern", {}):
                log.info("transaction id seen before", event_id=one["op"]["_id"])
        await self._check_redelivered([one["op"] for one in refused])

    async def _check_redelivered(self, refused: Sequence[Mapping[str, Any]]) -> None:
        """Raises EventIdTaken if one was refused for another event's sake that has its id."""
        if not refused:
            return
        rows = self._events.find({"_id": {"$in": [one["_id"] for one in refused]}})
        stored = {row["_id"]: row async for row in rows}
        for one in refused:
            other = stored.get(one["_id"])
            if other is not None and any(other[name] != one[name] for name in _NEVER_CHANGE):
                raise EventIdTaken(f"event id {one['_id']} belongs to another event")

    async def find_transaction(
        self, scopes: Collection[UUID], transaction_id: str
    ) -> dict[str, Any] | None:
        """The first event with this transaction id in one of `scopes`."""
        return await self._events.find_one(
            {"transaction_scope": {"$in": list(scopes)}, "transaction_id": transaction_id},
            sort=[("at", 1), ("_id", 1)],
        )

    async def pending(self, click_ids: Collection[UUID]) -> list[dict[str, Any]]:
        """The events that wait for one of these clicks."""
        if not click_ids:
            return []
        rows = self._events.find({"click_id": {"$in": list(click_ids)}, "status": Status.PENDING})
        return [row async for row in rows]

    async def settle(self, event_id: int, fields: Mapping[str, Any]) -> None:
        """Set `fields` on a pending event. Settling twice changes nothing."""
        pending = {"_id": event_id, "status": Status.PENDING}
        try:
            await self._events.update_one(pending, {"$set": dict(fields)})
        except DuplicateKeyError:
            await self._events.update_one(pending, {"$set": {"status": Status.DUPLICATE}})


def _document(event: Event) -> dict[str, Any]:
    row: dict[str, Any] = {
        "_id": event.id,
        "at": moment(event.at),
        "account_id": _uuid(event.account_id),
        "event_config_id": _uuid(event.event_config_id),
        "click_id": _uuid(event.click_id),
        "value": _money(event.value),
        "payout": _money(event.payout),
        # As text: a visitor's keys never become field names.
        "metadata": event.metadata,
        "status": Status.NO_CLICK if event.click_id is None else Status.PENDING,
        "transaction_scope": _uuid(event.transaction_scope),
    }
    if event.transaction_id is not None:
        row["transaction_id"] = event.transaction_id
    return row


def _uuid(value: bytes | None) -> UUID | None:
    return None if value is None else UUID(bytes=value)


def _money(text: str | None) -> Decimal128 | None:
    return None if text is None else Decimal128(Decimal(text))
