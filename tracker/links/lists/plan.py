"""How a page of links is read: by which condition, index and direction. Pure."""

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from tracker.links.counts.counts import KeptCounts, LinkCount
from tracker.links.lists.filter import (
    LinkFilter,
    LinkOrder,
    conditions,
    is_by_words,
    is_of_one_word,
)
from tracker.links.lists.totals import Total
from tracker.stores.mongodb.list_indexes import LINK_LISTS
from tracker.stores.mongodb.order import Order

Counts = Mapping[UUID | None, LinkCount]
"""The kept counts of the tags of a filter, and of all links as of None."""


class Rarest(NamedTuple):
    """The condition of words (`filter`) that the fewest `links` fulfil, and how many, if known."""

    number: int = 0
    links: float = math.inf


class Known(NamedTuple):
    """What is known of an account's links before a list is read."""

    counts: KeptCounts | None
    rarest: Rarest = Rarest()


_MOST_SORTED: Final = 100_000
"""The links that may be read and sorted. More take longer than their order, up to any page."""

_BY_ID: Final = ("newest", "oldest")


class Rows(NamedTuple):
    """The rows of a page: `skip` come before them, from the end of the list if `is_reversed`."""

    skip: int
    limit: int
    is_reversed: bool = False


class Density(NamedTuple):
    """The `share` of an index's links that a list has, and an index of just the others, if few."""

    share: float
    index_of_others: str | None = None


def rows_of(skip: int, limit: int, total: int) -> Rows:
    """Return the way to rows of a list of `total` rows that has fewer rows before them."""
    left = max(0, total - skip)
    after = max(0, left - limit)
    return Rows(skip, limit) if skip <= after else Rows(after, min(limit, left), is_reversed=True)


def index_of(wanted: LinkFilter, order: LinkOrder, known: Known, read: int, found: Total) -> str:
    """Return the name of the index for `read` rows of a list, of which so many were found.

    It is the one by which the fewest links are examined, if those that pass are spread evenly.
    """
    if wanted.slug is not None:
        return LINK_LISTS["a slug"]
    in_order = LINK_LISTS[f"inactive {order}" if wanted.active is False else order]
    sizes = _sizes(wanted, known, found)
    if known.counts is None:
        is_sorted = bool(sizes) and (found.is_exact or not is_by_words(wanted))
        return next(iter(sizes)) if is_sorted and wanted.active is None else in_order
    total = known.counts[None].of(wanted.archived)
    matches = max(1, found.rows if found.is_exact else min(total, *sizes.values()))
    sizes.setdefault(in_order, sizes.get(LINK_LISTS["inactive newest"], total))

    def examined(index: str) -> float:
        is_sorted = index != in_order and (index != LINK_LISTS["tags"] or order not in _BY_ID)
        return sizes[index] * (1 if is_sorted else min(1, read / matches))

    return min(sizes, key=examined)


def needs_counts(wanted: LinkFilter, order: LinkOrder) -> bool:
    """Return whether the kept counts or the rows found decide the index, or that none is read.

    No link of a tag may be active, or inactive: all of them would be read for nothing.
    """
    of_tags = bool(wanted.tags) and (order not in _BY_ID or wanted.active is not None)
    return is_by_words(wanted) or of_tags


def fallback_of(wanted: LinkFilter, known: Known, found: Total, index: str) -> str | None:
    """Return the name of the index to use if `index` has too few matches.

    None if it has all of them, or as many as the other one, or if the other one has very many.
    """
    counting = counting_index_of(wanted, known)
    if _sizes(wanted, known, found).get(counting, 0) > _MOST_SORTED:
        return None
    is_selective = wanted.slug is None and (is_by_words(wanted) or bool(wanted.tags))
    chosen_by_counts = LINK_LISTS["tags"], LINK_LISTS["inactive newest"]
    if counting in chosen_by_counts and index in chosen_by_counts:
        return None
    return counting if is_selective and index != counting else None


def counting_index_of(wanted: LinkFilter, known: Known) -> str:
    """Return the name of the index by which the links of a filter are counted."""
    if wanted.slug is not None:
        return LINK_LISTS["a slug"]
    sizes = _sizes(wanted, known, Total(0, is_exact=False))
    return min(sizes, key=sizes.__getitem__, default=LINK_LISTS["newest"])


def is_in_order(index: str, order: LinkOrder) -> bool:
    """Return whether the index that `index_of` chose has the links in their order."""
    if order in _BY_ID:
        return index != LINK_LISTS["words"]
    return index in (LINK_LISTS[order], LINK_LISTS[f"inactive {order}"])


def density_of(
    index: str, wanted: LinkFilter, order: LinkOrder, counts: Counts, total: Total
) -> Density:
    """Return how many of the links in an index a list has, with one tag at most."""
    if index == LINK_LISTS["tags"]:
        return Density(total.rows / sum(counts[wanted.tags[0]]))
    active, inactive = (counts[None].of(wanted.archived, one) for one in (True, False))
    if wanted.tags:  # of those indexes, only that of inactive links is chosen by counts
        return Density(total.rows / max(1, inactive))
    if not wanted.active:
        return Density(1.0)
    others = LINK_LISTS[f"inactive {order}"] if inactive < active else None
    return Density(active / (active + inactive), others)


def matching_of(
    account_id: UUID, wanted: LinkFilter, known: Known, order: Order, index: str
) -> Mapping[str, Any]:
    """Return the condition of a list by an index. Its rarest tag and words come first."""
    has_words = known.counts is not None
    first = known.rarest.number if index == LINK_LISTS["words"] else None
    if known.counts is not None and wanted.all_tags:
        wanted = msgspec.structs.replace(wanted, tags=rarest_first(wanted, known.counts))
    return {"account_id": account_id, **conditions(wanted, order, has_words, first)}


def rarest_first(wanted: LinkFilter, counts: Counts) -> list[UUID]:
    return sorted(wanted.tags, key=lambda tag_id: sum(counts[tag_id]))


def rarest_tag(wanted: LinkFilter, known: Known) -> UUID:
    return (wanted.tags if known.counts is None else rarest_first(wanted, known.counts))[0]


def is_of_rarest_tag(index: str, wanted: LinkFilter) -> bool:
    """Return whether an index has the links of one tag, in the order of ids."""
    return index == LINK_LISTS["tags"] and (wanted.all_tags or len(wanted.tags) == 1)


def _sizes(wanted: LinkFilter, known: Known, found: Total) -> dict[str, float]:
    """Return how many links lead to those of a filter, by index: infinity if that is not known."""
    sizes: dict[str, float] = {}
    if is_by_words(wanted):
        sizes[LINK_LISTS["words"]] = known.rarest.links
    if wanted.tags:
        of_tags = [_size(known.counts, tag_id, wanted.archived) for tag_id in wanted.tags]
        sizes[LINK_LISTS["tags"]] = min(of_tags) if wanted.all_tags else sum(of_tags)
    if wanted.active is False:
        inactive = _size(known.counts, None, wanted.archived, active=False)
        sizes[LINK_LISTS["inactive newest"]] = inactive
    if found.is_exact and is_of_one_word(wanted):
        sizes[LINK_LISTS["words"]] = found.rows
    return sizes


def _size(
    counts: Counts | None, tag_id: UUID | None, archived: bool, active: bool | None = None
) -> float:
    return math.inf if counts is None else counts[tag_id].of(archived, active)
