"""Lists in pieces: ranges of an index that are so small that no query comes near its time limit."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractContextManager, aclosing
from typing import Any, Final, NamedTuple
from uuid import UUID

import pymongo

from tracker.links.lists.far_pages import FarList, Reached
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder
from tracker.links.lists.plan import Density, Known, Rows, rarest_tag
from tracker.stores.mongodb import drivers
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.stores.mongodb.list_indexes import LINK_LISTS
from tracker.stores.mongodb.order import Order, Position
from tracker.stores.mongodb.reads import Fields, MongoReads

PIECE_LINKS: Final = 20_000
"""Links of a piece. To read their documents takes 50 to 100 ms."""


def one_piece() -> AbstractContextManager[None]:
    """Return the time limit of a piece. That of a page alone would wait longer for a MongoDB that
    hangs."""
    return pymongo.timeout(drivers.MONGODB_TIMEOUT_SECONDS)


class Pieces(NamedTuple):
    """The pieces of an index in an order. `of_index` is the condition of all links that it has."""

    of_index: Mapping[str, Any]
    order: Order
    hint: str

    async def end(self, reads: MongoReads, start: Position | None) -> Position | None:
        """Return the last position of the piece after `start`; None if nothing is after it."""
        whole = FarList(self.of_index, self.order, self.hint, Density(1.0))
        reached = await whole.after(reads, Reached(0, start), PIECE_LINKS)
        return reached and reached.position

    def ranges(self, start: Position | None, end: Position | None) -> list[dict[str, Any]]:
        if end is not None:
            return self.order.ranges_between(start, end)
        return [{}] if start is None else self.order.ranges_after(start)


def pieces_of(
    account_id: UUID, wanted: LinkFilter, order: LinkOrder, known: Known, by_tag: bool
) -> Pieces:
    """Return the pieces of a list in its order: of all links, inactive ones, or those of a tag."""
    by = ORDERS[order]
    if by_tag:
        of_tag = {"account_id": account_id, "tags": rarest_tag(wanted, known)}
        return Pieces(of_tag, by, LINK_LISTS["tags"])
    of_state = {"account_id": account_id, "archived": wanted.archived}
    if wanted.active is False:
        return Pieces(of_state | {"active": False}, by, LINK_LISTS[f"inactive {order}"])
    return Pieces(of_state, by, LINK_LISTS[order])


async def rows_in_pieces(
    reads: MongoReads,
    pieces: Pieces,
    matching: Mapping[str, Any],
    rows: Rows,
    start: Position | None,
    fields: Fields,
) -> list[dict[str, Any]]:
    """Return the rows of a list after a position, in the order of the pieces. Ids are `Binary`."""
    found: list[dict[str, Any]] = []
    skip, left = rows.skip, rows.limit
    order = pieces.order
    async with aclosing(_ranges(reads, pieces, start)) as ranges:
        async for limits in ranges:
            of_range = {"$and": [matching, limits]}
            chosen: dict[str, Any] = {"collation": order.collation, "hint": pieces.hint}
            if skip:
                with one_piece():
                    passed = await reads.count("links", of_range, **chosen)
                if passed <= skip:
                    skip -= passed
                    continue
            with one_piece():
                found += await reads.with_binary_ids().find(
                    "links",
                    with_stored_ids(of_range),
                    fields,
                    sort=order.keys,
                    skip=skip,
                    limit=left - len(found),
                    **chosen,
                )
            skip = 0
            if len(found) == left:
                break
    return found


async def _ranges(
    reads: MongoReads, pieces: Pieces, start: Position | None
) -> AsyncGenerator[dict[str, Any], None]:
    while True:
        with one_piece():
            end = await pieces.end(reads, start)
        for limits in pieces.ranges(start, end):
            yield limits
        if end is None:
            return
        start = end
