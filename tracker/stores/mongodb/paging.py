"""One page of a collection, newest first or in another order; its documents by their ids.

All documents of a list come in pieces, each read when it is asked for. No cursor is kept open
between two pieces, so the reader may take its time.

Guarantee: a document that the list has at the beginning, and still has when its piece is read, is
yielded exactly once, whatever is inserted or changed meanwhile.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar
from uuid import UUID

import msgspec
from pymongo import ASCENDING, DESCENDING
from pymongo.collation import Collation, CollationStrength

from tracker.stores.mongodb.documents import StoredId, record, with_stored_ids
from tracker.stores.mongodb.reader import Reader

Listed = TypeVar("Listed", bound=msgspec.Struct)

BY_NAME: Final = Collation("en", strength=CollationStrength.SECONDARY, numericOrdering=True)
"""The order of names for people: upper and lower case do not differ, and 9 comes before 10. Only
indexes with this collation have it."""


class Order(NamedTuple):
    """The order of a list: fields with their directions, and the collation of texts."""

    fields: tuple[tuple[str, int], ...]
    collation: Collation | None = None


PIECE_DOCUMENTS: Final = 100

_IDS_AT_ONCE: Final = 500
"""Ids of a batch, which the event loop takes without a pause: 2 ms."""

_ID_BYTES: Final = 16

_TOTAL: Final = "all matches"
"""The field with the number of matches. No stored field has a space in its name."""

# Ids are UUIDs of version 7, so their order is that of creation, with a tie-break.
NEWEST_FIRST: Final = Order((("_id", DESCENDING),))
OLDEST_FIRST: Final = Order((("_id", ASCENDING),))


def by_name(field: str) -> Order:
    """Return the order by the names in `field`, oldest first where they are equal."""
    return Order(((field, ASCENDING), ("_id", ASCENDING)), BY_NAME)


class Pages(Generic[Listed]):
    """The lists of one collection, read from the primary as a majority has acknowledged it.

    `kind` is the struct of its documents, and `read` makes it of one, if `record` does not. Fields
    of type `Any` must not hold ids: they are read as `Binary`, and only typed fields become UUIDs.
    """

    def __init__(
        self,
        reads: Reader,
        collection: str,
        kind: type[Listed],
        read: Callable[[dict[str, Any]], Listed] | None = None,
    ) -> None:
        # 25 links take 92 µs to decode and convert. If the driver makes the UUIDs, in Python, it
        # is 165.
        self._reads = reads.with_binary_ids()
        self._collection = collection
        self._read = read or partial(record, kind)

    async def find(
        self,
        matching: Mapping[str, Any],
        page: int,
        page_size: int,
        order: Order = NEWEST_FIRST,
    ) -> tuple[list[Listed], int]:
        """Return what is on the 1-based `page`, and the number of matches in total.

        Both are asked for at once: to ask twice costs an eighth of what a list costs altogether.
        """
        stages = self._stages(with_stored_ids(matching), page, page_size, order)
        rows = await self._reads.aggregate(
            self._collection, stages, collation=order.collation, batchSize=page_size + 2
        )
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
    reader: Reader, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield all documents of the collection `name` that match, in an order, in pieces.

    Ids are UUIDs.
    """
    by_id = _by_id if order.fields[0][0] == "_id" else _by_another_field
    async for piece in by_id(reader, name, matching, order):
        yield piece


async def _by_id(
    reader: Reader, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    fields = dict(order.fields)
    [direction] = fields.values()
    bounds: list[Mapping[str, Any]] = [matching]
    while True:
        rows = await reader.find(name, {"$and": bounds}, sort=fields, limit=PIECE_DOCUMENTS)
        if rows:
            yield rows
        if len(rows) < PIECE_DOCUMENTS:
            return
        bounds = [matching, {"_id": {"$lt" if direction < 0 else "$gt": rows[-1]["_id"]}}]


async def _by_another_field(
    reader: Reader, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield the documents by the order of their ids at one snapshot.

    A name may change between two pieces, and its document would be passed over or come again. The
    ids take 16 bytes each.
    """
    ids = await _ids(reader, name, matching, order)
    step = PIECE_DOCUMENTS * _ID_BYTES
    for start in range(0, len(ids), step):
        piece = bytes(ids[start : start + step])
        wanted = [StoredId(piece[at : at + _ID_BYTES]) for at in range(0, len(piece), _ID_BYTES)]
        found = await reader.find(name, {"$and": [matching, {"_id": {"$in": wanted}}]})
        by_id = {row["_id"].bytes: row for row in found}
        yield [by_id[one] for one in wanted if one in by_id]


async def _ids(reader: Reader, name: str, matching: Mapping[str, Any], order: Order) -> bytearray:
    ids = bytearray()
    chosen = {"sort": list(order.fields), "collation": order.collation, "batch_size": _IDS_AT_ONCE}
    async with reader.at_one_snapshot() as snapshot:
        async for row in snapshot.each(name, matching, ["_id"], **chosen):
            ids += row["_id"].bytes
    return ids
