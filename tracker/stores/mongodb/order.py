"""The orders of lists, and the positions in them where pages begin."""

from typing import Any, Final, NamedTuple
from uuid import UUID

from pymongo import ASCENDING, DESCENDING
from pymongo.collation import Collation, CollationStrength

BY_NAME: Final = Collation("en", strength=CollationStrength.SECONDARY, numericOrdering=True)
"""Upper and lower case do not differ, and 9 comes before 10. Indexes need this collation."""


class Position(NamedTuple):
    """The position of a row: its id, and its text in an order by a text."""

    text: str | None
    id: UUID


class Order(NamedTuple):
    """The order of a list: by a `field` of text, or by id alone, and the collation of texts."""

    direction: int
    field: str | None = None
    collation: Collation | None = None

    @property
    def keys(self) -> list[tuple[str, int]]:
        by_field = [] if self.field is None else [(self.field, self.direction)]
        return [*by_field, ("_id", self.direction)]

    def position(self, row_id: UUID, row: Any) -> Position:
        """Return the position of a row whose attributes or items have the order's text."""
        if self.field is None:
            return Position(None, row_id)
        text = row[self.field] if isinstance(row, dict) else getattr(row, self.field)
        return Position(text, row_id)

    def after(self, position: Position) -> dict[str, Any]:
        """Return the condition of the rows after a position: two ranges of one index at most."""
        ranges = self.ranges_after(position)
        return ranges[0] if len(ranges) == 1 else {"$or": ranges}

    def ranges_after(self, position: Position) -> list[dict[str, Any]]:
        """Return the conditions of the ranges of one index after a position, in their order.

        MongoDB skips rows of one range by the index alone, but reads the rows of an `$or`.
        """
        beyond = "$gt" if self.direction == ASCENDING else "$lt"
        by_id = {"_id": {beyond: position.id}}
        if self.field is None:
            return [by_id]
        return [{self.field: position.text, **by_id}, {self.field: {beyond: position.text}}]


# UUIDs of version 7 sort by creation.
NEWEST_FIRST: Final = Order(DESCENDING)
OLDEST_FIRST: Final = Order(ASCENDING)


def by_name(field: str) -> Order:
    return Order(ASCENDING, field, BY_NAME)
