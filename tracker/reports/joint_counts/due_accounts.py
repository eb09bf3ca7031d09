"""The accounts whose joint counts are to be made, and when (`ingest/joint_counting`).

A document is {_id: account_id, due_at}. One more, `arrivals`, has the time up to which arrivals
were read. An account without clicks has none, so it costs nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.drivers import Database

_ACCOUNTS_AT_ONCE: Final = 1000
_ARRIVALS: Final = "arrivals"
_TALLIED_ACCOUNTS: Final = 10_000


class DueAccounts:
    """The queue of accounts in MongoDB, which outlives the drains."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._due = database["joint_counts_due"]

    async def at(self, moment: datetime) -> list[UUID]:
        """Return some of the accounts that are due by then, longest waiting first."""
        found = self._due.find({"due_at": {"$lte": moment}}, ["_id"]).sort("due_at", 1)
        return [row["_id"] for row in await found.limit(_ACCOUNTS_AT_ONCE).to_list(None)]

    async def add(self, account_ids: Collection[UUID], due_at: datetime) -> None:
        """Add accounts. An account in the queue keeps its time."""
        await self._update(account_ids, {"$setOnInsert": {"due_at": due_at}})

    async def hasten(self, account_ids: Collection[UUID], due_at: datetime) -> None:
        """Add accounts, or let them be due by then."""
        await self._update(account_ids, {"$min": {"due_at": due_at}})

    async def claim(self, account_id: UUID, until: datetime) -> None:
        """Put an account off while it is looked at. If that does not end, it is due again then."""
        await self._due.update_one({"_id": account_id}, {"$set": {"due_at": until}})

    async def put_off(self, account_id: UUID, claimed: datetime, due_at: datetime | None) -> None:
        """Change the time of an account that was `claimed` until then; None: remove it.

        An account that was hastened meanwhile keeps that time.
        """
        of_claim = {"_id": account_id, "due_at": claimed}
        if due_at is None:
            await self._due.delete_one(of_claim)
        else:
            await self._due.update_one(of_claim, {"$set": {"due_at": due_at}})

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


class StoredTally:
    """How many clicks and events of each account a drain has stored.

    It is forgotten beyond 10,000 accounts. Busy accounts are then found by their arrivals, some
    minutes later.
    """

    def __init__(self) -> None:
        self._counts: Counter[bytes] = Counter()
        self._counts_before: Counter[bytes] = Counter()

    def add(self, account_ids: Iterable[bytes]) -> None:
        """Add one for each time that an account is given."""
        self._counts.update(account_ids)
        if len(self._counts) > _TALLIED_ACCOUNTS:
            self._counts.clear()

    def take(self, many: int) -> list[UUID]:
        """Return the accounts with so many, but not since the last call; begin anew with them.

        So a burst of clicks is over before an account is returned.
        """
        found = [
            one
            for one, count in self._counts.items()
            if count >= many > count - self._counts_before[one]
        ]
        for one in found:
            del self._counts[one]
        self._counts_before = self._counts.copy()
        return [UUID(bytes=one) for one in found]
