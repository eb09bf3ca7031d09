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

    def reversed(self) -> "Order":
        return self._replace(direction=-self.direction)

    def position(self, row_id: UUID, row: Any) -> Position:
        """Return the position of a row whose attributes or items have the order's text."""
        if self.field is None:
            return Position(None, row_id)
        text = row[self.field] if isinstance(row, dict) else getattr(row, self.field)
        return Position(text, row_id)

    def just_before(self, position: Position) -> Position:
        """Return a position between a row's and that of the row before it."""
        return position._replace(id=UUID(int=position.id.int - self.direction))

    def after(self, position: Position) -> dict[str, Any]:
        """Return the condition of the rows after a position: two ranges of one index at most."""
        ranges = self.ranges_after(position)
        return ranges[0] if len(ranges) == 1 else {"$or": ranges}

    def ranges_after(self, position: Position) -> list[dict[str, Any]]:
        """Return the conditions of the ranges of one index after a position, in their order.

        MongoDB skips rows of one range by the index alone, but reads those of alternatives.
        """
        beyond = "$gt" if self.direction == ASCENDING else "$lt"
        by_id = {"_id": {beyond: position.id}}
        if self.field is None:
            return [by_id]
        return [{self.field: position.text, **by_id}, {self.field: {beyond: position.text}}]

    def between(self, first: Position | None, last: Position) -> dict[str, Any]:
        """Return the condition of the rows between two positions: one range of an index."""
        limits = [self.reversed().after(last)]
        if first is not None:
            limits.append(self.after(first))
        if self.field is not None:
            to_last, to_first = (
                ("$lte", "$gte") if self.direction == ASCENDING else ("$gte", "$lte")
            )
            texts = {to_last: last.text} | ({} if first is None else {to_first: first.text})
            # Of the alternatives, MongoDB takes one limit for the range at most.
            limits.append({self.field: texts})
        return {"$and": limits}

    def ranges_between(self, first: Position | None, last: Position) -> list[dict[str, Any]]:
        """Return the conditions of the ranges of one index from after `first` up to `last`.

        They are in their order, and no row is in two. If both texts are the same but for their
        case, the first range reads all rows with this text from there.
        """
        beyond, up_to, before = (
            ("$gt", "$lte", "$lt") if self.direction == ASCENDING else ("$lt", "$gte", "$gt")
        )
        after_first = {} if first is None else {beyond: first.id}
        if self.field is None or (first is not None and first.text == last.text):
            text = {} if self.field is None else {self.field: last.text}
            return [{**text, "_id": {**after_first, up_to: last.id}}]
        of_last = {self.field: last.text, "_id": {up_to: last.id}}
        if first is None:
            return [{self.field: {before: last.text}}, of_last]
        either = [{self.field: {before: last.text}}, {"_id": {up_to: last.id}}]
        return [
            {self.field: first.text, "_id": after_first, "$or": either},
            {self.field: {beyond: first.text, before: last.text}},
            {"$and": [{self.field: {beyond: first.text}}, of_last]},
        ]


# UUIDs of version 7 sort by creation.
NEWEST_FIRST: Final = Order(DESCENDING)
OLDEST_FIRST: Final = Order(ASCENDING)


def by_name(field: str) -> Order:
    return Order(ASCENDING, field, BY_NAME)
