"""Pages of a collection, and all documents of a list in pieces.

Guarantee: a document that stays in the list is yielded exactly once, whatever changes meanwhile. No
cursor is open between two pieces, so the reader may take its time.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

import msgspec
import pymongo

from tracker.stores.mongodb.documents import StoredId, as_struct, with_stored_ids
from tracker.stores.mongodb.indexes import LISTS
from tracker.stores.mongodb.order import NEWEST_FIRST, Order, Position
from tracker.stores.mongodb.reads import ROWS_AT_ONCE, Fields, MongoReads

Listed = TypeVar("Listed", bound=msgspec.Struct)

PIECE_DOCUMENTS: Final = 500
"""Links take 5 µs each to decode. A query costs the same as 80 of them."""

PIECE_BY_A_TEXT: Final = ROWS_AT_ONCE
"""Twice the number, because a query by ids costs twice: 3 µs less a link than with 500."""

RANGE_DOCUMENTS: Final = 10_000
"""The ids that one query reads for an order by a text."""

_QUERY_SECONDS: Final = 60.0
"""For a piece or range, which may be all that passes a filter among millions."""

_ID_BYTES: Final = 16

_TOTAL: Final = "all matches"
"""No stored field has a space in its name."""


class Pages(Generic[Listed]):
    """The lists of one collection. Ids in fields of type `Any` stay `Binary`.

    Of texts named in `begun`, which may be long, a page has the first character; empty: none.
    """

    def __init__(
        self,
        reads: MongoReads,
        collection: str,
        kind: type[Listed],
        read: Callable[[dict[str, Any]], Listed] | None = None,
        begun: Sequence[str] = (),
    ) -> None:
        cut = {name: {"$substrCP": [f"${name}", 0, 1]} for name in begun}
        self._cut = [{"$set": cut}] if cut else []
        self._hint = LISTS.get(collection)
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
        hint: str | None = None,
    ) -> tuple[list[Listed], int]:
        """Return the documents on the 1-based `page`, and the total number of matches."""
        stages = self._stages(with_stored_ids(matching), page, page_size, order)
        chosen: dict[str, Any] = {"collation": order.collation}
        if hint or self._hint:
            chosen["hint"] = hint or self._hint
        rows = await self._reads.aggregate(
            self._collection, stages, at_most=page_size + 1, **chosen
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
            {"$sort": dict(order.keys)},
            {"$skip": (page - 1) * page_size},
            {"$limit": page_size},
            *self._cut,
            {"$unionWith": {"coll": self._collection, "pipeline": count}},
        ]


def all_of(
    reads: MongoReads,
    name: str,
    matching: Mapping[str, Any],
    order: Order,
    hint: str,
    fields: Fields = None,
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Return all documents that match, in an order, in pieces. Ids are `Binary`.

    `hint` names an index.
    """
    by_id = _by_id if order.field is None else _by_a_text
    given = (reads.with_binary_ids(), name, with_stored_ids(matching), order, hint, fields)
    return by_id(*given)


async def _by_id(
    reads: MongoReads,
    name: str,
    matching: Mapping[str, Any],
    order: Order,
    hint: str,
    fields: Fields,
) -> AsyncGenerator[list[dict[str, Any]], None]:
    chosen: dict[str, Any] = {"sort": order.keys, "limit": PIECE_DOCUMENTS, "hint": hint}
    filters: list[Mapping[str, Any]] = [matching]
    while True:
        with pymongo.timeout(_QUERY_SECONDS):
            rows = await reads.find(name, {"$and": filters}, fields, **chosen)
        if rows:
            yield rows
        if len(rows) < PIECE_DOCUMENTS:
            return
        filters = [matching, order.after(Position(None, rows[-1]["_id"]))]


async def _by_a_text(
    reads: MongoReads,
    name: str,
    matching: Mapping[str, Any],
    order: Order,
    hint: str,
    fields: Fields,
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield in the order of one snapshot's ids: texts may change between two pieces."""
    assert "_id" not in matching
    ids = await _ids(reads, name, matching, order, hint)
    step = PIECE_BY_A_TEXT * _ID_BYTES
    for start in range(0, len(ids), step):
        piece = bytes(ids[start : start + step])
        wanted = [StoredId(piece[at : at + _ID_BYTES]) for at in range(0, len(piece), _ID_BYTES)]
        of_ids = {**matching, "_id": {"$in": wanted}}
        rows = await reads.find(name, of_ids, fields, hint="_id_", limit=len(wanted))
        found = {bytes(row["_id"]): row for row in rows}
        yield [found[one] for one in wanted if one in found]


async def _ids(
    reads: MongoReads, name: str, matching: Mapping[str, Any], order: Order, hint: str
) -> bytearray:
    """Return the ids in their order, read in ranges: no query lasts with the number of ids."""
    assert order.field is not None
    chosen: dict[str, Any] = {"sort": order.keys, "collation": order.collation, "hint": hint}
    ids = bytearray()
    ranges: list[dict[str, Any]] = [{}]
    async with reads.at_one_snapshot() as snapshot:
        while ranges:
            of_range = {"$and": [matching, ranges.pop(0)]}
            with pymongo.timeout(_QUERY_SECONDS):
                found = await snapshot.find(
                    name, of_range, [order.field], limit=RANGE_DOCUMENTS, **chosen
                )
            ids += b"".join(row["_id"] for row in found)
            if len(found) == RANGE_DOCUMENTS:
                ranges = order.ranges_after(order.position(found[-1]["_id"], found[-1]))
    return ids
