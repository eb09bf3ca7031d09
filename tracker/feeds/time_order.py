"""Pages of a feed by time, newest first.

A position is the time and id of a row, which never change. So no row is on two pages and no old
row is missing, even while rows are added.

Guarantee: the cost of a page does not depend on the account's size. An index orders the rows, and a
page examines at most MAX_EXAMINED of them.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.feeds.filter import Conditions
from tracker.feeds.page import Position
from tracker.stores.mongodb.reads import MongoReads

MAX_EXAMINED: Final = 50_000
"""Rows that one page examines. If none passes, MongoDB takes 0.05 s to find the last and 0.07 s to
read all (of 600,000 conversions)."""


_FIRST_EXAMINED_PER_ROW: Final = 20
"""Rows to examine first for each row of a page. To skip MAX_EXAMINED takes 0.03 s, even if the
first rows pass."""


class ScanRange(NamedTuple):
    """The part of a collection to read.

    The index answers the `indexed` conditions. Each row is examined for the `other` ones.
    `lowest_id` is below all ids.
    """

    index_name: str
    indexed: Conditions
    other: Conditions
    lowest_id: UUID | int


class FeedDocuments(NamedTuple):
    """Where the documents of a feed are read: reader, collection and fields."""

    reader: MongoReads
    collection: str
    fields: Sequence[str]

    async def find(self, matching: Mapping[str, Any], **options: Any) -> list[dict[str, Any]]:
        return await self.reader.find(self.collection, matching, list(self.fields), **options)


class TimePage(NamedTuple):
    """The rows of a page, the start of the next, and the end of an unfinished search."""

    rows: list[dict[str, Any]]
    next: Position | None
    searched_to: datetime | None


async def page_by_time(
    documents: FeedDocuments,
    scan: ScanRange,
    after: Position | None,
    size: int,
    max_examined: int,
) -> TimePage:
    """Return the next `size` rows after a position, or the newest."""
    if after is not None:
        newer = {"at": after.at, "_id": {"$gte": after.id}}
        scan = scan._replace(indexed=[*scan.indexed, {"at": {"$lte": after.at}, "$nor": [newer]}])
    rows, end = await _newest_examined(documents, scan, size, max_examined)
    if len(rows) > size:
        last = rows[size - 1]
        return TimePage(rows[:size], Position(last["at"], last["_id"]), None)
    following = None if end is None else Position(end, scan.lowest_id)
    return TimePage(rows, following, end)


async def _newest_examined(
    documents: FeedDocuments, scan: ScanRange, size: int, max_examined: int
) -> tuple[list[dict[str, Any]], datetime | None]:
    """Return the newest rows, and the time at which the search was cut off, if it was.

    If the first rows fill the page, no more are examined.
    """
    if not scan.other:
        return await _newest(documents, scan, size), None
    for limit in sorted({min(_FIRST_EXAMINED_PER_ROW * size, max_examined), max_examined}):
        end = await _end(documents, scan, limit)
        indexed = [*scan.indexed, *([{"at": {"$gte": end}}] if end is not None else [])]
        rows = await _newest(documents, scan._replace(indexed=indexed), size)
        if len(rows) > size or end is None:
            break
    return rows, end


async def _end(documents: FeedDocuments, scan: ScanRange, max_examined: int) -> datetime | None:
    """Return the time of the last row to examine; None if there are fewer.

    The page examines all rows of that millisecond.
    """
    last = await documents.reader.find_one(
        documents.collection,
        {"$and": scan.indexed},
        {"_id": 0, "at": 1},
        sort={"at": -1},
        hint=scan.index_name,
        skip=max_examined - 1,
    )
    return None if last is None else last["at"]


async def _newest(documents: FeedDocuments, scan: ScanRange, size: int) -> list[dict[str, Any]]:
    """Return the newest rows, sorted: one more than `size`, or all if there are fewer.

    The index may not order rows of one millisecond. If a page ends within it, a second query sorts
    them.
    """

    async def first(order: str, conditions: Conditions) -> list[dict[str, Any]]:
        matching = {"$and": [*scan.indexed, *scan.other, *conditions]}
        chosen = {"sort": {order: -1}, "limit": size + 1, "hint": scan.index_name}
        return await documents.find(matching, **chosen)

    rows = await first("at", [])
    if len(rows) > size and rows[size]["at"] == rows[size - 1]["at"]:
        tied = rows[size]["at"]
        rows = [row for row in rows if row["at"] > tied] + await first("_id", [{"at": tied}])
    return sorted(rows, key=lambda row: (row["at"], row["_id"]), reverse=True)
