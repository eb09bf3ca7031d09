"""Pages of feeds, and the two kinds of places to begin one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

Row = TypeVar("Row")


class Position(NamedTuple):
    """A place in the order of time: after the row with this time and id.

    The lowest id stands for a whole millisecond.
    """

    at: datetime
    id: UUID | int


class Bookmark(NamedTuple):
    """A place in the order of storing: the next position in each slot (`feeds/arrivals`).

    Later positions were stored after `at`.
    """

    at: datetime
    positions: Mapping[int, int]


Place = Position | Bookmark


class FeedPage(NamedTuple, Generic[Row]):
    """A page of a feed. `next` is None at the end.

    - `bookmark` continues with rows that are stored later. The first page by time has one, and
      every page by storing.
    - `searched_to`: the page was cut off here, and the next one continues.
    """

    rows: Sequence[Row]
    next: Place | None
    bookmark: Bookmark | None
    searched_to: datetime | None
