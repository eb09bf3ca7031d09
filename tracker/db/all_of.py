"""All documents of a list in pieces, each read when it is asked for.

No cursor is kept open between two pieces, so the reader may take its time.

Guarantee: a document that the list has at the beginning, and still has when its piece is read, is
yielded exactly once, whatever is inserted or changed meanwhile.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from tracker.db.documents import StoredId
from tracker.db.paging import Order
from tracker.db.reader import Reader

PIECE_DOCUMENTS: Final = 100

_IDS_AT_ONCE: Final = 500
"""Ids of a batch, which the event loop takes without a pause: 2 ms."""

_ID_BYTES: Final = 16


async def all_of(
    reader: Reader, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield all documents of the collection `name` that match, in an order, in pieces.

    Ids are UUIDs. Raises PyMongoError if MongoDB does not answer.
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
