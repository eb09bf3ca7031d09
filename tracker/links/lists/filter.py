"""The filters and orders of the list of links, as conditions and sort keys of MongoDB. Pure.

Clients' text is always a value in a condition, never an operator or a field name.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from bson import Regex

from tracker.links.utm import NO_VALUE
from tracker.links.words import first_word, found_by
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


def conditions(wanted: LinkFilter, has_words: bool = True) -> dict[str, Any]:
    """Return the conditions of a filter, also for links whose words no drain has stored yet."""
    matching: dict[str, Any] = {"archived": wanted.archived}
    if wanted.tags:
        matching["tags"] = {"$all" if wanted.all_tags else "$in": wanted.tags}
    if wanted.active is not None:
        matching["active"] = wanted.active
    if wanted.slug is not None:
        # The collation lets the index find it. The pattern excludes other cases.
        matching["slug"] = {"$eq": wanted.slug, "$regex": f"^{re.escape(wanted.slug)}$"}
    for name, values in wanted.utm.items():
        absent = [None] if NO_VALUE in values else []
        matching[name] = {"$in": [*map(_exactly, values), *absent]}
    words = _words(wanted)
    if words is None:
        return matching
    if has_words or words == _NONE:
        return matching | words
    return matching | {"$or": [words, _without_words(wanted)]}


def is_by_words(wanted: LinkFilter) -> bool:
    """Return whether the index of words leads to the links."""
    return _words(wanted) is not None


def _words(wanted: LinkFilter) -> dict[str, Any] | None:
    if wanted.search:
        return found_by(wanted.search) or _NONE
    for values in wanted.utm.values():
        words = [one for value in values if (one := first_word(value))]
        if NO_VALUE not in values and len(words) == len(values):
            return {"words": {"$in": list(map(_exactly, words))}}
    return None


def _without_words(wanted: LinkFilter) -> dict[str, Any]:
    """Return the condition of links without stored words: each word may begin anywhere."""
    if not wanted.search:
        return {"words": None}
    texts = [Regex(re.escape(one), re.IGNORECASE) for one in wanted.search.split()]
    fields = ("internal_name", "slug", "destination_url")
    return {"words": None, "$and": [{"$or": [{name: one} for name in fields]} for one in texts]}


def is_counted(wanted: LinkFilter) -> bool:
    """Return whether the links that pass are a kept count: by state, and by one tag at most."""
    return len(wanted.tags) < 2 and not (wanted.search or wanted.slug or wanted.utm)


def order_of(wanted: LinkFilter, order: LinkOrder) -> Order:
    """Return the order of a page. A filter by slug needs the collation of the slug index."""
    return ORDERS[order] if wanted.slug is None else ORDERS[order]._replace(collation=BY_NAME)


def _exactly(text: str) -> Regex[str]:
    # A pattern, because the collation of the order by name ignores case.
    return Regex(f"^{re.escape(text)}$")
