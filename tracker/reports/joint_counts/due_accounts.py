"""The accounts whose joint counts are to be made, and when (`ingest/joint_counting`).

A document is {_id: account_id, due_at}. One more, `arrivals`, has the time up to which arrivals
were read. An account without clicks has none, so it costs nothing.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.drivers import Database

_ACCOUNTS_AT_ONCE: Final = 1000
_ARRIVALS: Final = "arrivals"


class DueAccounts:
    """The queue of accounts in MongoDB, which outlives the drains."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._due = database["joint_counts_due"]

    async def at(self, moment: datetime) -> list[UUID]:
        """Return some of the accounts that are due by then, those that wait longest first."""
        found = self._due.find({"due_at": {"$lte": moment}}, ["_id"]).sort("due_at", 1)
        return [row["_id"] for row in await found.limit(_ACCOUNTS_AT_ONCE).to_list(None)]

    async def add(self, account_ids: Collection[UUID], due_at: datetime) -> None:
        """Add accounts. Those that are in the queue keep their time."""
        await self._update(account_ids, {"$setOnInsert": {"due_at": due_at}})

    async def hasten(self, account_ids: Collection[UUID], due_at: datetime) -> None:
        """Add accounts, or let them be due by then."""
        await self._update(account_ids, {"$min": {"due_at": due_at}})

    async def put_off(self, account_id: UUID, due_at: datetime | None) -> None:
        """Change the time of an account; None: remove it."""
        if due_at is None:
            await self._due.delete_one({"_id": account_id})
        else:
            await self._due.update_one({"_id": account_id}, {"$set": {"due_at": due_at}})

    async def arrivals_read_to(self) -> datetime | None:
        """Return the time up to which arrivals were read; None before the first time."""
        row = await self._due.find_one({"_id": _ARRIVALS})
        return None if row is None else row["read_to"]

    async def set_arrivals_read_to(self, moment: datetime) -> None:
        await self._due.update_one({"_id": _ARRIVALS}, {"$set": {"read_to": moment}}, upsert=True)

    async def _update(self, account_ids: Collection[UUID], update: Mapping[str, Any]) -> None:
        updates = [{"q": {"_id": one}, "u": update, "upsert": True} for one in account_ids]
        for start in range(0, len(updates), _ACCOUNTS_AT_ONCE):
            some = updates[start : start + _ACCOUNTS_AT_ONCE]
            await run_updates(self._database, "joint_counts_due", some)
