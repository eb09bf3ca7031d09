"""Tags: names that group an account's links."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import msgspec

from tracker.clock import now
from tracker.db.connect import Database
from tracker.db.documents import document, record
from tracker.ids import new_id


class Tag(msgspec.Struct, frozen=True, kw_only=True):
    id: UUID
    account_id: UUID
    name: str
    created_at: datetime


class Tags:
    def __init__(self, database: Database) -> None:
        self._tags = database["tags"]

    async def create(self, account_id: UUID, name: str) -> Tag:
        tag = Tag(id=new_id(), account_id=account_id, name=name, created_at=now())
        await self._tags.insert_one(document(tag))
        return tag

    async def find(self, ids: Collection[UUID]) -> dict[UUID, Tag]:
        """Those of `ids` that exist, whoever owns them."""
        if not ids:
            return {}
        rows = self._tags.find({"_id": {"$in": list(ids)}})
        return {row["_id"]: record(Tag, row) async for row in rows}
