"""Clicks in MongoDB, by click id.

Ids go to the driver and come from it as bytes: with UUIDs a look-up takes twice as long.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final
from uuid import UUID

from bson.binary import UuidRepresentation

from tracker.db.connect import Database
from tracker.db.documents import StoredId, owner_id

_OWNERS: Final = ("account_id", "link_id")


class Clicks:
    """The stored clicks."""

    def __init__(self, database: Database) -> None:
        clicks = database["clicks"]
        as_bytes = clicks.codec_options.with_options(
            uuid_representation=UuidRepresentation.UNSPECIFIED
        )
        self._clicks = clicks.with_options(codec_options=as_bytes)

    async def find(self, ids: Collection[UUID], fields: Sequence[str] = ()) -> dict[UUID, Any]:
        """Return the stored documents by id, with all fields unless some are named.

        Raises PyMongoError if MongoDB does not answer.
        """
        wanted = {one.bytes: one for one in ids}
        rows = await self._rows(wanted, fields)
        for row in rows:
            row["_id"] = wanted[bytes(row["_id"])]
            row |= {name: owner_id(bytes(row[name])) for name in _OWNERS if name in row}
        return {row["_id"]: row for row in rows}

    async def _rows(self, ids: Collection[bytes], fields: Sequence[str]) -> list[dict[str, Any]]:
        if not ids:
            return []
        wanted = [StoredId(one) for one in ids]
        rows = self._clicks.find({"_id": {"$in": wanted}}, list(fields) or None)
        # One batch, and so one thread switch: an unfinished cursor would ask MongoDB once more.
        rows.batch_size(len(wanted) + 1)
        return await rows.to_list(len(wanted) + 1)
