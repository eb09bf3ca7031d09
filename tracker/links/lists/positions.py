"""Positions of pages that were read before, so that the next page by number skips nothing."""

from collections.abc import Hashable
from typing import Any, Final

from tracker.stores.mongodb.order import Position

_LISTS: Final = 100
_POSITIONS: Final = 100
"""Positions of one list. With all lists they take 3 MB."""


class PagePositions:
    """The positions after so many rows of lists. The key of a list is another after a change."""

    def __init__(self) -> None:
        self._lists: dict[Hashable, dict[int, Position]] = {}

    def remember(self, key: Hashable, rows: int, position: Position) -> None:
        known = self._lists.pop(key, {})
        known.pop(rows, None)
        known[rows] = position
        self._lists[key] = known
        _drop_oldest(known, _POSITIONS)
        _drop_oldest(self._lists, _LISTS)

    def last_before(self, key: Hashable, skip: int) -> tuple[int, Position] | None:
        """Return the last known position after at most `skip` rows, with that number."""
        known = self._lists.get(key, {})
        rows = max((one for one in known if one <= skip), default=None)
        return None if rows is None else (rows, known[rows])


def _drop_oldest(entries: dict[Any, Any], most: int) -> None:
    if len(entries) > most:
        del entries[next(iter(entries))]
