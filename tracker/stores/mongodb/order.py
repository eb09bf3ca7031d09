"""The orders of lists, and the positions in them where pages begin."""

from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

from msgspec import Meta
from pymongo import ASCENDING, DESCENDING
from pymongo.collation import Collation, CollationStrength

from tracker.clock import moment

BY_NAME: Final = Collation("en", strength=CollationStrength.SECONDARY, numericOrdering=True)
"""Upper and lower case do not differ, and 9 comes before 10. Indexes need this collation."""


class Position(NamedTuple):
    """The position of a row: its id, and its text or time in milliseconds in an order by one."""

    text: str | Annotated[int, Meta(ge=0, lt=2**47)] | None
    id: UUID


class Order(NamedTuple):
    """The order of a list: by a `field`, or by id alone, and the collation of texts.

    A field of text is in every row. A time may be missing, and is then the earliest.
    """

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
        text = row.get(self.field) if isinstance(row, dict) else getattr(row, self.field)
        if isinstance(text, datetime):
            text = round(text.timestamp() * 1000)
        return Position(text, row_id)

    def after(self, position: Position) -> dict[str, Any]:
        """Return the condition of the rows after a position: a few ranges of one index."""
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
        if isinstance(position.text, int):
            at = moment(position.text)
            return [{self.field: at, **by_id}, {self.field: {beyond: at}}, {self.field: None}]
        return [{self.field: position.text, **by_id}, {self.field: {beyond: position.text}}]


# UUIDs of version 7 sort by creation.
NEWEST_FIRST: Final = Order(DESCENDING)
OLDEST_FIRST: Final = Order(ASCENDING)


def by_name(field: str) -> Order:
    return Order(ASCENDING, field, BY_NAME)
