"""How many links have each word of a filter: so the rarest leads to them, or what has fewer."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import pymongo
from pymongo.errors import PyMongoError

from tracker.links.lists.plan import Rarest
from tracker.links.lists.totals import COUNT_SECONDS, COUNTED_LINKS

KNOWN_SECONDS: Final = 10.0

_REMEMBERED: Final = 1_000

Count = Callable[[Mapping[str, Any], int], Awaitable[int]]
"""Counts the links of a condition by the index of words alone, up to a limit."""


class WordSizes:
    """The rarest words of the filters that lists were asked for in this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._remembered: dict[Hashable, tuple[float, Rarest]] = {}

    async def rarest(
        self, key: Hashable, words: Sequence[Mapping[str, Any]], count: Count
    ) -> Rarest:
        """Return which of the conditions the fewest links fulfil; the first if that takes long."""
        until, found = self._remembered.pop(key, (0.0, Rarest()))
        if self._clock() >= until:
            found = await _counted(words, count)
            until = self._clock() + KNOWN_SECONDS
        self._remembered[key] = until, found
        if len(self._remembered) > _REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        return found


async def _counted(words: Sequence[Mapping[str, Any]], count: Count) -> Rarest:
    try:
        with pymongo.timeout(COUNT_SECONDS):
            sizes = await asyncio.gather(*(count(one, COUNTED_LINKS + 1) for one in words))
    except PyMongoError as error:
        if not error.timeout:
            raise
        return Rarest()
    fewest = min(sizes)
    return Rarest(sizes.index(fewest), fewest if fewest <= COUNTED_LINKS else Rarest().links)
