"""Pages of feeds, and the two kinds of places where one begins."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

Row = TypeVar("Row")


class Position(NamedTuple):
    """A place in the order of time: after the row of this time and id, and before all older ones.

    The id is that of a click or of a conversion. The lowest stands for a whole millisecond.
    """

    at: datetime
    id: UUID | int


class Bookmark(NamedTuple):
    """A place in the order of storing: after everything that was stored until then.

    It has the next position in each slot (`feeds/arrivals`). What follows it was stored after `at`.
    """

    at: datetime
    positions: Mapping[int, int]


Place = Position | Bookmark


class FeedPage(NamedTuple, Generic[Row]):
    """A page of a feed.

    - `next` is where the next page begins; None if there is none yet.
    - `bookmark` is where that begins which is stored after the page was read. Only the first page
      by time has it, and every page by storing.
    - A page with fewer rows than were asked for may have a next one: then `searched_to` is how far
      it has looked, by time or by storing.
    """

    rows: Sequence[Row]
    next: Place | None
    bookmark: Bookmark | None
    searched_to: datetime | None
