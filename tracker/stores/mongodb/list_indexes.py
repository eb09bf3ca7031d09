"""The index of each list: without a name MongoDB would try all that begin with the same field.

It would try them on as many documents as the account has.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from tracker.stores.mongodb.indexes import INDEXES

LISTS: Final[Mapping[str, str]] = dict.fromkeys(
    (
        *("api_keys", "audit", "domains", "event_configs", "invitations", "members"),
        *("refused_postbacks", "shares", "tags", "views", "webhooks"),
    ),
    "by_account",
)
"""The index of each list whose filters are few, by collection."""

LINK_LISTS: Final[Mapping[str, str]] = {
    "newest": "by_account",
    "oldest": "by_account",
    "name": "in_order_of_names",
    "slug": "in_order_of_slugs",
    "inactive newest": "inactive",
    "inactive oldest": "inactive",
    "inactive name": "inactive_in_order_of_names",
    "inactive slug": "inactive_in_order_of_slugs",
    "tags newest": "by_tag",
    "tags oldest": "by_tag",
    "tags name": "by_tag_in_order_of_names",
    "tags slug": "by_tag_in_order_of_slugs",
    "words": "by_words",
    "a slug": "in_order_of_slugs",
}
"""The indexes of the list of links (`links/lists/plan`)."""


def has_ids(collection: str, name: str) -> bool:
    """Return whether the last field of an index of the table is the ids of documents."""
    return bool(_fields(collection, name)[-1] == "_id")


def has_fields(collection: str, name: str, fields: Iterable[str]) -> bool:
    """Return whether an index of the table has all these fields."""
    return set(fields) <= set(_fields(collection, name))


def _fields(collection: str, name: str) -> list[str]:
    fields = {one.document["name"]: list(one.document["key"]) for one in INDEXES[collection]}
    return fields[name]
