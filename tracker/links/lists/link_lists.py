"""Pages of an account's links, and all of them for exports.

A page costs as much in a large account as in a small one: its total is a kept count or bounded, its
index is named, and what lies before it is skipped from the nearer end or from a page before it, or
not at all after a position.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec
import pymongo
from pymongo.errors import PyMongoError

from tracker.links.counts.counts import LinkCounts
from tracker.links.link import Link
from tracker.links.lists.filter import (
    ORDERS,
    LinkFilter,
    LinkOrder,
    conditions,
    is_counted,
    order_of,
)
from tracker.links.lists.plan import (
    Counts,
    Rows,
    counting_index_of,
    fallback_of,
    index_of,
    rarest_first,
    rows_of,
)
from tracker.links.lists.positions import PagePositions
from tracker.links.lists.totals import Total, Totals
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_struct, with_stored_ids
from tracker.stores.mongodb.order import Order, Position
from tracker.stores.mongodb.paging import PIECE_DOCUMENTS, RANGE_DOCUMENTS, all_of
from tracker.stores.mongodb.reads import MongoReads

_NEAR_ROWS: Final = 1_000
"""Rows that are skipped from the beginning, whatever the total: they take 2 ms."""


_TRIED_SECONDS: Final = 0.3
"""For rows in an order that may have few matches. All matches of a common word take longer."""


_FIELDS: Final = [name for name in Link.__struct_fields__ if name != "id"]
"""The fields of links, without what only finds them."""


class LinkPage(NamedTuple):
    """A page of links. `next` is the position of its last link, None on the last page."""

    links: list[Link]
    total: Total
    next: Position | None


class LinkLists:
    """The lists of links in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._reads = mongodb.reads
        self._totals = Totals()
        self._positions = PagePositions()

    async def page(
        self,
        account_id: UUID,
        wanted: LinkFilter,
        page: int,
        page_size: int,
        order: LinkOrder = "newest",
        after: Position | None = None,
    ) -> LinkPage:
        """Return the 1-based `page`, or the page `after` a position.

        The total and the links are those of one moment where the page is read from the end.
        """
        skip = (page - 1) * page_size
        if after is None and skip > _NEAR_ROWS and is_counted(wanted):
            async with self._reads.at_one_snapshot() as snapshot:
                return await self._page(snapshot, account_id, wanted, skip, page_size, order, after)
        return await self._page(self._reads, account_id, wanted, skip, page_size, order, after)

    async def all_of(
        self, account_id: UUID, wanted: LinkFilter, order: LinkOrder = "newest"
    ) -> AsyncGenerator[list[Link], None]:
        """Yield the account's links that pass the filter, in batches."""
        counts = await LinkCounts(self._reads).find(account_id, wanted.tags)
        total = await self._total(account_id, wanted, counts)
        by = ORDERS[order]
        at_once = PIECE_DOCUMENTS if by.field is None else RANGE_DOCUMENTS
        hint = index_of(wanted, order, counts, at_once, total)
        matching = _matching(account_id, wanted, counts)
        async for rows in all_of(self._reads, "links", matching, by, hint, _FIELDS):
            yield [as_struct(Link, row) for row in rows]

    async def _page(
        self,
        reads: MongoReads,
        account_id: UUID,
        wanted: LinkFilter,
        skip: int,
        page_size: int,
        order: LinkOrder,
        after: Position | None,
    ) -> LinkPage:
        counts = await LinkCounts(reads).find(account_id, wanted.tags)
        total = await self._total(account_id, wanted, counts)
        if total.is_exact and skip >= total.rows and after is None:
            return LinkPage([], total, None)
        # One more, which tells whether there is a next page.
        rows = Rows(skip if after is None else 0, page_size + 1)
        key = None
        if after is None and counts is not None and is_counted(wanted) and skip > _NEAR_ROWS:
            key = (account_id, msgspec.json.encode(wanted), order, counts.changes)
            rows = rows_of(skip, page_size + 1, total.rows)
            known = self._positions.last_before(key, skip)
            if known is not None and skip - known[0] < rows.skip:
                rows, after = Rows(skip - known[0], page_size + 1), known[1]
        matching = _matching(account_id, wanted, counts)
        by = order_of(wanted, order)
        if after is not None:
            matching = {"$and": [matching, by.after(after)]}
        hint = index_of(wanted, order, counts, rows.skip + rows.limit, total)
        fallback = fallback_of(wanted, hint)
        found = await _links_in_time(reads, matching, by, rows, hint, fallback)
        links = found[:page_size]
        beyond = len(found) > page_size
        if not total.is_exact:
            total = Total(max(total.rows, skip + len(found)), is_exact=False)
        following = by.position(links[-1].id, links[-1]) if beyond else None
        if key is not None and following is not None:
            self._positions.remember(key, skip + page_size, following)
        return LinkPage(links, total, following)

    async def _total(self, account_id: UUID, wanted: LinkFilter, counts: Counts | None) -> Total:
        if counts is not None and is_counted(wanted):
            tag_id = wanted.tags[0] if wanted.tags else None
            return Total(counts[tag_id].of(wanted.archived, wanted.active))
        matching = _matching(account_id, wanted, counts)
        chosen = {
            "hint": counting_index_of(wanted),
            "collation": order_of(wanted, "newest").collation,
        }

        async def count(limit: int) -> int:
            return await self._reads.count("links", matching, limit=limit, **chosen)

        return await self._totals.find((account_id, msgspec.json.encode(wanted)), count)


def _matching(account_id: UUID, wanted: LinkFilter, counts: Counts | None) -> Mapping[str, Any]:
    if counts is not None and wanted.all_tags:
        wanted = msgspec.structs.replace(wanted, tags=rarest_first(wanted, counts))
    return {"account_id": account_id, **conditions(wanted, has_words=counts is not None)}


async def _links_in_time(
    reads: MongoReads,
    matching: Mapping[str, Any],
    order: Order,
    rows: Rows,
    hint: str,
    fallback: str | None,
) -> list[Link]:
    """Return the rows by one index, or by another if that takes too long."""
    if fallback is not None:
        try:
            with pymongo.timeout(_TRIED_SECONDS):
                return await _links(reads, matching, order, rows, hint)
        except PyMongoError as error:
            if not error.timeout:
                raise
    return await _links(reads, matching, order, rows, fallback or hint)


async def _links(
    reads: MongoReads, matching: Mapping[str, Any], order: Order, rows: Rows, hint: str
) -> list[Link]:
    if rows.limit == 0:
        return []
    by = order.reversed() if rows.is_reversed else order
    found = await reads.with_binary_ids().find(
        "links",
        with_stored_ids(matching),
        _FIELDS,
        sort=by.keys,
        collation=by.collation,
        skip=rows.skip,
        limit=rows.limit,
        hint=hint,
    )
    links = [as_struct(Link, row) for row in found]
    return links[::-1] if rows.is_reversed else links
