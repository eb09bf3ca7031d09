"""The rollups of a drain that have no room for further cells (`reports/rollups/parts`).

A drain adds up what it writes. Only when that would fill a document, it reads how many cells the
document has. So an account with few domains costs no query, or one for hundreds of batches.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from tracker.reports.rollups.layout import DRAIN_NUMBER, RollupId
from tracker.reports.rollups.parts import MAX_CELLS
from tracker.stores.mongodb.documents import stored_id
from tracker.stores.mongodb.reads import MongoReads

_MAX_DOCUMENTS: Final = 100_000
"""Documents in memory; beyond it documents less than half full are forgotten."""

DocumentKey = tuple[bytes, str, str, bytes | None]
"""The values of a RollupId, with ids as bytes."""


class FullRollups:
    """The cells of one drain's documents, as far as they matter."""

    def __init__(self, reads: MongoReads) -> None:
        self._reads = reads.with_binary_ids()
        self._drain_number = -1
        self._room: dict[DocumentKey, int] = {}
        self._full: set[DocumentKey] = set()

    async def full(
        self, added: Mapping[DocumentKey, int], drain_number: int
    ) -> Collection[DocumentKey]:
        """Return the documents without room for the `added` numbers of cells."""
        self._limit_memory(drain_number)
        used_up = []
        for key, cells in added.items():
            if key not in self._full:
                self._room[key] = self._room.get(key, MAX_CELLS) - cells
                if self._room[key] < 0:
                    used_up.append(key)
        if used_up:
            stored = await self._stored(used_up)
            for key in used_up:
                self._room[key] = MAX_CELLS - stored.get(key, 0) - added[key]
                if self._room[key] < 0:
                    del self._room[key]
                    self._full.add(key)
        return self._full

    def distrust(self, keys: Collection[DocumentKey]) -> None:
        """Read the cells of these documents before the next write.

        A document that another process has filled may be larger than this one knows.
        """
        self._room |= dict.fromkeys((key for key in keys if key not in self._full), 0)

    def _limit_memory(self, drain_number: int) -> None:
        if drain_number != self._drain_number or len(self._full) > _MAX_DOCUMENTS:
            self._room, self._full = {}, set()
            self._drain_number = drain_number
        if len(self._room) > _MAX_DOCUMENTS:
            self._room = {key: room for key, room in self._room.items() if room < MAX_CELLS // 2}

    async def _stored(self, keys: Collection[DocumentKey]) -> dict[DocumentKey, int]:
        ids = [{**_id_of(key), DRAIN_NUMBER: self._drain_number} for key in keys]
        cells = {"$add": [_number_of_cells("$domain"), _number_of_cells("$event")]}
        stages = [{"$match": {"_id": {"$in": ids}}}, {"$project": {"cells": cells}}]
        return {
            _key_of(row["_id"]): row["cells"]
            for row in await self._reads.aggregate("rollups", stages)
        }


def _number_of_cells(field: str) -> dict[str, Any]:
    return {"$size": {"$objectToArray": {"$ifNull": [field, {}]}}}


def _id_of(key: DocumentKey) -> dict[str, Any]:
    account_id, of, day, link_id = key
    values = (stored_id(account_id), of, day, stored_id(link_id))
    return dict(zip(RollupId._fields, values, strict=True))


def _key_of(rollup_id: Mapping[str, Any]) -> DocumentKey:
    link_id = rollup_id["link_id"]
    of_link = None if link_id is None else bytes(link_id)
    return bytes(rollup_id["account_id"]), rollup_id["of"], rollup_id["day"], of_link
