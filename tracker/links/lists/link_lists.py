"""Pages of an account's links, and all of them for exports.

A page costs as much in a large account as in a small one: its total is bounded, or a kept count
that the same query reads; its index is named; and what lies before it is skipped from the nearer
end or from a known position, or not at all after a position.
"""

from collections.abc import AsyncGenerator, Hashable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from tracker.links.counts.counts import (
    LINK_COUNTS,
    kept_counts,
    rows_of_parts,
    stages_of_parts,
)
from tracker.links.link import Link
from tracker.links.lists.far_pages import FarList, FarPages, Reached, is_far
from tracker.links.lists.filter import (
    ORDERS,
    LinkFilter,
    LinkOrder,
    is_counted,
    is_searched,
    order_of,
)
from tracker.links.lists.list_counts import ListCounts
from tracker.links.lists.pieces import pieces_of
from tracker.links.lists.plan import (
    Known,
    Rows,
    density_of,
    fallback_of,
    index_of,
    is_in_order,
    is_of_rarest_tag,
    matching_of,
    needs_counts,
    rows_of,
)
from tracker.links.lists.rows import (
    FIELDS,
    AskedRows,
    InPieces,
    Way,
    rows_by,
    rows_in_time,
    rows_of_ids,
)
from tracker.links.lists.search import Search
from tracker.links.lists.totals import Total
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.stores.mongodb.order import Position
from tracker.stores.mongodb.paging import PIECE_DOCUMENTS, RANGE_DOCUMENTS, all_of
from tracker.stores.mongodb.reads import MongoReads


class _Asked(NamedTuple):
    """The links that a page is asked for: so many after the `skip` first ones or a position."""

    account_id: UUID
    wanted: LinkFilter
    order: LinkOrder
    skip: int
    size: int
    after: Position | None

    @property
    def is_numbered(self) -> bool:
        """Return whether links come before the page that no position tells."""
        return self.skip > 0 and self.after is None

    @property
    def is_far(self) -> bool:
        """Return whether the way to the page is one of `far_pages`."""
        return self.after is None and is_far(self.skip)

    @property
    def rows(self) -> Rows:
        """Return the rows of the page, and one more, which tells whether there is a next page."""
        return Rows(self.skip if self.after is None else 0, self.size + 1)

    def page_of(self, found: Sequence[Link], total: Total) -> "LinkPage":
        """Return the page of the links that `rows` are."""
        links = list(found[: self.size])
        is_last = len(found) <= self.size
        if not total.is_exact:
            # The list ends here, unless there are fewer links than those that were skipped.
            is_end = is_last and self.after is None and (len(found) > 0 or self.skip == 0)
            total = Total(max(total.rows, self.skip + len(found)), is_exact=False)
            total = Total(self.skip + len(found)) if is_end else total
        following = None if is_last else ORDERS[self.order].position(links[-1].id, links[-1])
        return LinkPage(links, total, following)


class LinkPage(NamedTuple):
    """A page of links. `next` is the position of its last link, None on the last page."""

    links: list[Link]
    total: Total
    next: Position | None


class LinkLists:
    """The lists of links in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._reads = mongodb.reads
        self._counts = ListCounts(mongodb.reads)
        self._far_pages = FarPages()

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

        The total and the links are those of one moment where a page is read from the end. Another
        counted total may be some seconds older.
        """
        skip = (page - 1) * page_size
        asked = _Asked(account_id, wanted, order, skip, page_size, after)
        if asked.is_far and is_counted(wanted):
            async with self._reads.at_one_snapshot() as snapshot:
                return await self._page(snapshot, asked)
        if is_counted(wanted) and not needs_counts(wanted, order):
            return await self._page_with_counts(asked)
        return await self._page(self._reads, asked)

    async def all_of(
        self, account_id: UUID, wanted: LinkFilter, order: LinkOrder = "newest"
    ) -> AsyncGenerator[list[Link], None]:
        """Yield the account's links that pass the filter, in batches."""
        counts = await self._counts.kept(self._reads, account_id, wanted, is_fresh=True)
        known = await self._counts.known(account_id, wanted, counts)
        total = await self._counts.total(account_id, wanted, known)
        by = ORDERS[order]
        at_once = PIECE_DOCUMENTS if by.field is None else RANGE_DOCUMENTS
        hint = index_of(wanted, order, known, at_once, total)
        matching = matching_of(account_id, wanted, known, by, hint)
        async for rows in all_of(self._reads, "links", matching, by, hint, FIELDS):
            yield _links(account_id, rows)

    async def _page_with_counts(self, asked: _Asked) -> LinkPage:
        """Return a page that is read by one query with the kept counts."""
        account_id, wanted = asked.account_id, asked.wanted
        hint = index_of(wanted, asked.order, Known(None), asked.rows.limit, Total(0))
        by = ORDERS[asked.order]
        matching = matching_of(account_id, wanted, Known(None), by, hint)
        if asked.after is not None:
            matching = {"$and": [matching, by.after(asked.after)]}
        kept = {"coll": LINK_COUNTS, "pipeline": stages_of_parts(account_id, wanted.tags)}
        rows = await self._reads.with_binary_ids().aggregate(
            "links",
            [
                {"$match": with_stored_ids(matching)},
                {"$sort": dict(by.keys)},
                {"$skip": asked.rows.skip},
                {"$limit": asked.rows.limit},
                {"$project": dict.fromkeys(FIELDS, 1)},
                {"$unionWith": kept},
            ],
            collation=by.collation,
            hint=hint,
            at_most=asked.rows.limit + rows_of_parts(wanted.tags),
        )
        links = _links(account_id, [row for row in rows if "slug" in row])
        counts = kept_counts(rows[len(links) :], wanted.tags)
        return asked.page_of(links, await self._counts.total(account_id, wanted, Known(counts)))

    async def _page(self, reads: MongoReads, asked: _Asked) -> LinkPage:
        of_list = asked.account_id, asked.wanted
        counts = await self._counts.kept(reads, *of_list, is_fresh=asked.is_numbered)
        known = await self._counts.known(*of_list, counts)
        total = await self._counts.total(*of_list, known)
        # An older total tells neither where the list ends, nor where a page begins from there.
        is_current = self._counts.is_current(*of_list, counts)
        end = total.rows if is_current and total.is_exact and asked.after is None else None
        if end is not None and asked.skip >= end:
            return LinkPage([], total, None)
        key = None
        if is_current and asked.is_far and counts is not None:
            # The way to a far page is remembered until the counts change.
            filters = msgspec.json.encode(asked.wanted)
            key = (asked.account_id, filters, asked.order, counts.changes)
        search = self._counts.search_before(*of_list, known)
        if search is not None and search.has_all:
            found = await self._find_searched(reads, asked, known, search)
        else:
            found = await self._find(reads, asked, known, total, end, key)
            search = self._counts.search_before(*of_list, known)
            if search is not None and search.has_all:
                total = Total(len(search.ids))
        page = asked.page_of(found, total)
        if key is not None and page.next is not None:
            self._far_pages.remember(key, Reached(asked.skip + asked.size, page.next))
        if key is not None and page.links and not is_counted(asked.wanted):
            # Nothing else leads to this page, so it is read again from its own beginning.
            by, first = ORDERS[asked.order], page.links[0]
            before = by.just_before(by.position(first.id, first))
            self._far_pages.remember(key, Reached(asked.skip, before))
        return page

    async def _find(
        self,
        reads: MongoReads,
        asked: _Asked,
        known: Known,
        total: Total,
        end: int | None,
        key: Hashable | None,
    ) -> list[Link]:
        """Return the links of `asked.rows`, from the place that is nearest to them.

        It may be the end of the list, if that is known to have so many rows before it.
        """
        wanted, order, way = asked.wanted, asked.order, asked.rows
        reached = Reached(0, asked.after)
        ways = [way]
        if end is not None:
            ways.append(rows_of(*way[:2], end))
        if key is not None:
            way, reached = self._far_pages.nearest(key, ways)
        else:
            way = min(ways, key=attrgetter("skip"))
        hint = index_of(wanted, order, known, way.skip - reached.rows + way.limit, total)
        fallback = fallback_of(wanted, known, total, hint)
        by = order_of(wanted, order)
        indexes = [hint] if fallback is None else [hint, fallback]
        tried = [
            Way(one, matching_of(asked.account_id, wanted, known, by, one), is_in_order(one, order))
            for one in indexes
        ]
        by = by.reversed() if way.is_reversed else by
        is_by_index = is_counted(wanted) and fallback is None and tried[0].is_in_order
        if key and known.counts and is_by_index:
            density = density_of(hint, wanted, order, known.counts, total)
            listed = FarList(tried[0].matching, by, hint, density)
            reached = await self._far_pages.reach(reads, key, listed, way, reached)
        rows = way._replace(skip=way.skip - reached.rows)
        asked_rows = AskedRows(by, rows, reached.position)
        return await self._read(reads, asked, known, asked_rows, tried)

    async def _read(
        self, reads: MongoReads, asked: _Asked, known: Known, rows: AskedRows, ways: Sequence[Way]
    ) -> list[Link]:
        """Return the links of rows, which may have to be searched for."""
        account_id, wanted = asked.account_id, asked.wanted
        if wanted.slug is not None:
            [way] = ways
            found = await rows_by(reads, rows, way.hint, way.matching)
            return _links(account_id, found)
        by_tag = ways[0].is_in_order and is_of_rarest_tag(ways[0].hint, wanted)
        pieces = pieces_of(account_id, wanted, asked.order, known, by_tag)
        matching = matching_of(account_id, wanted, known, rows.order, pieces.hint)
        otherwise = InPieces(pieces._replace(order=rows.order), matching)
        begun = self._counts.search_before(account_id, wanted, known)
        if begun is not None and begun.has_few(asked.size):
            ways = []  # They would take longer than the rest of the search.

        async def search() -> Search | None:
            if known.counts is None or not is_searched(wanted):
                return None
            return await self._counts.search(account_id, wanted, known)

        return _links(account_id, await rows_in_time(reads, rows, ways, otherwise, search))

    async def _find_searched(
        self, reads: MongoReads, asked: _Asked, known: Known, search: Search
    ) -> list[Link]:
        by = ORDERS[asked.order]
        matching = matching_of(asked.account_id, asked.wanted, known, by, "_id_")
        rows = AskedRows(by, asked.rows, asked.after)
        return _links(asked.account_id, await rows_of_ids(reads, rows, matching, search.ids))


def _links(account_id: UUID, rows: list[dict[str, Any]]) -> list[Link]:
    """Return the links of rows. It adds fields to these: copies would take as long again."""
    for row in rows:
        row["id"] = row["_id"]
        row["account_id"] = account_id
    return msgspec.convert(rows, list[Link])
