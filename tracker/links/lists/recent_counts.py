"""Kept counts that may be some seconds old, which is enough to choose an index by."""

import time
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from tracker.links.counts.counts import KeptCounts, LinkCounts
from tracker.stores.mongodb.reads import MongoReads

RECENT_SECONDS: Final = 10.0

_REMEMBERED: Final = 1_000


class RecentCounts:
    """The counts of the accounts and tags that lists were asked for in this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._remembered: dict[tuple[UUID, frozenset[UUID]], tuple[float, KeptCounts]] = {}

    async def find(
        self, reads: MongoReads, account_id: UUID, tag_ids: Sequence[UUID]
    ) -> KeptCounts | None:
        """Return the counts; None if those of the account are not complete yet."""
        key = (account_id, frozenset(tag_ids))
        until, counts = self._remembered.pop(key, (0.0, None))
        if counts is None or self._clock() >= until:
            counts = await LinkCounts(reads).find(account_id, tag_ids)
            until = self._clock() + RECENT_SECONDS
        if counts is not None:
            self._remembered[key] = until, counts
            if len(self._remembered) > _REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
        return counts
