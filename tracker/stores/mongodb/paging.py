"""Pages of a collection, and all documents of a list in pieces.

Guarantee: a document that stays in the list is yielded exactly once, whatever changes meanwhile. No
cursor is open between two pieces, so the reader may take its time.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar
from uuid import UUID

import msgspec
from pymongo import ASCENDING, DESCENDING
from pymongo.collation import Collation, CollationStrength

from tracker.stores.mongodb.documents import StoredId, as_struct, with_stored_ids
from tracker.stores.mongodb.reads import MongoReads

Listed = TypeVar("Listed", bound=msgspec.Struct)

BY_NAME: Final = Collation("en", strength=CollationStrength.SECONDARY, numericOrdering=True)
"""Upper and lower case do not differ, and 9 comes before 10. Indexes need this collation."""


class Order(NamedTuple):
    """The order of a list: fields with their directions, and the collation of texts."""

    fields: tuple[tuple[str, int], ...]
    collation: Collation | None = None


PIECE_DOCUMENTS: Final = 100

_IDS_AT_ONCE: Final = 500
"""A batch of ids occupies the event loop for 2 ms."""

_ID_BYTES: Final = 16

_TOTAL: Final = "all matches"
"""No stored field has a space in its name."""

# UUIDs of version 7 sort by creation.
NEWEST_FIRST: Final = Order((("_id", DESCENDING),))
OLDEST_FIRST: Final = Order((("_id", ASCENDING),))


def by_name(field: str) -> Order:
    return Order(((field, ASCENDING), ("_id", ASCENDING)), BY_NAME)


class Pages(Generic[Listed]):
    """The lists of one collection. Ids in fields of type `Any` stay `Binary`."""

    def __init__(
        self,
        reads: MongoReads,
        collection: str,
        kind: type[Listed],
        read: Callable[[dict[str, Any]], Listed] | None = None,
    ) -> None:
        # 25 links take 92 µs to decode and convert, 165 if the driver makes the UUIDs.
        self._reads = reads.with_binary_ids()
        self._collection = collection
        self._read = read or partial(as_struct, kind)

    async def find(
        self,
        matching: Mapping[str, Any],
        page: int,
        page_size: int,
        order: Order = NEWEST_FIRST,
        total: int | None = None,
    ) -> tuple[list[Listed], int]:
        """Return the documents on the 1-based `page`, and the number of matches.

        They are counted, unless their `total` is given.
        """
        stages = self._stages(with_stored_ids(matching), page, page_size, order)
        stages = stages[:-1] if total is not None else stages
        rows = await self._reads.aggregate(
            self._collection, stages, collation=order.collation, batchSize=page_size + 2
        )
        if total is None:
            total = rows.pop()[_TOTAL] if rows and _TOTAL in rows[-1] else 0
        return list(map(self._read, rows)), total

    async def by_ids(self, ids: Collection[UUID]) -> dict[UUID, Listed]:
        if not ids:
            return {}
        wanted = [StoredId(one.bytes) for one in ids]
        rows = await self._reads.find(self._collection, {"_id": {"$in": wanted}})
        return {UUID(bytes=row["_id"]): self._read(row) for row in rows}

    async def by_id(self, one: UUID) -> Listed | None:
        return (await self.by_ids([one])).get(one)

    def _stages(
        self, matching: Mapping[str, Any], page: int, page_size: int, order: Order
    ) -> list[Mapping[str, Any]]:
        count = [{"$match": matching}, {"$count": _TOTAL}]
        return [
            {"$match": matching},
            {"$sort": dict(order.fields)},
            {"$skip": (page - 1) * page_size},
            {"$limit": page_size},
            {"$unionWith": {"coll": self._collection, "pipeline": count}},
        ]


async def all_of(
    reader: MongoReads, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield all documents that match, in an order, in pieces. Ids are UUIDs."""
    by_id = _by_id if order.fields[0][0] == "_id" else _by_another_field
    async for piece in by_id(reader, name, matching, order):
        yield piece


async def _by_id(
    reader: MongoReads, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    fields = dict(order.fields)
    [direction] = fields.values()
    filters: list[Mapping[str, Any]] = [matching]
    while True:
        rows = await reader.find(name, {"$and": filters}, sort=fields, limit=PIECE_DOCUMENTS)
        if rows:
            yield rows
        if len(rows) < PIECE_DOCUMENTS:
            return
        filters = [matching, {"_id": {"$lt" if direction < 0 else "$gt": rows[-1]["_id"]}}]


async def _by_another_field(
    reader: MongoReads, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield in the order of one snapshot's ids: names may change between two pieces."""
    ids = await _ids(reader, name, matching, order)
    step = PIECE_DOCUMENTS * _ID_BYTES
    for start in range(0, len(ids), step):
        piece = bytes(ids[start : start + step])
        wanted = [StoredId(piece[at : at + _ID_BYTES]) for at in range(0, len(piece), _ID_BYTES)]
        found = await reader.find(name, {"$and": [matching, {"_id": {"$in": wanted}}]})
        by_id = {row["_id"].bytes: row for row in found}
        yield [by_id[one] for one in wanted if one in by_id]


async def _ids(
    reader: MongoReads, name: str, matching: Mapping[str, Any], order: Order
) -> bytearray:
    ids = bytearray()
    chosen = {"sort": list(order.fields), "collation": order.collation, "batch_size": _IDS_AT_ONCE}
    async with reader.at_one_snapshot() as snapshot:
        async for row in snapshot.find_each(name, matching, ["_id"], **chosen):
            ids += row["_id"].bytes
    return ids
