"""Conversion events in MongoDB, by event id."""

import contextlib
from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from bson import Decimal128
from pymongo.errors import DuplicateKeyError

from tracker.clock import moment
from tracker.conversions.attribution import COUNTED, Status
from tracker.conversions.event import Event
from tracker.db.connect import Database
from tracker.db.documents import StoredId
from tracker.db.transaction import Session

_NEVER_CHANGE = ("at", "event_config_id", "click_id", "value", "metadata")

Transaction = tuple[UUID, str]
"""A transaction id in its scope; unique."""

ClickAndConfig = tuple[UUID, UUID | None]
"""A click and an event configuration: an account may bound the conversions of each pair."""


class EventIdTaken(Exception):
    """Two events have one id, which a database restored from the past can lead to."""


class Events:
    def __init__(self, database: Database) -> None:
        self._events = database["events"]

    async def claim(self, event: Event, scopes: Collection[UUID]) -> int:
        """Store it ahead of its journal entry, unless its transaction id is taken in one of
        `scopes`; the id of the event that has it.

        In one session, or a majority might not have yet what the insert has met.
        """
        async with await self._events.database.client.start_session() as session:
            with contextlib.suppress(DuplicateKeyError):
                claimed = {**document(event), "status": Status.CLAIMED}
                await self._events.insert_one(claimed, session=session)
            first = await self._first(scopes, event.transaction_id or "", session)
        return event.id if first is None else int(first["_id"])

    async def stored(self, ids: Collection[int]) -> dict[int, dict[str, Any]]:
        """The documents of those of `ids` that are stored."""
        if not ids:
            return {}
        return {row["_id"]: row async for row in self._events.find({"_id": {"$in": list(ids)}})}

    async def holders(self, transactions: Collection[Transaction]) -> dict[Transaction, int]:
        """The ids of the events that have these transaction ids."""
        if not transactions:
            return {}
        wanted = [
            {"transaction_scope": scope, "transaction_id": one} for scope, one in transactions
        ]
        rows = self._events.find({"$or": wanted}, ["transaction_scope", "transaction_id"])
        return {(row["transaction_scope"], row["transaction_id"]): row["_id"] async for row in rows}

    async def counted(
        self,
        wanted: Collection[ClickAndConfig],
        but: Collection[int] = (),
        session: Session | None = None,
    ) -> dict[ClickAndConfig, int]:
        """Return how many stored events of these clicks and configurations count, without those
        whose ids are in `but`."""
        if not wanted:
            return {}
        clicks = list({click_id for click_id, _ in wanted})
        matching: dict[str, Any] = {
            "click_id": {"$in": clicks},
            "status": {"$in": list(COUNTED)},
            "account_id": {"$ne": None},
        }
        if but:
            matching["_id"] = {"$nin": list(but)}
        which = {"click_id": "$click_id", "event_config_id": "$event_config_id"}
        stages: list[dict[str, Any]] = [
            {"$match": matching},
            {"$group": {"_id": which, "count": {"$sum": 1}}},
        ]
        rows = self._events.aggregate(stages, session=session)
        return {click_and_config(row["_id"]): row["count"] async for row in rows}

    async def _first(
        self, scopes: Collection[UUID], transaction_id: str, session: Session
    ) -> dict[str, Any] | None:
        return await self._events.find_one(
            {"transaction_scope": {"$in": list(scopes)}, "transaction_id": transaction_id},
            sort=[("at", 1), ("_id", 1)],
            session=session,
        )

    async def pending(
        self, click_ids: Collection[UUID | StoredId], after: int = 0, most: int = 500
    ) -> list[dict[str, Any]]:
        """The next events after that id which wait for one of these clicks, by id."""
        if not click_ids:
            return []
        waiting = {
            "click_id": {"$in": list(click_ids)},
            "status": Status.PENDING,
            "_id": {"$gt": after},
        }
        return [row async for row in self._events.find(waiting).sort("_id", 1).limit(most)]

    async def overdue(self, at: datetime, most: int = 200) -> list[dict[str, Any]]:
        """Those whose webhooks are to be told by then although their clicks have not come."""
        waiting = self._events.find({"tell_at": {"$lte": at}, "status": Status.PENDING})
        return [row async for row in waiting.sort("tell_at", 1).limit(most)]


def check_same(stored: Mapping[str, Any], arrived: Mapping[str, Any]) -> None:
    """Raises EventIdTaken unless the stored event is the one that arrived (again)."""
    if any(stored[name] != arrived[name] for name in _NEVER_CHANGE):
        raise EventIdTaken(f"event id {arrived['_id']} belongs to another event")


def click_and_config(event: Mapping[str, Any]) -> ClickAndConfig:
    return event["click_id"], event["event_config_id"]


def transaction_of(event: Mapping[str, Any]) -> Transaction | None:
    if "transaction_id" not in event:
        return None
    return event["transaction_scope"], event["transaction_id"]


def document(event: Event) -> dict[str, Any]:
    """The event as it is stored when its click is not known."""
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


@lru_cache(maxsize=10_000)
def _money(text: str | None) -> Decimal128 | None:
    return None if text is None else Decimal128(Decimal(text))
