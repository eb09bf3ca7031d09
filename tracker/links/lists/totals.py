"""The numbers of links in lists: kept, or counted within limits.

A kept count is exact. Others are counted for COUNT_SECONDS and up to COUNTED_LINKS, or COUNTED_KEYS
where an index alone tells. What many links or much time was spent on is remembered for
REMEMBERED_SECONDS, in this process.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, NamedTuple

import pymongo
from pymongo.errors import PyMongoError

COUNT_SECONDS: Final = 1.0
COUNTED_LINKS: Final = 10_000
"""The links that are counted, in 10 to 40 ms. The last page of as many skips no more."""

COUNTED_KEYS: Final = 2_000_000
"""The keys of an index that are counted: 0.4 to 0.6 s for a million."""

REMEMBERED_SECONDS: Final = 10.0

_MANY_LINKS: Final = 1_000
_LONG_SECONDS: Final = 0.5
"""What took less is counted each time, so that a change is seen at once."""

_REMEMBERED: Final = 1_000


class Total(NamedTuple):
    """The number of rows of a list; not `is_exact`: as many were found."""

    rows: int
    is_exact: bool = True


Count = Callable[[int], Awaitable[int]]
"""Counts rows up to a limit."""


class Counting(NamedTuple):
    """How a list is counted.

    - `by_keys`: an index alone tells
    - `by_others`: returns the total by the links that are not in the list; None if they are many
    - `changes`: how often the links had changed
    - `so_far`: returns how many were found until the time was over
    """

    listed: Count
    by_keys: bool = False
    by_others: Callable[[], Awaitable[int | None]] | None = None
    changes: int | None = None
    so_far: Callable[[], int] = int


class Totals:
    """The totals of lists that no kept count has. Each is counted once at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._remembered: dict[Hashable, tuple[float, Total, int | None]] = {}
        self._counting: dict[Hashable, asyncio.Future[Total]] = {}

    async def find(self, key: Hashable, how: Counting) -> Total:
        """Return the total that is known by `key`, or count it."""
        known = self._remembered.get(key)
        if known is not None and self._clock() < known[0]:
            return known[1]
        counting = self._counting.get(key)
        if counting is None:
            counting = self._counting[key] = asyncio.ensure_future(self._count(key, how))
            counting.add_done_callback(lambda _: self._counting.pop(key, None))
        return await asyncio.shield(counting)

    def is_current(self, key: Hashable, changes: int) -> bool:
        """Return whether the total that was found last is that of links after so many changes."""
        known = self._remembered.get(key)
        return known is None or known[2] == changes

    async def _count(self, key: Hashable, how: Counting) -> Total:
        began = self._clock()
        total = await _within_limits(how)
        now = self._clock()
        self._remembered.pop(key, None)
        if total.rows >= _MANY_LINKS or now - began >= _LONG_SECONDS:
            self._remembered[key] = now + REMEMBERED_SECONDS, total, how.changes
            if len(self._remembered) > _REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
        return total


async def _within_limits(how: Counting) -> Total:
    found = Total(0, is_exact=False)
    try:
        # The driver's limit does not end waiting for the search of another request.
        async with asyncio.timeout(2 * COUNT_SECONDS):
            with pymongo.timeout(COUNT_SECONDS):
                found = await _up_to(COUNTED_LINKS, how.listed)
                if not found.is_exact and how.by_others is not None:
                    total = await how.by_others()
                    if total is not None:
                        return Total(total)
                if not found.is_exact and how.by_keys:
                    found = await _up_to(COUNTED_KEYS, how.listed)
    except (PyMongoError, TimeoutError) as error:
        if isinstance(error, PyMongoError) and not error.timeout:
            raise
        found = Total(max(found.rows, how.so_far()), is_exact=False)
    return found


async def _up_to(limit: int, count: Count) -> Total:
    counted = await count(limit + 1)
    return Total(min(counted, limit), counted <= limit)
