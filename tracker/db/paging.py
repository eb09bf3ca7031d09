"""One page of a collection, newest first or in another order; its documents by their ids."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar
from uuid import UUID

import msgspec
from bson.binary import UuidRepresentation
from pymongo import ASCENDING, DESCENDING
from pymongo.collation import Collation, CollationStrength

from tracker.db.connect import LookUpDatabase
from tracker.db.documents import StoredId, record, with_stored_ids
from tracker.db.reader import lost_connections

Listed = TypeVar("Listed", bound=msgspec.Struct)

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


class Pages(Generic[Listed]):
    """The lists of one collection, read from the primary as a majority has acknowledged it.

    `kind` is the struct of its documents, and `read` makes it of one, if `record` does not. Fields
    of type `Any` must not hold ids: they are read as `Binary`, and only typed fields become UUIDs.
    """

    def __init__(
        self,
        database: LookUpDatabase,
        collection: str,
        kind: type[Listed],
        read: Callable[[dict[str, Any]], Listed] | None = None,
    ) -> None:
        # 25 links take 92 µs to decode and convert. If the driver makes the UUIDs, in Python, it
        # is 165.
        options = database.codec_options.with_options(
            uuid_representation=UuidRepresentation.UNSPECIFIED
        )
        self._collection = database.get_collection(collection, codec_options=options)
        self._read = read or partial(record, kind)

    async def find(
        self,
        matching: Mapping[str, Any],
        page: int,
        page_size: int,
        order: Order = NEWEST_FIRST,
    ) -> tuple[list[Listed], int]:
        """Return what is on the 1-based `page`, and the number of matches in total.

        Both are asked for at once: to ask twice costs an eighth of what a list costs altogether.
        Raises PyMongoError if MongoDB fails or does not answer in time.
        """
        stages = self._stages(with_stored_ids(matching), page, page_size, order)
        with lost_connections():
            found = await self._collection.aggregate(
                stages, collation=order.collation, allowDiskUse=True, batchSize=page_size + 2
            )
            rows = await found.to_list()
        total = rows.pop()[_TOTAL] if rows and _TOTAL in rows[-1] else 0
        return list(map(self._read, rows)), total

    async def look_up(self, ids: Collection[UUID]) -> list[Listed]:
        """Return what has one of these ids, in any order. Raises as `find` does."""
        wanted = [StoredId(one.bytes) for one in ids]
        with lost_connections():
            found = self._collection.find({"_id": {"$in": wanted}})
            rows = await found.batch_size(len(wanted) + 1).to_list()
        return list(map(self._read, rows))

    def _stages(
        self, matching: Mapping[str, Any], page: int, page_size: int, order: Order
    ) -> list[Mapping[str, Any]]:
        count = [{"$match": matching}, {"$count": _TOTAL}]
        return [
            {"$match": matching},
            {"$sort": dict(order.fields)},
            {"$skip": (page - 1) * page_size},
            {"$limit": page_size},
            {"$unionWith": {"coll": self._collection.name, "pipeline": count}},
        ]
