"""A feed of an account's clicks or conversions: one page, or all pages from a start."""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar
from uuid import UUID

from tracker.feeds import storing_order, time_order
from tracker.feeds.arrivals import FeedName
from tracker.feeds.filter import Conditions, FeedFilter
from tracker.feeds.page import Bookmark, FeedPage, PageStart, Position
from tracker.feeds.storing_order import AccountFeed, ParseEntries, StoringOrder, bookmark_of_now
from tracker.feeds.time_order import FeedDocuments, ScanRange, page_by_time
from tracker.stores.mongodb.reads import MongoReads

Row = TypeVar("Row")
LinkIds = Sequence[UUID] | None
"""The links that pass a filter; None without a filter by links."""

PAGE_ROWS: Final = 500
"""Rows per page if all pages are read."""

_EVERYTHING: Final = FeedFilter()


class FeedKind(NamedTuple, Generic[Row]):
    """A kind of feed: its documents, their rows, and the conditions to find them.

    - `entries` parses the entries of arrivals.
    - `conditions` returns a filter's conditions without time, state and link. The text is the
      default host.
    - `scan` returns the range to read by time, given all conditions.
    """

    name: FeedName
    collection: str
    fields: Sequence[str]
    row: Callable[[Mapping[str, Any]], Row]
    entries: ParseEntries
    conditions: Callable[[FeedFilter, str], Conditions]
    scan: Callable[[UUID, FeedFilter, LinkIds, Conditions], ScanRange]


class Feed(Generic[Row]):
    """The feeds of one kind. `host` is the name of the default domain.

    One page examines at most `max_examined` rows by time, and `max_examined_stored` by storing.
    """

    def __init__(
        self,
        kind: FeedKind[Row],
        reader: MongoReads,
        host: str,
        max_examined: int = time_order.MAX_EXAMINED,
        max_examined_stored: int = storing_order.MAX_EXAMINED,
    ) -> None:
        self._kind = kind
        self._reader = reader
        self._host = host
        self._max_examined = max_examined
        self._max_examined_stored = max_examined_stored

    async def page(
        self, account_id: UUID, wanted: FeedFilter, start: PageStart | None, size: int
    ) -> FeedPage[Row]:
        """Return the next `size` rows of an account that pass a filter.

        After a position they are older, newest first. After a bookmark they were stored later,
        oldest first. Without a start they are the newest. Raises BadRequest if the bookmark cannot
        be used.
        """
        if isinstance(start, Position):
            return await self._older(account_id, wanted, start, size, self._reader)
        async with self._reader.at_one_snapshot() as snapshot:
            if isinstance(start, Bookmark):
                return await self._stored_after(account_id, wanted, start, size, snapshot)
            bookmark = await bookmark_of_now(snapshot)
            page = await self._older(account_id, wanted, None, size, snapshot)
            return page._replace(bookmark=bookmark)

    async def pages(
        self,
        account_id: UUID,
        wanted: FeedFilter = _EVERYTHING,
        start: PageStart | None = None,
        size: int = PAGE_ROWS,
    ) -> AsyncGenerator[FeedPage[Row], None]:
        """Yield all pages from `start` on. Raises as `page`."""
        while True:
            page = await self.page(account_id, wanted, start, size)
            yield page
            if page.next is None:
                return
            start = page.next

    async def find_all(self, account_id: UUID, ids: Collection[UUID | int]) -> list[Row]:
        """Return the account's rows with these ids, in any order."""
        if not ids:
            return []
        own = {"_id": {"$in": list(ids)}, "account_id": account_id}
        rows = await self._reader.find(self._kind.collection, own, self._kind.fields)
        return [self._kind.row(one) for one in rows]

    async def _older(
        self,
        account_id: UUID,
        wanted: FeedFilter,
        after: Position | None,
        size: int,
        reader: MongoReads,
    ) -> FeedPage[Row]:
        links = await _wanted_links(reader, account_id, wanted)
        conditions = self._kind.conditions(wanted, self._host)
        scan = self._kind.scan(account_id, wanted, links, conditions)
        documents = FeedDocuments(reader, self._kind.collection, self._kind.fields)
        found = await page_by_time(documents, scan, after, size, self._max_examined)
        rows = [self._kind.row(one) for one in found.rows]
        return FeedPage(rows, found.next, None, found.searched_to)

    async def _stored_after(
        self,
        account_id: UUID,
        wanted: FeedFilter,
        start: Bookmark,
        size: int,
        snapshot: MongoReads,
    ) -> FeedPage[Row]:
        links = await _wanted_links(snapshot, account_id, wanted)
        kind = self._kind
        of_values = kind.conditions(wanted, self._host)
        named = [*wanted.of_click, *wanted.of_transaction]
        conditions = [*wanted.times, *wanted.states, *named, *of_values, *link_conditions(links)]
        feed = AccountFeed(kind.name, kind.collection, kind.entries, account_id, conditions)
        order = StoringOrder(snapshot, feed)
        found = await order.page(start, size, kind.fields, self._max_examined_stored)
        following = None if found.searched_to is None else found.bookmark
        rows = [kind.row(one) for one in found.rows]
        return FeedPage(rows, following, found.bookmark, found.searched_to)


def link_conditions(links: LinkIds) -> Conditions:
    return [] if links is None else [{"link_id": {"$in": list(links)}}]


async def _wanted_links(
    reader: MongoReads, account_id: UUID, wanted: FeedFilter
) -> Sequence[UUID] | None:
    """Return the account's links that pass the filter; None without a filter by links.

    Links of other accounts are dropped, so no page examines their clicks.
    """
    ids, tags = wanted.values.get("link"), wanted.values.get("tag")
    if ids is None and tags is None:
        return None
    matching: dict[str, Any] = {"account_id": account_id}
    if ids is not None:
        matching["_id"] = {"$in": list(ids)}
    if tags is not None:
        matching["tags"] = {"$all" if wanted.all_tags else "$in": list(tags)}
    return [row["_id"] for row in await reader.find("links", matching, ["_id"])]
