"""Ancestors and descendants of API keys that keys have created.

Searches begin at an account's valid keys, whose number is limited.
"""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from tracker.access.principal import ActorKind
from tracker.clock import now
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession


def valid_filter() -> dict[str, Any]:
    """Return the filter of keys that are neither revoked nor expired."""
    unexpired = [{"expires_at": None}, {"expires_at": {"$gt": now()}}]
    return {"revoked_at": None, "$or": unexpired}


class KeyFamily:
    """The keys that an account's keys have made."""

    def __init__(self, database: Database) -> None:
        self._keys = database["api_keys"]
        self._accounts = database["accounts"]

    async def descendants(
        self, account_id: UUID, session: MongoSession | None = None
    ) -> dict[UUID, list[UUID]]:
        """Return the valid descendants of each key, oldest first. Keys without any are missing.

        Revoked keys have descendants too.
        """
        by_keys = {"created_by.kind": ActorKind.API_KEY}
        made = {"account_id": account_id, **by_keys, **valid_filter()}
        rows = self._keys.find(made, ["created_by.id"], session=session).sort("_id", 1)
        maker_of = {row["_id"]: row["created_by"]["id"] async for row in rows}
        known = await self._makers(account_id, set(maker_of.values()), session)
        found: dict[UUID, list[UUID]] = {}
        for key_id, maker in maker_of.items():
            while maker in known:
                found.setdefault(maker, []).append(key_id)
                maker = known[maker]
        return found

    async def _makers(
        self, account_id: UUID, makers: Collection[UUID], session: MongoSession | None
    ) -> dict[UUID, UUID | None]:
        """Map the account's keys among `makers`, and all their ancestors, to their makers."""
        upwards = {
            "from": "api_keys",
            "startWith": list(makers),
            "connectFromField": "created_by.id",
            "connectToField": "_id",
            "restrictSearchWithMatch": {"account_id": account_id},
            "as": "key",
        }
        pipeline: list[dict[str, Any]] = [
            {"$match": {"_id": account_id}},
            {"$graphLookup": upwards},
            # All keys in one document would be too large.
            {"$unwind": "$key"},
            {"$project": {"_id": "$key._id", "maker": "$key.created_by.id"}},
        ]
        rows = self._accounts.aggregate(pipeline, session=session)
        return {row["_id"]: row.get("maker") async for row in rows}
