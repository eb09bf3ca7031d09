"""The filters and orders of the list of links, as conditions, sort keys and named indexes. Pure.

Clients' text is always a value in a condition, never an operator or a field name.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

import msgspec
from bson import Regex
from pymongo import DESCENDING

from tracker.links.utm import NO_VALUE
from tracker.links.words import beginnings_of, begun_url, words_of_utm
from tracker.stores.mongodb.link_lists import LINK_LISTS
from tracker.stores.mongodb.order import BY_NAME, NEWEST_FIRST, OLDEST_FIRST, Order, by_name

LinkState = Literal["scheduled", "expired", "used_up", "protected"]


class LinkFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of links. `search` is for words (`links/words`). `slug` and `external_id` are exact.

    `state` is of their windows, at the moment `at`, or that they have a password.
    """

    tags: list[UUID] = []
    all_tags: bool = False
    search: str = ""
    slug: str | None = None
    external_id: str | None = None
    active: bool | None = None
    archived: bool = False
    state: LinkState | None = None
    at: datetime = datetime.min
    utm: Mapping[str, Sequence[str]] = {}


LinkOrder = Literal["newest", "oldest", "name", "slug", "last_click"]
"""The orders of the list of links; names and slugs are sorted ignoring case."""

ORDERS: Final[dict[LinkOrder, Order]] = {
    "newest": NEWEST_FIRST,
    "oldest": OLDEST_FIRST,
    "name": by_name("internal_name"),
    "slug": by_name("slug"),
    "last_click": Order(DESCENDING, "last_click_at"),
}


def is_counted(wanted: LinkFilter) -> bool:
    """Return whether the links that pass are a kept count: by state, and by one tag at most."""
    others = has_words(wanted) or wanted.slug or wanted.external_id is not None or wanted.state
    return len(wanted.tags) < 2 and not others


def has_words(wanted: LinkFilter) -> bool:
    return bool(wanted.search or wanted.utm)


def is_of_one_word(wanted: LinkFilter) -> bool:
    """Return whether one condition of words is all, so that the index of words counts the links."""
    others = [wanted.tags, wanted.slug, wanted.external_id, wanted.state, begun_url(wanted.search)]
    has_others = any(others) or wanted.active is not None
    return not has_others and len(word_conditions(wanted, NEWEST_FIRST)) == 1


class ListPlan(NamedTuple):
    """How a list is read. Its `hint` names an index, which has the order unless it is by words."""

    matching: Mapping[str, Any]
    order: Order
    hint: str


def plan_of(
    account_id: UUID, wanted: LinkFilter, order: LinkOrder, leading: int | None = None
) -> ListPlan:
    """Return the plan of a list. `leading`: look this word condition up, and sort the matches."""
    by = ORDERS[order] if wanted.slug is None else ORDERS[order]._replace(collation=BY_NAME)
    if wanted.external_id is not None:  # of one link at most, and compared with its case
        by = NEWEST_FIRST
    matching = {"account_id": account_id, **_conditions(wanted, by, leading)}
    return ListPlan(matching, by, LINK_LISTS[_index_of(wanted, order, leading)])


def _index_of(wanted: LinkFilter, order: LinkOrder, leading: int | None) -> str:
    if leading is not None:
        return "words"
    if wanted.external_id is not None:
        return "an external id"
    if wanted.slug is not None:
        return "a slug"
    if wanted.active is False:  # even with a tag: few links are inactive
        return f"inactive {order}"
    if wanted.state is not None:
        # Without an index of the order by last clicks: as these links are few, they are sorted.
        return f"{wanted.state} {'newest' if order == 'last_click' else order}"
    return f"tags {order}" if wanted.tags else order


def _conditions(wanted: LinkFilter, order: Order, leading: int | None) -> dict[str, Any]:
    """Return the conditions of a filter for a list in an order.

    `leading` is the condition that the index of words looks up. Without it, each link is filtered
    in the list's order: 2 µs by the fields of its UTM values, up to 30 by its words.
    """
    matching: dict[str, Any] = {"archived": wanted.archived}
    if wanted.tags:
        matching["tags"] = {"$all" if wanted.all_tags else "$in": wanted.tags}
    if wanted.active is not None:
        matching["active"] = wanted.active
    if wanted.state == "scheduled":
        matching["starts_at"] = {"$gt": wanted.at}
    if wanted.state == "expired":
        matching["expires_at"] = {"$lte": wanted.at}
    if wanted.state == "used_up":
        matching["used_up_at"] = {"$exists": True}
    if wanted.state == "protected":
        matching["password_hash"] = {"$exists": True}
    if wanted.slug is not None:
        # The collation lets the index find it. The pattern excludes other cases.
        matching["slug"] = {"$eq": wanted.slug, "$regex": f"^{re.escape(wanted.slug)}$"}
    if wanted.external_id is not None:
        matching["external_id"] = wanted.external_id
    if leading is None:
        filters = _of_utm_fields(wanted) + _of_search(wanted)
    else:
        others = word_conditions(wanted, order)
        matching |= others.pop(leading)
        # The double negation keeps MongoDB from an index for these words.
        filters = [{"$nor": [{"words": {"$nin": one["words"]["$in"]}}]} for one in others]
    filters += _of_url(wanted)
    return matching | ({"$and": filters} if filters else {})


def word_conditions(wanted: LinkFilter, order: Order) -> list[dict[str, Any]]:
    """Return the conditions of words, all of which a link of the list matches."""
    words = [words_of_utm(*one) for one in wanted.utm.items()]
    # An index of another collation has no texts to compare, but its keys can match patterns.
    exactly = list if order.collation is None else _exactly
    return [{"words": {"$in": exactly(one)}} for one in words] + _of_search(wanted)


def _of_utm_fields(wanted: LinkFilter) -> list[dict[str, Any]]:
    return [
        {name: {"$in": [*_exactly(values), *([None] if NO_VALUE in values else [])]}}
        for name, values in wanted.utm.items()
    ]


def _of_search(wanted: LinkFilter) -> list[dict[str, Any]]:
    if not wanted.search:
        return []
    begun = [{"words": {"$in": [one]}} for one in beginnings_of(wanted.search)]
    return begun or [{"words": {"$in": []}}]  # without a word nothing is found


def _of_url(wanted: LinkFilter) -> list[dict[str, Any]]:
    url = begun_url(wanted.search)
    return [] if url is None else [{"destination_url": url}]


def _exactly(texts: Sequence[str]) -> list[Regex[str]]:
    """Return patterns, because the collation of an order by a text ignores case.

    A pattern cannot have a NUL, and no stored text has one.
    """
    return [Regex(f"^{re.escape(one)}$") for one in texts if "\0" not in one]
