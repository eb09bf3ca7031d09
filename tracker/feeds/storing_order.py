"""Pages of a feed in the order of storing, from a bookmark on.

The arrivals of each drain number are read in order, and merged by time. A bookmark has the next
position by drain number.

Guarantee: consecutive pages list each click exactly once, however late it was stored. A conversion
is listed in the state that it has when a page is read; states that it has left are skipped.
"""

import heapq
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.clock import now
from tracker.conversions.document import Attribution
from tracker.errors import BadRequest
from tracker.feeds.arrivals import (
    ENTRIES_PER_DOCUMENT,
    STORED_DAYS,
    TRANSACTION_NUMBERS,
    first_position,
    positions_between,
)
from tracker.feeds.filter import Conditions
from tracker.feeds.kind import FeedKind
from tracker.feeds.page import Bookmark, FeedPage
from tracker.stores.mongodb.reads import MongoReads

MAX_EXAMINED: Final = 10_000
"""Clicks or conversions that one page examines."""

MAX_AGE_DAYS: Final = STORED_DAYS - 1
"""Days for which a bookmark can be used: one less than arrivals are stored, so none is missing."""

_ENTRIES_PER_QUERY: Final = 1000
"""The most. A page begins with its size and doubles, so it reads few rows more than it shows."""


class StoredEntry(NamedTuple):
    """A stored click, or a conversion in a state, with the position and the time of storing."""

    drain_number: int
    position: int
    at: datetime
    id: UUID | int
    status: Attribution | None


async def bookmark_of_now(snapshot: MongoReads) -> Bookmark:
    """Return the bookmark after everything in `snapshot`."""
    at = now()  # before the first read, because the snapshot begins with it
    used = {"_id": {"$gte": 0}, "batches": {"$gt": 0}}
    rows = await snapshot.find(TRANSACTION_NUMBERS, used, ["batches"])
    return Bookmark(at, {row["_id"]: first_position(row["batches"] + 1) for row in rows})


class StoringOrder:
    """The pages of an account's feed in a snapshot. The rows meet the conditions."""

    def __init__(
        self, snapshot: MongoReads, kind: FeedKind[Any], account_id: UUID, conditions: Conditions
    ) -> None:
        self._snapshot = snapshot
        self._kind = kind
        self._account_id = account_id
        self._conditions = conditions

    async def page(self, start: Bookmark, size: int) -> FeedPage[dict[str, Any]]:
        """Return the next `size` rows after a bookmark.

        `searched_to` is the time of storing of the last examined row. Raises BadRequest if the
        bookmark is too old, or lost by a restored backup.
        """
        end = await bookmark_of_now(self._snapshot)
        _check(start, end)
        found: list[dict[str, Any]] = []
        read, last, examined = dict(start.positions), None, 0
        async with aclosing(self._entries(start, end, size)) as entries:
            while len(found) < size and examined < MAX_EXAMINED:
                most = min(max(size - len(found), examined), _ENTRIES_PER_QUERY)
                piece = await _take(entries, min(most, MAX_EXAMINED - examined))
                if not piece:
                    return FeedPage(found, None, end, None)
                passing = await self._passing(piece)
                for entry in piece:
                    if len(found) == size:
                        break
                    read[entry.drain_number], last = entry.position + 1, entry.at
                    examined += 1
                    # Corrections do not change the state: such rows are listed once.
                    if row := passing.pop((entry.id, entry.status), None):
                        found.append(row)
        at = start.at if last is None else max(start.at, last)
        bookmark = Bookmark(at, read)
        return FeedPage(found, bookmark, bookmark, at)

    async def _entries(
        self, start: Bookmark, end: Bookmark, size: int
    ) -> AsyncGenerator[StoredEntry, None]:
        """Yield the entries between two bookmarks, merged by the time of storing."""
        firsts = {drain: start.positions.get(drain, 0) for drain in end.positions}
        unread = [drain for drain, first in firsts.items() if first < end.positions[drain]]
        documents = {drain: self._documents(drain, firsts[drain], size) for drain in unread}
        try:
            async for drain, at, document in _merged(documents):
                position = document["_id"]["position"]
                for number, entry in enumerate(self._kind.entries(document["entries"]), position):
                    if number >= firsts[drain]:
                        yield StoredEntry(drain, number, at, *entry)
        finally:
            for unread_ones in documents.values():
                await unread_ones.aclose()

    def _documents(
        self, drain_number: int, first: int, size: int
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the documents of a drain number from the one with the position `first` on.

        A page may need one of 1,024 entries, or many of one entry: MongoDB returns a tenth of
        `size` at once.
        """
        first -= first % ENTRIES_PER_DOCUMENT
        at_once, name = max(2, size // 10), self._kind.name
        within = positions_between(self._account_id, name, drain_number, first, 2**63 - 1)
        return self._snapshot.find_each("arrivals", within, sort={"_id": 1}, batch_size=at_once)

    async def _passing(
        self, entries: Sequence[StoredEntry]
    ) -> dict[tuple[UUID | int, Attribution | None], dict[str, Any]]:
        """Return the rows that pass the conditions, by id and current state."""
        own = {"_id": {"$in": [entry.id for entry in entries]}, "account_id": self._account_id}
        matching = {"$and": [own, *self._conditions]}
        found = await self._snapshot.find(self._kind.collection, matching, self._kind.fields)
        return {(row["_id"], row.get("status")): row for row in found}


def _check(start: Bookmark, end: Bookmark) -> None:
    if end.at - start.at > timedelta(days=MAX_AGE_DAYS):
        raise BadRequest(
            f"since: is older than {MAX_AGE_DAYS} days; begin with pages by time, from then"
        )
    if any(end.positions.get(drain, 0) < start.positions[drain] for drain in start.positions):
        raise BadRequest("since: is newer than a restored backup; begin with pages by time")


async def _merged(
    documents: Mapping[int, Any],
) -> AsyncIterator[tuple[int, datetime, dict[str, Any]]]:
    """Yield (drain number, time, document), oldest first, and each drain number in its order."""
    heads: list[tuple[datetime, int, dict[str, Any]]] = []
    for drain, cursor in documents.items():
        if (document := await anext(cursor, None)) is not None:
            heapq.heappush(heads, (document["at"], drain, document))
    while heads:
        at, drain, document = heapq.heappop(heads)
        yield drain, at, document
        if (document := await anext(documents[drain], None)) is not None:
            heapq.heappush(heads, (document["at"], drain, document))


async def _take(entries: AsyncIterator[StoredEntry], number: int) -> list[StoredEntry]:
    """Return the next `number` entries, or all that are left."""
    taken: list[StoredEntry] = []
    while len(taken) < number and (entry := await anext(entries, None)) is not None:
        taken.append(entry)
    return taken
