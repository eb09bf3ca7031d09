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
from tracker.stores.mongodb.paging import BY_NAME, NEWEST_FIRST, OLDEST_FIRST, Order, by_name


class LinkFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of links. `search` ignores case in name, slug and destination; `slug` is exact."""

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


def conditions(wanted: LinkFilter) -> dict[str, Any]:
    matching: dict[str, Any] = {"archived": wanted.archived}
    if wanted.tags:
        matching["tags"] = {"$all" if wanted.all_tags else "$in": wanted.tags}
    if wanted.active is not None:
        matching["active"] = wanted.active
    if wanted.slug is not None:
        # The collation lets the index find it. The pattern excludes other cases.
        matching["slug"] = {"$eq": wanted.slug, "$regex": f"^{re.escape(wanted.slug)}$"}
    if wanted.search:
        # A pattern, because $toLower changes only ASCII.
        text = {"$regex": re.escape(wanted.search), "$options": "i"}
        matching["$or"] = [{name: text} for name in ("internal_name", "slug", "destination_url")]
    for name, values in wanted.utm.items():
        absent = [None] if NO_VALUE in values else []
        matching[name] = {"$in": [*map(_exactly, values), *absent]}
    return matching


def is_counted(wanted: LinkFilter) -> bool:
    """Return whether the links that pass are a kept count: by state, and by one tag at most."""
    return len(wanted.tags) < 2 and not (wanted.search or wanted.slug or wanted.utm)


def order_of(wanted: LinkFilter, order: LinkOrder) -> Order:
    """Return the order of a page. A filter by slug needs the collation of the slug index."""
    return ORDERS[order] if wanted.slug is None else ORDERS[order]._replace(collation=BY_NAME)


def _exactly(text: str) -> Regex[str]:
    # A pattern, because the collation of the order by name ignores case.
    return Regex(f"^{re.escape(text)}$")
