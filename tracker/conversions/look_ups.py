"""Look-ups before a conversion is answered: its click's account, its transaction id.

- Look-ups are grouped (`stores/batch`): one query serves all that arrived during the last one.
- If MongoDB takes longer than LOOK_UP_SECONDS, results are None and queries pause for a moment. The
  conversion is pending then, and the drain decides.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker.stores.batch import Batch
from tracker.stores.breaker import Breaker, answer_within
from tracker.stores.mongodb.documents import StoredId, owner_id
from tracker.stores.mongodb.reads import MongoReads

LOOK_UP_SECONDS = 1.0

ScopedTransactionId = tuple[Sequence[UUID], str]
"""Scopes and a transaction id. An id that BSON cannot encode would fail its whole group."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class LookUps:
    """Look-ups in MongoDB, in groups.

    `owners` finds the account of a click. `earlier` finds the first conversion with a transaction
    id, `clicks` the click of a conversion.
    """

    def __init__(self, reads: MongoReads) -> None:
        self._reads = reads
        self._binary_reads = reads.with_binary_ids()
        self.mongodb = Breaker()
        self.owners = Batch[bytes, UUID | None](self._or_none(self._owners))
        self.earlier = Batch[ScopedTransactionId, int | None](self._or_none(self._earlier))
        self.clicks = Batch[int, UUID | None](self._or_none(self._clicks))

    def _or_none(
        self, find: Callable[[list[Item]], Coroutine[Any, Any, list[Result | None]]]
    ) -> Callable[[list[Item]], Awaitable[list[Result | None]]]:
        async def find_or_none(items: list[Item]) -> list[Result | None]:
            if not self.mongodb.is_open:
                try:
                    return await answer_within(LOOK_UP_SECONDS, find(items))
                except (PyMongoError, TimeoutError) as error:
                    self.mongodb.record_failure(error)
            return [None] * len(items)

        return find_or_none

    async def _owners(self, click_ids: list[bytes]) -> list[UUID | None]:
        wanted = [StoredId(one) for one in set(click_ids)]
        matching = {"_id": {"$in": wanted}}
        rows = await self._binary_reads.find("clicks", matching, ["account_id"], limit=len(wanted))
        owners = {bytes(row["_id"]): owner_id(bytes(row["account_id"])) for row in rows}
        return [owners.get(click_id) for click_id in click_ids]

    async def _earlier(self, queries: list[ScopedTransactionId]) -> list[int | None]:
        texts: defaultdict[UUID, set[str]] = defaultdict(set)
        for scopes, transaction_id in queries:
            for scope in scopes:
                texts[scope].add(transaction_id)
        if not texts:
            return [None] * len(queries)
        branches = [
            {"transaction_scope": scope, "transaction_id": {"$in": list(some)}}
            for scope, some in texts.items()
        ]
        fields = ["at", "transaction_scope", "transaction_id"]
        limit = sum(map(len, texts.values()))
        rows = await self._reads.find("events", {"$or": branches}, fields, limit=limit)
        holders = {
            (row["transaction_scope"], row["transaction_id"]): (row["at"], row["_id"])
            for row in rows
        }
        return [
            min(
                (holders[scope, text] for scope in scopes if (scope, text) in holders),
                default=(None, None),
            )[1]
            for scopes, text in queries
        ]

    async def _clicks(self, event_ids: list[int]) -> list[UUID | None]:
        wanted = list(set(event_ids))
        matching = {"_id": {"$in": wanted}}
        rows = await self._reads.find("events", matching, ["click_id"], limit=len(wanted))
        clicks = {row["_id"]: row["click_id"] for row in rows}
        return [clicks.get(event_id) for event_id in event_ids]
