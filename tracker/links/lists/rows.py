"""The rows of a page of links: by an index that is fast enough, else by what was searched for, else
in pieces of their order, so that no query fails because it takes long."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pymongo
from pymongo.errors import PyMongoError

from tracker.links.link import Link
from tracker.links.lists.pieces import Pieces, rows_in_pieces
from tracker.links.lists.plan import Rows
from tracker.links.lists.search import Search
from tracker.stores.mongodb.documents import stored_ids, with_stored_ids
from tracker.stores.mongodb.order import Order, Position
from tracker.stores.mongodb.reads import MongoReads

_TRIED_SECONDS: Final = 0.3
"""For rows in an order that may have few matches. All matches of a common word take longer."""

_SORTED_SECONDS: Final = 4.0
"""For all matches, which are sorted. After 5 the driver gives up."""

SEARCH_SECONDS: Final = 30.0
"""For a search and all pieces of a page: of a million links they take up to 12 s of MongoDB's."""

_KNOWN: Final = ("id", "account_id")
FIELDS: Final = [name for name in Link.__struct_fields__ if name not in _KNOWN]
"""The fields of links, without what only finds them, and the account of the list."""


class Way(NamedTuple):
    """An index by which rows are read, and its condition of the list."""

    hint: str
    matching: Mapping[str, Any]
    is_in_order: bool


class InPieces(NamedTuple):
    """Pieces in the order of a list, and its condition by their index."""

    pieces: Pieces
    matching: Mapping[str, Any]


class AskedRows(NamedTuple):
    """Rows of a list in an order, after a position."""

    order: Order
    rows: Rows
    after: Position | None


async def rows_in_time(
    reads: MongoReads,
    asked: AskedRows,
    ways: Sequence[Way],
    otherwise: InPieces,
    search: Callable[[], Awaitable[Search | None]],
) -> list[dict[str, Any]]:
    """Return the rows by the first way that is fast enough.

    Otherwise `search` finds the links of the list, if they may be few. Raises ExecutionTimeout if
    that and reading in pieces take longer than SEARCH_SECONDS.
    """
    for way in ways:
        seconds = _TRIED_SECONDS if way.is_in_order else _SORTED_SECONDS
        try:
            with pymongo.timeout(seconds):
                return await rows_by(reads, asked, way.hint, way.matching)
        except PyMongoError as error:
            if not error.timeout:
                raise
    with pymongo.timeout(SEARCH_SECONDS):
        found = await search()
        pieces, matching = otherwise
        if found is not None and found.has_all:
            return await rows_of_ids(reads, asked, matching, found.ids)
        rows = await rows_in_pieces(reads, pieces, matching, asked.rows, asked.after, FIELDS)
    return rows[::-1] if asked.rows.is_reversed else rows


async def rows_of_ids(
    reads: MongoReads, asked: AskedRows, matching: Mapping[str, Any], ids: Sequence[bytes]
) -> list[dict[str, Any]]:
    """Return the rows of links that were found, as far as they are still in the list."""
    of_ids = {"$and": [matching, {"_id": {"$in": stored_ids(ids)}}]}
    return await rows_by(reads, asked, "_id_", of_ids)


async def rows_by(
    reads: MongoReads, asked: AskedRows, hint: str, matching: Mapping[str, Any]
) -> list[dict[str, Any]]:
    order, rows, after = asked
    if rows.limit == 0:
        return []
    if after is not None:
        matching = {"$and": [matching, order.after(after)]}
    found = await reads.with_binary_ids().find(
        "links",
        with_stored_ids(matching),
        FIELDS,
        sort=order.keys,
        collation=order.collation,
        skip=rows.skip,
        limit=rows.limit,
        hint=hint,
    )
    return found[::-1] if rows.is_reversed else found
