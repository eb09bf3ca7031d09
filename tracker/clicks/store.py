"""Clicks in MongoDB, by click id. Ids are the 16 bytes of a UUID."""

from collections.abc import Collection, Sequence
from typing import Any, Final
from uuid import UUID

from tracker.clicks.document import ClickDocument
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import StoredId, stored_ids, with_byte_ids

MAX_CHILDREN: Final = 500


class Clicks:
    """The clicks in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._clicks = with_byte_ids(mongodb["clicks"])

    async def find(
        self, ids: Collection[bytes], fields: Sequence[str] = ()
    ) -> dict[bytes, ClickDocument]:
        """Return the stored documents by id, with `fields` (none: all)."""
        if not ids:
            return {}
        wanted = stored_ids(ids)
        rows = self._clicks.find({"_id": {"$in": wanted}}, list(fields) or None)
        # All in one batch, and so one thread switch: the cursor must not ask MongoDB again.
        rows.batch_size(len(wanted) + 1)
        found: list[Any] = await rows.to_list(len(wanted) + 1)
        return {row["_id"]: row for row in found}

    async def children(self, ids: Collection[bytes], after: bytes = bytes(16)) -> list[bytes]:
        """Return the first clicks after an id that name one of these as their parent."""
        if not ids:
            return []
        named = {"parent_id": {"$in": stored_ids(ids)}, "_id": {"$gt": StoredId(after)}}
        found = self._clicks.find(named, ["_id"]).sort("_id", 1).limit(MAX_CHILDREN)
        return [row["_id"] async for row in found]

    async def imported(self, import_id: UUID, limit: int) -> list[ClickDocument]:
        """Return some clicks that an import brought."""
        of_import = {"import_id": StoredId(import_id.bytes)}
        rows: Any = self._clicks.find(of_import).hint("imported").limit(limit)
        found: list[ClickDocument] = await rows.to_list(limit)
        return found
