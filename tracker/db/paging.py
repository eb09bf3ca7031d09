"""One page of a collection, newest first."""

from collections.abc import Mapping
from typing import Any

from tracker.db.connect import Collection


async def page_of(
    collection: Collection, matching: Mapping[str, Any], page: int, page_size: int
) -> tuple[list[dict[str, Any]], int]:
    """Return the documents of the 1-based `page`, and the number of matches in total.

    Ids are UUIDs of version 7, so their order is that of creation, with a tie-break.
    """
    total = await collection.count_documents(dict(matching))
    rows = collection.find(matching).sort("_id", -1).skip((page - 1) * page_size).limit(page_size)
    return [row async for row in rows], total
