"""A feed of an account's clicks or conversions, in pages."""

from collections.abc import Collection
from typing import Any, Generic
from uuid import UUID

from tracker.feeds.filter import FeedFilter
from tracker.feeds.kind import FeedKind, LinkIds, Row, link_conditions
from tracker.feeds.page import Bookmark, FeedPage, PageStart, TimePosition
from tracker.feeds.storing_order import StoringOrder, bookmark_of_now
from tracker.feeds.time_order import TimeOrder
from tracker.stores.mongodb.reads import MongoReads


class Feed(Generic[Row]):
    """The feeds of one kind. `host` is the name of the default domain."""

    def __init__(self, kind: FeedKind[Row], reader: MongoReads, host: str) -> None:
        self._kind = kind
        self._reader = reader
        self._host = host

    async def page(
        self, account_id: UUID, wanted: FeedFilter, start: PageStart | None, size: int
    ) -> FeedPage[Row]:
        """Return the next `size` rows of an account that pass a filter.

        After a position they are older, newest first. After a bookmark they were stored later,
        oldest first. Without a start they are the newest. Raises BadRequest if the bookmark cannot
        be used.
        """
        if isinstance(start, TimePosition):
            return await self._older(account_id, wanted, start, size, self._reader)
        async with self._reader.at_one_snapshot() as snapshot:
            if isinstance(start, Bookmark):
                return await self._stored_after(account_id, wanted, start, size, snapshot)
            bookmark = await bookmark_of_now(snapshot)
            page = await self._older(account_id, wanted, None, size, snapshot)
            return page._replace(bookmark=bookmark)

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
        after: TimePosition | None,
        size: int,
        reader: MongoReads,
    ) -> FeedPage[Row]:
        links = await _wanted_links(reader, account_id, wanted)
        conditions = self._kind.conditions(wanted, self._host)
        scan = self._kind.scan(account_id, wanted, links, conditions)
        return self._shown(await TimeOrder(reader, self._kind, scan).page(after, size))

    async def _stored_after(
        self,
        account_id: UUID,
        wanted: FeedFilter,
        start: Bookmark,
        size: int,
        snapshot: MongoReads,
    ) -> FeedPage[Row]:
        links = await _wanted_links(snapshot, account_id, wanted)
        of_values = self._kind.conditions(wanted, self._host)
        named = [*wanted.of_click, *wanted.of_transaction]
        conditions = [*wanted.times, *wanted.states, *named, *of_values, *link_conditions(links)]
        order = StoringOrder(snapshot, self._kind, account_id, conditions)
        return self._shown(await order.page(start, size))

    def _shown(self, page: FeedPage[dict[str, Any]]) -> FeedPage[Row]:
        rows = [self._kind.row(one) for one in page.rows]
        return FeedPage(rows, page.next, page.bookmark, page.searched_to)


async def _wanted_links(reader: MongoReads, account_id: UUID, wanted: FeedFilter) -> LinkIds:
    """Return the account's own links that pass the filter: no page examines another's clicks."""
    ids, tags = wanted.values.get("link"), wanted.values.get("tag")
    if ids is None and tags is None:
        return None
    matching: dict[str, Any] = {"account_id": account_id}
    if ids is not None:
        matching["_id"] = {"$in": list(ids)}
    if tags is not None:
        matching["tags"] = {"$all" if wanted.all_tags else "$in": list(tags)}
    return [row["_id"] for row in await reader.find("links", matching, ["_id"])]
