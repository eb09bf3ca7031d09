"""The way to pages far from both ends of a list, in pieces that each take a part of a second.

The ends of pieces are remembered until a link of the account changes, so the next far page of the
list reads one piece at most.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.links.lists.plan import Density, Rows
from tracker.links.lists.positions import PagePositions
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.stores.mongodb.order import Order, Position
from tracker.stores.mongodb.reads import MongoReads

NEAR_ROWS: Final = 1_000
"""Rows that are skipped at once, whatever the total: they take 2 ms."""

PIECE_LINKS: Final = 20_000
"""Links that one query examines: 10 to 30 ms by an index alone, 100 if documents are read."""


def is_far(rows: int) -> bool:
    return rows > NEAR_ROWS


class Reached(NamedTuple):
    """The position after so many rows of a list; None before the first."""

    rows: int
    position: Position | None


BEGINNING: Final = Reached(0, None)


class FarList(NamedTuple):
    """A list in one direction, which an index has in its order, among other links."""

    matching: Mapping[str, Any]
    order: Order
    hint: str
    density: Density

    @property
    def piece_rows(self) -> int:
        share = 1.0 if self.density.index_of_others else self.density.share
        return max(1, int(PIECE_LINKS * share))

    async def after(self, reads: MongoReads, start: Reached, rows: int) -> Reached | None:
        """Return the position at most so many rows after `start`; None beyond the end.

        No index of active links exists. They are skipped together with the few inactive ones, which
        are subtracted then: to read all of them would take seconds.
        """
        matching, others = dict(self.matching), self.density.index_of_others
        if others is not None:
            del matching["active"]
        row = await self._row_after(reads, matching, start.position, rows)
        if row is None:
            return None
        position = self.order.position(UUID(bytes=row["_id"]), row)
        if others is not None:
            inactive = matching | {"active": False} | self.order.between(start.position, position)
            rows -= await self._count(reads, inactive, others) + (not row["active"])
        return Reached(start.rows + rows, position)

    async def _row_after(
        self, reads: MongoReads, matching: Mapping[str, Any], start: Position | None, rows: int
    ) -> dict[str, Any] | None:
        ranges = [{}] if start is None else self.order.ranges_after(start)
        for limits in ranges[:-1]:
            number = await self._count(reads, {**matching, **limits}, self.hint, limit=rows)
            if number >= rows:
                ranges = [limits]
                break
            rows -= number
        found = await reads.with_binary_ids().find(
            "links",
            with_stored_ids({**matching, **ranges[-1]}),
            ["active", *([] if self.order.field is None else [self.order.field])],
            sort=self.order.keys,
            collation=self.order.collation,
            skip=rows - 1,
            limit=1,
            hint=self.hint,
        )
        return found[0] if found else None

    async def _count(
        self, reads: MongoReads, matching: Mapping[str, Any], hint: str, **limit: int
    ) -> int:
        chosen = {"collation": self.order.collation, "hint": hint, **limit}
        return await reads.count("links", matching, **chosen)


class FarPages:
    """Positions in lists, and the way from them. The key of a list is another after a change."""

    def __init__(self) -> None:
        self._positions = PagePositions()

    def nearest(self, key: Hashable, ways: Iterable[Rows]) -> tuple[Rows, Reached]:
        """Return the way with the fewest rows from a known position, and this position."""
        known = [(way, self._known(_directed(key, way), way.skip)) for way in ways]
        return min(known, key=lambda one: one[0].skip - one[1].rows)

    async def reach(
        self, reads: MongoReads, key: Hashable, listed: FarList, way: Rows, reached: Reached
    ) -> Reached:
        """Go on to a position at most NEAR_ROWS before the rows, of a snapshot's list."""
        while is_far(way.skip - reached.rows):
            rows = min(way.skip - reached.rows, listed.piece_rows)
            further = await listed.after(reads, reached, rows)
            if further is None:
                break
            reached = further
            self._remember(_directed(key, way), reached)
        return reached

    def remember(self, key: Hashable, reached: Reached) -> None:
        """Remember the end of a page, unless it is easily reached."""
        directed = (key, False)
        if is_far(reached.rows - self._known(directed, reached.rows).rows):
            self._remember(directed, reached)

    def _remember(self, directed: Hashable, reached: Reached) -> None:
        assert reached.position is not None
        self._positions.remember(directed, reached.rows, reached.position)

    def _known(self, directed: Hashable, rows: int) -> Reached:
        known = self._positions.last_before(directed, rows)
        return BEGINNING if known is None else Reached(*known)


def _directed(key: Hashable, way: Rows) -> Hashable:
    return key, way.is_reversed
