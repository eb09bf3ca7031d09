"""Which API keys were made by which: keys that make keys have descendants.

`created_by` of a key names its maker. Descendants are found upwards, from the valid keys of an
account, whose number is limited. So keys that were revoked long ago cost nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from tracker.access.principal import ActorKind
from tracker.clock import now
from tracker.db.connect import Database
from tracker.db.documents import record
from tracker.db.transaction import Session

_MADE_BY_KEYS: Final = {"created_by.kind": ActorKind.API_KEY}


class Parent(msgspec.Struct, frozen=True, kw_only=True):
    """The key that made another."""

    id: UUID
    name: str
    revoked_at: datetime | None


def valid() -> dict[str, Any]:
    """Return the filter of keys that are neither revoked nor expired."""
    unexpired = [{"expires_at": None}, {"expires_at": {"$gt": now()}}]
    return {"revoked_at": None, "$or": unexpired}


async def parents_of(database: Database, parent_ids: Sequence[UUID]) -> dict[UUID, Parent]:
    """Return the keys with these ids, by id."""
    rows = database["api_keys"].find({"_id": {"$in": [*parent_ids]}}, ["name", "revoked_at"])
    return {row["_id"]: record(Parent, row) async for row in rows}


async def descendants(
    database: Database, account_id: UUID, session: Session | None = None
) -> dict[UUID, list[UUID]]:
    """Return the valid keys that descend from each key of the account, by its id, oldest first.

    A key that is revoked has descendants too. Keys without any are missing.
    """
    of_account = {"account_id": account_id}
    makers = {
        "from": "api_keys",
        "startWith": "$created_by.id",
        "connectFromField": "created_by.id",
        "connectToField": "_id",
        "restrictSearchWithMatch": of_account,
        "as": "makers",
    }
    pipeline = [
        {"$match": {**of_account, **_MADE_BY_KEYS, **valid()}},
        {"$sort": {"_id": 1}},
        {"$graphLookup": makers},
        {"$project": {"makers._id": 1}},
    ]
    found: dict[UUID, list[UUID]] = {}
    async for row in database["api_keys"].aggregate(pipeline, session=session):
        for maker in row["makers"]:
            found.setdefault(maker["_id"], []).append(row["_id"])
    return found
