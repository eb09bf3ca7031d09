"""Pages of a collection, and all documents of a list in pieces.

Guarantee: a document that stays in the list is yielded exactly once, whatever changes meanwhile. No
cursor is open between two pieces, so the reader may take its time.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

import msgspec
import pymongo
from pymongo import ASCENDING

from tracker.stores.mongodb.documents import StoredId, as_struct, stored_ids, with_stored_ids
from tracker.stores.mongodb.list_indexes import LISTS, has_fields, has_ids
from tracker.stores.mongodb.order import NEWEST_FIRST, Order, Position
from tracker.stores.mongodb.reads import ROWS_AT_ONCE, Fields, MongoReads

Listed = TypeVar("Listed", bound=msgspec.Struct)

PIECE_DOCUMENTS: Final = 500
"""Links take 5 µs each to decode. A query costs as much as 80 of them."""

PIECE_BY_A_TEXT: Final = ROWS_AT_ONCE
"""Twice as many, because a query by ids costs twice as much: 3 µs less a link than with 500."""

RANGE_DOCUMENTS: Final = 10_000
"""The ids that one query reads for an order by a text."""

_OTHERS_IN_PIECE: Final = 100
"""Documents that may be read for nothing, because they are new in the piece's part of the index or
have the same text as its ends."""

_QUERY_SECONDS: Final = 60.0
"""For a piece or range, which may be all that passes a filter among millions."""

_ID_BYTES: Final = 16

_TOTAL: Final = "all matches"
"""No stored field has a space in its name."""


class Pages(Generic[Listed]):
    """The lists of one collection. Ids in fields of type `Any` stay `Binary`."""

    def __init__(
        self,
        reads: MongoReads,
        collection: str,
        kind: type[Listed],
        read: Callable[[dict[str, Any]], Listed] | None = None,
    ) -> None:
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
    """Yield in the order of one snapshot's ids: texts may change between two pieces.

    Most documents of a piece are still between the texts of its ends. Read by a range of the index
    they take 5 µs of processor time less than by their ids, of 30 for a row of CSV.
    """
    assert "_id" not in matching
    ids, ends = await _ids(reads, name, matching, order, hint)
    step, before = PIECE_BY_A_TEXT * _ID_BYTES, None
    for start in range(0, len(ids), step):
        piece = bytes(ids[start : start + step])
        wanted = [StoredId(piece[at : at + _ID_BYTES]) for at in range(0, len(piece), _ID_BYTES)]
        end, found = ends.pop(0) if ends else None, dict[bytes, dict[str, Any]]()
        if end not in (None, before):
            of_range = {"$and": [matching, {order.field: _texts(order, before, end)}]}
            chosen = {"sort": order.keys, "collation": order.collation, "hint": hint}
            most = len(wanted) + _OTHERS_IN_PIECE
            found = _by_id_of(await reads.find(name, of_range, fields, limit=most, **chosen))
        if missing := [one for one in wanted if one not in found]:
            of_ids = {**matching, "_id": {"$in": missing}}
            rows = await reads.find(name, of_ids, fields, hint="_id_", limit=len(missing))
            found |= _by_id_of(rows)
        yield [found[one] for one in wanted if one in found]
        before = end


def _by_id_of(rows: Iterable[dict[str, Any]]) -> dict[bytes, dict[str, Any]]:
    return {bytes(row["_id"]): row for row in rows}


def _texts(order: Order, first: str | None, last: str | None) -> dict[str, str | None]:
    since, until = ("$gte", "$lte") if order.direction == ASCENDING else ("$lte", "$gte")
    return {until: last} | ({} if first is None else {since: first})


async def _ids(
    reads: MongoReads, name: str, matching: Mapping[str, Any], order: Order, hint: str
) -> tuple[bytearray, list[str]]:
    """Return the ids in their order, and the text at the end of each piece.

    No texts if a range of the index between two of them may have many documents that do not match.
    Ids are read in ranges, so that no query lasts with their number.
    """
    assert order.field is not None
    has_no_others = has_fields(name, hint, [*matching, order.field])
    chosen: dict[str, Any] = {"sort": order.keys, "collation": order.collation, "hint": hint}
    ids, ends = bytearray(), list[str]()
    ranges: list[Mapping[str, Any]] = [{}]
    async with reads.at_one_snapshot() as snapshot:
        read_ids = snapshot.ids_of_index if has_ids(name, hint) else snapshot.ids
        while ranges:
            of_range = {"$and": [matching, ranges.pop(0)]}
            with pymongo.timeout(_QUERY_SECONDS):
                found = await read_ids(name, of_range, limit=RANGE_DOCUMENTS, **chosen)
            first_end = PIECE_BY_A_TEXT - 1 - len(ids) // _ID_BYTES % PIECE_BY_A_TEXT
            ids += b"".join(found)
            if has_no_others:
                of_ends = stored_ids(found[first_end::PIECE_BY_A_TEXT])
                chosen_ids = {"_id": {"$in": of_ends}}
                rows = _by_id_of(await snapshot.find(name, chosen_ids, [order.field], hint="_id_"))
                ends += [rows[one][order.field] for one in of_ends]
            if len(found) == RANGE_DOCUMENTS:
                last = await snapshot.find_one(name, {"_id": StoredId(found[-1])}, [order.field])
                assert last is not None  # in the same snapshot
                ranges = list(order.ranges_after(order.position(last["_id"], last)))
    return ids, ends
