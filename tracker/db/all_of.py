"""All documents of a list in pieces, each read when it is asked for.

No cursor is kept open between two pieces, so the reader may take its time.

Guarantee: a document that the list has at the beginning, and still has when its piece is read, is
yielded exactly once, whatever is inserted or changed meanwhile.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final

from tracker.db.connect import Collection, Database
from tracker.db.documents import StoredId
from tracker.db.paging import Order

PIECE_DOCUMENTS: Final = 100

_IDS_AT_ONCE: Final = 500
"""Ids of a batch, which the event loop takes without a pause: 2 ms."""

_ID_BYTES: Final = 16


async def all_of(
    database: Database, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield all documents of the collection `name` that match, in an order, in pieces.

    Ids are UUIDs. Raises PyMongoError if MongoDB does not answer.
    """
    by_id = _by_id if order.fields[0][0] == "_id" else _by_another_field
    async for piece in by_id(database, name, matching, order):
        yield piece


async def _by_id(
    database: Database, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    [(_, direction)] = order.fields
    bounds: list[Mapping[str, Any]] = [matching]
    while True:
        found = database[name].find({"$and": bounds}).sort("_id", direction)
        rows = await found.limit(PIECE_DOCUMENTS).to_list(None)
        if rows:
            yield rows
        if len(rows) < PIECE_DOCUMENTS:
            return
        bounds = [matching, {"_id": {"$lt" if direction < 0 else "$gt": rows[-1]["_id"]}}]


async def _by_another_field(
    database: Database, name: str, matching: Mapping[str, Any], order: Order
) -> AsyncGenerator[list[dict[str, Any]], None]:
    """Yield the documents by the order of their ids at one snapshot.

    A name may change between two pieces, and its document would be passed over or come again. The
    ids take 16 bytes each.
    """
    ids = await _ids(database, database[name], matching, order)
    step = PIECE_DOCUMENTS * _ID_BYTES
    for start in range(0, len(ids), step):
        piece = bytes(ids[start : start + step])
        wanted = [StoredId(piece[at : at + _ID_BYTES]) for at in range(0, len(piece), _ID_BYTES)]
        found = database[name].find({"$and": [matching, {"_id": {"$in": wanted}}]})
        by_id = {row["_id"].bytes: row for row in await found.to_list(None)}
        yield [by_id[one] for one in wanted if one in by_id]


async def _ids(
    database: Database, collection: Collection, matching: Mapping[str, Any], order: Order
) -> bytearray:
    ids = bytearray()
    async with await database.client.start_session(snapshot=True) as session:
        found = collection.find(matching, ["_id"], session=session).sort(list(order.fields))
        async for row in found.collation(order.collation).batch_size(_IDS_AT_ONCE):
            ids += row["_id"].bytes
    return ids
