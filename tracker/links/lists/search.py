"""Searches for the links of lists that few links are in, although many have each of their filters.

Nothing but reading the links tells which of those with one tag have another one too. So their ids
are kept until a link of the account changes, and the next page costs as much as in a small account.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from tracker.links.lists.filter import LinkFilter
from tracker.links.lists.pieces import Pieces, one_piece, pieces_of
from tracker.links.lists.plan import (
    Known,
    counting_index_of,
    is_of_rarest_tag,
    matching_of,
    rarest_first,
)
from tracker.links.lists.totals import COUNTED_LINKS
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.stores.mongodb.order import Position
from tracker.stores.mongodb.reads import MongoReads

_REMEMBERED: Final = 20
"""Searches. Each has up to COUNTED_LINKS ids of 50 bytes."""


class Search:
    """A search in the order of ids, which goes on where a time limit has interrupted it.

    Of the `others`, each is the condition of links in the same index, and each found link is among
    them.
    """

    def __init__(
        self,
        reads: MongoReads,
        pieces: Pieces,
        matching: Mapping[str, Any],
        others: Sequence[Mapping[str, Any]],
    ) -> None:
        self._reads = reads
        self._pieces = pieces
        self._matching = matching
        self._others = others
        self._lock = asyncio.Lock()
        self._start: Position | None = None
        self._is_at_end = False
        self.ids: list[bytes] = []

    @property
    def has_all(self) -> bool:
        """Return whether `ids` are those of all links in the list."""
        return self._is_at_end and not self._has_many

    def has_few(self, links: int) -> bool:
        """Return whether it goes on, and has found at most so many links until now."""
        return not self._is_at_end and len(self.ids) <= links

    @property
    def _has_many(self) -> bool:
        return len(self.ids) > COUNTED_LINKS

    async def run(self) -> None:
        """Search until all links are found, or more than COUNTED_LINKS."""
        async with self._lock:
            while not (self._is_at_end or self._has_many):
                with one_piece():
                    await self._search_piece()

    async def _search_piece(self) -> None:
        start = self._start
        for other in self._others:
            # Between two links with another tag no link has both.
            nearest = await self._before_next(other, start)
            if nearest is None:
                self._is_at_end = True
                return
            start = nearest
        end = await self._pieces.end(self._reads, start)
        [limits] = self._pieces.ranges(start, end)
        self.ids += await self._reads.with_binary_ids().ids(
            "links",
            with_stored_ids({"$and": [self._matching, limits]}),
            sort=self._pieces.order.keys,
            limit=COUNTED_LINKS + 1 - len(self.ids),
            hint=self._pieces.hint,
        )
        self._start, self._is_at_end = end, end is None

    async def _before_next(
        self, other: Mapping[str, Any], start: Position | None
    ) -> Position | None:
        """Return the position before the next link of another condition; None if none follows."""
        order = self._pieces.order
        limits = {} if start is None else order.after(start)
        nearest = await self._reads.with_binary_ids().find_one(
            "links",
            with_stored_ids({**other, **limits}),
            ["_id"],
            sort=order.keys,
            hint=self._pieces.hint,
        )
        if nearest is None:
            return None
        return order.just_before(Position(None, UUID(bytes=nearest["_id"])))


def search_of(reads: MongoReads, account_id: UUID, wanted: LinkFilter, known: Known) -> Search:
    by_tag = is_of_rarest_tag(counting_index_of(wanted, known), wanted)
    pieces = pieces_of(account_id, wanted, "newest", known, by_tag)
    matching = matching_of(account_id, wanted, known, pieces.order, pieces.hint)
    tags = rarest_first(wanted, known.counts)[1:] if by_tag and known.counts is not None else []
    others = [{"account_id": account_id, "tags": tag_id} for tag_id in tags]
    return Search(reads, pieces, matching, others)


class Searches:
    """The searches of this process, each as of so many changes of the account's links."""

    def __init__(self) -> None:
        self._remembered: dict[Hashable, tuple[int, Search]] = {}

    def find(self, key: Hashable, changes: int) -> Search | None:
        of_changes, search = self._remembered.get(key, (None, None))
        return search if of_changes == changes else None

    def has(self, key: Hashable) -> bool:
        return key in self._remembered

    def begin(self, key: Hashable, changes: int, make: Callable[[], Search]) -> Search:
        """Return the search that is remembered, or a new one."""
        search = self.find(key, changes) or make()
        self._remembered.pop(key, None)
        self._remembered[key] = changes, search
        if len(self._remembered) > _REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        return search
