"""Clicks in MongoDB, by click id."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from tracker.db.connect import Database
from tracker.db.documents import StoredId


class Clicks:
    def __init__(self, database: Database) -> None:
        self._clicks = database["clicks"]

    async def find(
        self, ids: Collection[UUID | StoredId], fields: Sequence[str] = ()
    ) -> dict[UUID, Any]:
        """The documents of those that are stored, by id; all fields unless some are named."""
        if not ids:
            return {}
        wanted = list(ids)
        rows = self._clicks.find({"_id": {"$in": wanted}}, list(fields) or None)
        # One batch, and so one turn of a thread: a cursor that is not done would ask once more.
        rows.batch_size(len(wanted) + 1)
        return {row["_id"]: row for row in await rows.to_list(len(wanted) + 1)}
