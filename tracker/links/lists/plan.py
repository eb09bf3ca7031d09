"""Where a page of links is read: from which index, in which direction. Pure."""

from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from tracker.links.counts.counts import LinkCount
from tracker.links.lists.filter import LinkFilter, LinkOrder, is_by_words
from tracker.links.lists.totals import Total
from tracker.stores.mongodb.list_indexes import LINK_LISTS

Counts = Mapping[UUID | None, LinkCount]
"""The kept counts of the tags of a filter, and of all links as of None."""


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


def index_of(
    wanted: LinkFilter, order: LinkOrder, counts: Counts | None, read: int, found: Total
) -> str:
    """Return the name of the index for `read` rows of a list, of which so many were found."""
    if wanted.slug is not None:
        return LINK_LISTS["a slug"]
    total = None if counts is None else counts[None].of(wanted.archived)
    if (
        is_by_words(wanted)
        and found.is_exact
        and _is_sorting_cheaper(found.rows, found, read, total)
    ):
        return LINK_LISTS["words"]
    tagged = _tagged(wanted, counts)
    if wanted.tags and (
        not _are_inactive_fewer(tagged, wanted, counts)
        if order in _BY_ID
        else _is_sorting_cheaper(tagged, found, read, total)
    ):
        return LINK_LISTS["tags"]
    return LINK_LISTS[f"inactive {order}" if wanted.active is False else order]


def needs_counts(wanted: LinkFilter, order: LinkOrder) -> bool:
    """Return whether the kept counts or the rows found decide the index, or that none is read.

    No link of a tag may be active, or inactive: all of them would be read for nothing.
    """
    of_tags = bool(wanted.tags) and (order not in _BY_ID or wanted.active is not None)
    return is_by_words(wanted) or of_tags


def fallback_of(wanted: LinkFilter, index: str) -> str | None:
    """Return the name of the index to use if `index` has too few matches.

    None if it has all of them, or as many as the other one.
    """
    counting = counting_index_of(wanted)
    is_selective = wanted.slug is None and (is_by_words(wanted) or bool(wanted.tags))
    chosen_by_counts = LINK_LISTS["tags"], LINK_LISTS["inactive newest"]
    if counting == LINK_LISTS["tags"] and index in chosen_by_counts:
        return None
    return counting if is_selective and index != counting else None


def counting_index_of(wanted: LinkFilter) -> str:
    """Return the name of the index by which the links of a filter are counted."""
    if wanted.slug is not None:
        return LINK_LISTS["a slug"]
    if is_by_words(wanted):
        return LINK_LISTS["words"]
    if wanted.tags:
        return LINK_LISTS["tags"]
    return LINK_LISTS["inactive newest" if wanted.active is False else "newest"]


def is_in_order(index: str, order: LinkOrder) -> bool:
    """Return whether the index that `index_of` chose has the links in their order."""
    return order in _BY_ID or index in (LINK_LISTS[order], LINK_LISTS[f"inactive {order}"])


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


def rarest_first(wanted: LinkFilter, counts: Counts) -> list[UUID]:
    return sorted(wanted.tags, key=lambda tag_id: sum(counts[tag_id]))


def _tagged(wanted: LinkFilter, counts: Counts | None) -> int:
    """Return how many links have the tags, at most."""
    if counts is None:
        return 0
    of_tags = [counts[tag_id].of(wanted.archived) for tag_id in wanted.tags]
    return min(of_tags) if wanted.all_tags else sum(of_tags)


def _are_inactive_fewer(tagged: int, wanted: LinkFilter, counts: Counts | None) -> bool:
    """Return whether a list of inactive links has more to read among those of its tags."""
    if counts is None or wanted.active is not False:
        return False
    return counts[None].of(wanted.archived, active=False) < tagged


def _is_sorting_cheaper(examined: int, found: Total, read: int, total: int | None) -> bool:
    """Return whether to read and sort all that is `examined`, not the order up to the page.

    The order has a match as often as the account has, unless the filter goes with the order.
    """
    matches = found.rows if found.is_exact else examined
    return total is None or examined * matches < read * total
