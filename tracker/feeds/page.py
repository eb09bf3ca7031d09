"""Pages of feeds, and where they start: at a position in time, or at a bookmark."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

Row = TypeVar("Row")


class TimePosition(NamedTuple):
    """A start in the order of time: after the row with this time and id.

    The lowest id skips the rest of the millisecond.
    """

    at: datetime
    id: UUID | int


class Bookmark(NamedTuple):
    """A start in the order of storing: the next position by drain number (`feeds/arrivals`).

    Later positions were stored after `at`.
    """

    at: datetime
    positions: Mapping[int, int]


PageStart = TimePosition | Bookmark


class FeedPage(NamedTuple, Generic[Row]):
    """A page of a feed. `next` is None at the end.

    - `bookmark` is where rows that are stored later start. The first page by time has one, and
      every page by storing.
    - `searched_to`: the page has searched up to here, and the next one continues.
    """

    rows: Sequence[Row]
    next: PageStart | None
    bookmark: Bookmark | None
    searched_to: datetime | None
