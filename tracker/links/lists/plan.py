"""The condition and the named index of a list of links, for each filter and order. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder, conditions
from tracker.stores.mongodb.indexes import LINK_LISTS
from tracker.stores.mongodb.order import BY_NAME, Order


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
    matching = {"account_id": account_id, **conditions(wanted, by, leading)}
    return ListPlan(matching, by, LINK_LISTS[_index_of(wanted, order, leading)])


def _index_of(wanted: LinkFilter, order: LinkOrder, leading: int | None) -> str:
    if leading is not None:
        return "words"
    if wanted.slug is not None:
        return "a slug"
    if wanted.active is False:  # even with a tag: few links are inactive
        return f"inactive {order}"
    return f"tags {order}" if wanted.tags else order
