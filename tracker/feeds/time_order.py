"""Pages of a feed by time, newest first.

A position is the time and id of a row, which never change. So no row is on two pages and no old
row is missing, even while rows are added.

Guarantee: the cost of a page does not depend on the account's size. An index orders the rows, and a
page examines at most MAX_EXAMINED of them.
"""

from datetime import datetime
from typing import Any, Final

from tracker.feeds.filter import Conditions
from tracker.feeds.kind import FeedKind, ScanRange
from tracker.feeds.page import FeedPage, TimePosition
from tracker.stores.mongodb.reads import MongoReads

MAX_EXAMINED: Final = 50_000
"""Rows that one page examines. If none passes, MongoDB takes 0.05 s to find the last and 0.07 s to
read all (of 600,000 conversions)."""

_FIRST_EXAMINED_PER_ROW: Final = 20
"""Rows to examine first for each row of a page. To skip MAX_EXAMINED takes 0.03 s, even if the
first rows pass."""


class TimeOrder:
    """The pages of a feed within a range."""

    def __init__(self, reader: MongoReads, kind: FeedKind[Any], scan: ScanRange) -> None:
        self._reader = reader
        self._kind = kind
        self._scan = scan

    async def page(self, after: TimePosition | None, size: int) -> FeedPage[dict[str, Any]]:
        """Return the next `size` rows after a position, or the newest."""
        indexed = self._scan.indexed
        if after is not None:
            newer = {"at": after.at, "_id": {"$gte": after.id}}
            indexed = [*indexed, {"at": {"$lte": after.at}, "$nor": [newer]}]
        rows, end = await self._newest_examined(indexed, size)
        if len(rows) > size:
            last = rows[size - 1]
            return FeedPage(rows[:size], TimePosition(last["at"], last["_id"]), None, None)
        following = None if end is None else TimePosition(end, self._kind.lowest_id)
        return FeedPage(rows, following, None, end)

    async def _newest_examined(
        self, indexed: Conditions, size: int
    ) -> tuple[list[dict[str, Any]], datetime | None]:
        """Return the newest rows, and the time at which the search was cut off, if it was.

        If the first rows fill the page, no more are examined.
        """
        if not self._scan.other:
            return await self._newest(indexed, size), None
        for limit in sorted({min(_FIRST_EXAMINED_PER_ROW * size, MAX_EXAMINED), MAX_EXAMINED}):
            end = await self._end(indexed, limit)
            since = [] if end is None else [{"at": {"$gte": end}}]
            rows = await self._newest([*indexed, *since], size)
            if len(rows) > size or end is None:
                break
        return rows, end

    async def _end(self, indexed: Conditions, max_examined: int) -> datetime | None:
        """Return the time of the last row to examine; None if there are fewer.

        The page examines all rows of that millisecond.
        """
        last = await self._reader.find_one(
            self._kind.collection,
            {"$and": indexed},
            {"_id": 0, "at": 1},
            sort={"at": -1},
            hint=self._scan.index_name,
            skip=max_examined - 1,
        )
        return None if last is None else last["at"]

    async def _newest(self, indexed: Conditions, size: int) -> list[dict[str, Any]]:
        """Return the newest rows, sorted: one more than `size`, or all if there are fewer.

        The index may not order rows of one millisecond. If a page ends within it, a second query
        sorts them.
        """
        rows = await self._first("at", indexed, size)
        if len(rows) > size and rows[size]["at"] == rows[size - 1]["at"]:
            tied = rows[size]["at"]
            rows = [row for row in rows if row["at"] > tied]
            rows += await self._first("_id", [*indexed, {"at": tied}], size)
        return sorted(rows, key=lambda row: (row["at"], row["_id"]), reverse=True)

    async def _first(self, order: str, indexed: Conditions, size: int) -> list[dict[str, Any]]:
        return await self._reader.find(
            self._kind.collection,
            {"$and": [*indexed, *self._scan.other]},
            list(self._kind.fields),
            sort={order: -1},
            limit=size + 1,
            hint=self._scan.index_name,
        )
