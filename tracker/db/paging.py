"""One page of a collection, newest first or in another order."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pymongo import ASCENDING, DESCENDING
from pymongo.collation import Collation, CollationStrength

from tracker.db.all_rows import all_rows
from tracker.db.connect import Collection

BY_NAME: Final = Collation("en", strength=CollationStrength.SECONDARY, numericOrdering=True)
"""The order of names for people: upper and lower case do not differ, and 9 comes before 10. Only
indexes with this collation have it."""


class Order(NamedTuple):
    """The order of a list: fields with their directions, and the collation of texts."""

    fields: tuple[tuple[str, int], ...]
    collation: Collation | None = None


_TOTAL: Final = "all matches"
"""The field with the number of matches. No stored field has a space in its name."""

# Ids are UUIDs of version 7, so their order is that of creation, with a tie-break.
NEWEST_FIRST: Final = Order((("_id", DESCENDING),))
OLDEST_FIRST: Final = Order((("_id", ASCENDING),))


def by_name(field: str) -> Order:
    """Return the order by the names in `field`, oldest first where they are equal."""
    return Order(((field, ASCENDING), ("_id", ASCENDING)), BY_NAME)


async def page_of(
    collection: Collection,
    matching: Mapping[str, Any],
    page: int,
    page_size: int,
    order: Order = NEWEST_FIRST,
) -> tuple[list[dict[str, Any]], int]:
    """Return the documents of the 1-based `page`, and the number of matches in total.

    Both are asked for at once: to ask twice costs an eighth of what a list costs altogether.
    """
    count = [{"$match": matching}, {"$count": _TOTAL}]
    stages: list[Mapping[str, Any]] = [
        {"$match": matching},
        {"$sort": dict(order.fields)},
        {"$skip": (page - 1) * page_size},
        {"$limit": page_size},
        {"$unionWith": {"coll": collection.name, "pipeline": count}},
    ]
    rows = await all_rows(collection, stages, collation=order.collation)
    total = rows.pop()[_TOTAL] if rows and _TOTAL in rows[-1] else 0
    return rows, total
