"""What is counted before a list is read: its links, and those of its words and tags."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

import msgspec

from tracker.links.counts.counts import KeptCounts, LinkCounts
from tracker.links.lists.filter import (
    LinkFilter,
    is_counted,
    is_of_one_word,
    order_of,
    others_of,
    word_conditions,
)
from tracker.links.lists.plan import Known, counting_index_of, matching_of
from tracker.links.lists.recent_counts import RecentCounts
from tracker.links.lists.totals import Count, Counting, Total, Totals
from tracker.links.lists.word_sizes import WordSizes
from tracker.stores.mongodb.list_indexes import LINK_LISTS
from tracker.stores.mongodb.order import NEWEST_FIRST
from tracker.stores.mongodb.reads import MongoReads


class ListCounts:
    """Kept counts, and numbers that are counted within limits and remembered for seconds."""

    def __init__(self, reads: MongoReads) -> None:
        self._reads = reads
        self._totals = Totals()
        self._recent_counts = RecentCounts()
        self._word_sizes = WordSizes()

    async def kept(
        self, reads: MongoReads, account_id: UUID, wanted: LinkFilter
    ) -> KeptCounts | None:
        """Return the kept counts; those that only choose an index may be some seconds old."""
        if is_counted(wanted):
            return await LinkCounts(reads).find(account_id, wanted.tags)
        return await self._recent_counts.find(reads, account_id, wanted.tags)

    async def known(self, account_id: UUID, wanted: LinkFilter, counts: KeptCounts | None) -> Known:
        """Return the counts, and which words are the rarest if more than these lead to the list."""
        words = word_conditions(wanted, NEWEST_FIRST)
        ways = len(words) + bool(wanted.tags) + (wanted.active is False)
        if not words or ways < 2 or wanted.slug is not None or counts is None:
            return Known(counts)
        of_words = LinkFilter(search=wanted.search, utm=wanted.utm, archived=wanted.archived)
        count = partial(self._count_words, account_id, wanted.archived)
        key = (account_id, msgspec.json.encode(of_words))
        return Known(counts, await self._word_sizes.rarest(key, words, count))

    async def total(self, account_id: UUID, wanted: LinkFilter, known: Known) -> Total:
        if known.counts is not None and is_counted(wanted):
            tag_id = wanted.tags[0] if wanted.tags else None
            return Total(known.counts[tag_id].of(wanted.archived, wanted.active))
        by = order_of(wanted, "newest")
        index = counting_index_of(wanted, known)
        matching = matching_of(account_id, wanted, known, by, index)
        chosen = {"hint": index, "collation": by.collation}

        async def count(limit: int) -> int:
            return await self._reads.count("links", matching, limit=limit, **chosen)

        how = Counting(count)
        if known.counts is not None and is_of_one_word(wanted):
            links = known.counts[None].of(wanted.archived)
            how = Counting(count, True, self._others(account_id, wanted), links)
        return await self._totals.find((account_id, msgspec.json.encode(wanted)), how)

    def _others(self, account_id: UUID, wanted: LinkFilter) -> Count | None:
        """Return how the links are counted that a filter by a missing UTM value excludes."""
        others = others_of(wanted)
        if others is None:
            return None
        count_words = partial(self._count_words, account_id, wanted.archived)

        async def count(limit: int) -> int:
            found = await count_words(others.with_value, limit)
            return found - await count_words(others.with_no_value, limit)

        return count

    async def _count_words(
        self, account_id: UUID, archived: bool, condition: Mapping[str, Any], limit: int
    ) -> int:
        matching = {"account_id": account_id, "archived": archived, **condition}
        hint = LINK_LISTS["words"]
        return await self._reads.count("links", matching, limit=limit, hint=hint)
