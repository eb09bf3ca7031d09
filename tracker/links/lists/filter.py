"""The filters and orders of the list of links, as conditions and sort keys of MongoDB. Pure.

Clients' text is always a value in a condition, never an operator or a field name.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

import msgspec
from bson import Regex

from tracker.links.utm import NO_VALUE
from tracker.links.words import any_of_utm, beginnings_of, begun_url, words_of_utm
from tracker.stores.mongodb.order import BY_NAME, NEWEST_FIRST, OLDEST_FIRST, Order, by_name


class LinkFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of links. `search` is for words (`links/words`); `slug` is exact."""

    tags: list[UUID] = []
    all_tags: bool = False
    search: str = ""
    slug: str | None = None
    active: bool | None = None
    archived: bool = False
    utm: Mapping[str, Sequence[str]] = {}


LinkOrder = Literal["newest", "oldest", "name", "slug"]
"""The orders of the list of links; names and slugs are sorted ignoring case."""

ORDERS: Final[dict[LinkOrder, Order]] = {
    "newest": NEWEST_FIRST,
    "oldest": OLDEST_FIRST,
    "name": by_name("internal_name"),
    "slug": by_name("slug"),
}


_NONE: Final[dict[str, Any]] = {"words": {"$in": []}}
"""The condition of a search without a word."""


def conditions(
    wanted: LinkFilter, order: Order, has_words: bool = True, first: int | None = 0
) -> dict[str, Any]:
    """Return the conditions of a filter, also for links whose words no drain has stored yet.

    The `first` condition of words leads to the links, if they are read by the index of words.
    """
    matching: dict[str, Any] = {"archived": wanted.archived}
    if wanted.tags:
        matching["tags"] = {"$all" if wanted.all_tags else "$in": wanted.tags}
    if wanted.active is not None:
        matching["active"] = wanted.active
    if wanted.slug is not None:
        # The collation lets the index find it. The pattern excludes other cases.
        matching["slug"] = {"$eq": wanted.slug, "$regex": f"^{re.escape(wanted.slug)}$"}
    if not is_by_words(wanted):
        return matching
    if not has_words and _NONE not in word_conditions(wanted, order):
        either = [{"$and": [*word_conditions(wanted, order), *_of_url(wanted)]}]
        return matching | {"$or": [*either, _without_words(wanted)]}
    if first is None:
        return matching | {"$and": [*_of_values(wanted), *_of_search(wanted), *_of_url(wanted)]}
    found = word_conditions(wanted, order)
    leading = found.pop(first)
    # MongoDB takes no index for these, whichever it would prefer.
    others = [{"$nor": [{"words": {"$nin": one["words"]["$in"]}}]} for one in found]
    filters = [*others, *_of_url(wanted)]
    return matching | leading | ({"$and": filters} if filters else {})


def is_by_words(wanted: LinkFilter) -> bool:
    """Return whether the index of words leads to the links."""
    return bool(wanted.search or wanted.utm)


def is_of_one_word(wanted: LinkFilter) -> bool:
    """Return whether one condition of words is all, so that the index of words counts the links."""
    others = wanted.tags or wanted.slug or wanted.active is not None or begun_url(wanted.search)
    return is_by_words(wanted) and not others and len(word_conditions(wanted, NEWEST_FIRST)) == 1


class Others(NamedTuple):
    """The conditions of links with a UTM value, and of those of them whose value is NO_VALUE."""

    with_value: Mapping[str, Any]
    with_no_value: Mapping[str, Any]


def others_of(wanted: LinkFilter) -> Others | None:
    """Return the links that a filter by one missing UTM value alone excludes; None for others."""
    if not is_of_one_word(wanted) or list(wanted.utm.values()) != [[NO_VALUE]]:
        return None
    [name] = wanted.utm
    return Others({"words": any_of_utm(name)}, {"words": words_of_utm(name, [NO_VALUE])[0]})


def word_conditions(wanted: LinkFilter, order: Order) -> list[dict[str, Any]]:
    """Return the conditions of words, of which a link of the list fulfils each."""
    of_utm = [_one_of(words_of_utm(*one), order) for one in wanted.utm.items()]
    return of_utm + _of_search(wanted)


def _one_of(words: Sequence[str], order: Order) -> dict[str, Any]:
    return {"words": {"$in": list(words) if order.collation is None else _exactly(words)}}


def _of_values(wanted: LinkFilter) -> list[dict[str, Any]]:
    """Return the conditions of UTM values by their own fields.

    A link is compared with these in 2 µs, with the 17 patterns of a missing value in up to 30.
    """
    return [
        {name: {"$in": [*_exactly(values), *([None] if NO_VALUE in values else [])]}}
        for name, values in wanted.utm.items()
    ]


def _of_search(wanted: LinkFilter) -> list[dict[str, Any]]:
    if not wanted.search:
        return []
    return [{"words": {"$in": [one]}} for one in beginnings_of(wanted.search)] or [_NONE]


def _of_url(wanted: LinkFilter) -> list[dict[str, Any]]:
    url = begun_url(wanted.search)
    return [] if url is None else [{"destination_url": url}]


def _without_words(wanted: LinkFilter) -> dict[str, Any]:
    """Return the condition of links without stored words: each searched one may begin anywhere."""
    texts = [Regex(re.escape(one), re.IGNORECASE) for one in wanted.search.split()]
    fields = ("internal_name", "slug", "destination_url")
    found = [{"$or": [{name: one} for name in fields]} for one in texts]
    return {"words": None, "$and": _of_values(wanted) + found}


def is_counted(wanted: LinkFilter) -> bool:
    """Return whether the links that pass are a kept count: by state, and by one tag at most."""
    return len(wanted.tags) < 2 and not (wanted.search or wanted.slug or wanted.utm)


def is_searched(wanted: LinkFilter) -> bool:
    """Return whether several filters may have many links each and few together."""
    return not (is_counted(wanted) or is_of_one_word(wanted) or wanted.slug)


def order_of(wanted: LinkFilter, order: LinkOrder) -> Order:
    """Return the order of a page. A filter by slug needs the collation of the slug index."""
    return ORDERS[order] if wanted.slug is None else ORDERS[order]._replace(collation=BY_NAME)


def _exactly(texts: Sequence[str]) -> list[Regex[str]]:
    """Return patterns, because the collation of an order by a text ignores case.

    A pattern cannot have a NUL, and no stored text has one.
    """
    return [Regex(f"^{re.escape(one)}$") for one in texts if "\0" not in one]
