"""What is counted before a list is read: its links, and those of its words and tags."""

from collections.abc import Awaitable, Callable, Hashable, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

import msgspec
import pymongo
from pymongo.errors import PyMongoError

from tracker.links.counts.counts import KeptCounts, LinkCounts
from tracker.links.lists.filter import (
    LinkFilter,
    is_counted,
    is_of_one_word,
    is_searched,
    order_of,
    others_of,
    word_conditions,
)
from tracker.links.lists.plan import Known, counting_index_of, matching_of
from tracker.links.lists.recent_counts import RecentCounts
from tracker.links.lists.search import Search, Searches, search_of
from tracker.links.lists.totals import COUNTED_LINKS, Counting, Total, Totals
from tracker.links.lists.word_sizes import WordSizes
from tracker.stores.mongodb.list_indexes import LINK_LISTS
from tracker.stores.mongodb.order import NEWEST_FIRST
from tracker.stores.mongodb.reads import MongoReads

_QUICK_SECONDS: Final = 0.2
"""For COUNTED_LINKS by one query, which takes less unless most links that it reads do not pass."""


class ListCounts:
    """Kept counts, and numbers that are counted within limits and remembered for seconds."""

    def __init__(self, reads: MongoReads) -> None:
        self._reads = reads
        self._totals = Totals()
        self._recent_counts = RecentCounts()
        self._word_sizes = WordSizes()
        self._searches = Searches()

    async def kept(
        self, reads: MongoReads, account_id: UUID, wanted: LinkFilter, is_fresh: bool
    ) -> KeptCounts | None:
        """Return the kept counts; those that only choose an index may be some seconds old."""
        if is_fresh or is_counted(wanted) or self._searches.has(_key(account_id, wanted)):
            return await LinkCounts(reads).find(account_id, wanted.tags)
        return await self._recent_counts.find(reads, account_id, wanted.tags)

    async def known(self, account_id: UUID, wanted: LinkFilter, counts: KeptCounts | None) -> Known:
        """Return the counts, and which words are the rarest if more than these lead to the list."""
        words = word_conditions(wanted, NEWEST_FIRST)
        ways = len(words) + bool(wanted.tags) + (wanted.active is False)
        if not words or ways < 2 or wanted.slug is not None or counts is None:
            return Known(counts)
        of_words = LinkFilter(search=wanted.search, utm=wanted.utm, archived=wanted.archived)
        count = partial(_count_words, self._reads, account_id, wanted.archived)
        key = (account_id, msgspec.json.encode(of_words))
        return Known(counts, await self._word_sizes.rarest(key, words, count))

    async def total(self, account_id: UUID, wanted: LinkFilter, known: Known) -> Total:
        if known.counts is not None and is_counted(wanted):
            tag_id = wanted.tags[0] if wanted.tags else None
            return Total(known.counts[tag_id].of(wanted.archived, wanted.active))
        search = self.search_before(account_id, wanted, known)
        if search is not None and search.has_all:
            return Total(len(search.ids))
        by = order_of(wanted, "newest")
        index = counting_index_of(wanted, known)
        matching = matching_of(account_id, wanted, known, by, index)
        chosen = {"hint": index, "collation": by.collation}

        async def count(limit: int) -> int:
            return await self._reads.count("links", matching, limit=limit, **chosen)

        how = Counting(count)
        if known.counts is not None:
            how = Counting(count, changes=known.counts.changes)
            if is_of_one_word(wanted):
                how = how._replace(by_keys=True, by_others=self._by_others(account_id, wanted))
            elif is_searched(wanted):
                how = self._count_or_search(how, account_id, wanted, known)
        return await self._totals.find(_key(account_id, wanted), how)

    def _count_or_search(
        self, how: Counting, account_id: UUID, wanted: LinkFilter, known: Known
    ) -> Counting:
        """Return how links are counted by one query or, if that takes long, by a search."""

        async def count(limit: int) -> int:
            try:
                with pymongo.timeout(_QUICK_SECONDS):
                    return await how.listed(limit)
            except PyMongoError as error:
                if not error.timeout:
                    raise
            return len((await self.search(account_id, wanted, known)).ids)

        def so_far() -> int:
            search = self.search_before(account_id, wanted, known)
            return 0 if search is None else len(search.ids)

        return how._replace(listed=count, so_far=so_far)

    def search_before(self, account_id: UUID, wanted: LinkFilter, known: Known) -> Search | None:
        """Return the search of a list whose links have not changed since; None without one."""
        if known.counts is None:
            return None
        return self._searches.find(_key(account_id, wanted), known.counts.changes)

    async def search(self, account_id: UUID, wanted: LinkFilter, known: Known) -> Search:
        """Search for the links of a list, or go on; return it once it has ended."""
        assert known.counts is not None
        make = partial(search_of, self._reads, account_id, wanted, known)
        search = self._searches.begin(_key(account_id, wanted), known.counts.changes, make)
        await search.run()
        return search

    def is_current(self, account_id: UUID, wanted: LinkFilter, counts: KeptCounts | None) -> bool:
        """Return whether the last total of a list is of the same moment as its kept counts."""
        if counts is None or is_counted(wanted):
            return counts is not None
        return self._totals.is_current(_key(account_id, wanted), counts.changes)

    def _by_others(
        self, account_id: UUID, wanted: LinkFilter
    ) -> Callable[[], Awaitable[int | None]] | None:
        """Return how the links without a UTM value are counted by those with one."""
        others = others_of(wanted)
        if others is None:
            return None

        async def count() -> int | None:
            async with self._reads.at_one_snapshot() as reads:
                count_words = partial(_count_words, reads, account_id, wanted.archived)
                with_value = await count_words(others.with_value, COUNTED_LINKS + 1)
                if with_value > COUNTED_LINKS:
                    return None
                counts = await LinkCounts(reads).find(account_id, ())
                if counts is None:
                    return None
                with_no_value = await count_words(others.with_no_value, COUNTED_LINKS + 1)
            return counts[None].of(wanted.archived) - with_value + with_no_value

        return count


def _key(account_id: UUID, wanted: LinkFilter) -> Hashable:
    return account_id, msgspec.json.encode(wanted)


async def _count_words(
    reads: MongoReads, account_id: UUID, archived: bool, condition: Mapping[str, Any], limit: int
) -> int:
    matching = {"account_id": account_id, "archived": archived, **condition}
    return await reads.count("links", matching, limit=limit, hint=LINK_LISTS["words"])
