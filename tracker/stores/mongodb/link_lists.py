"""The index of each list of links, by state and order."""

from collections.abc import Mapping
from typing import Final

from tracker.stores.mongodb.indexes import STATES

_ORDERS: Final = {
    "newest": "",
    "oldest": "",
    "name": "_in_order_of_names",
    "slug": "_in_order_of_slugs",
}

LINK_LISTS: Final[Mapping[str, str]] = {
    "newest": "by_account",
    "oldest": "by_account",
    "name": "in_order_of_names",
    "slug": "in_order_of_slugs",
    **{
        f"{state} {order}": f"{state}{index}"
        for state in STATES
        for order, index in _ORDERS.items()
    },
    "tags newest": "by_tag",
    "tags oldest": "by_tag",
    "tags name": "by_tag_in_order_of_names",
    "tags slug": "by_tag_in_order_of_slugs",
    "last_click": "in_order_of_last_clicks",
    "inactive last_click": "inactive_in_order_of_last_clicks",
    "tags last_click": "by_tag_in_order_of_last_clicks",
    "words": "by_words",
    "a slug": "in_order_of_slugs",
    "an external id": "by_external_id",
}
"""The indexes of the list of links (`links/lists/filter`)."""
