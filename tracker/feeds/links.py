"""The links that a filter by link and tag lets through."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tracker.db.reader import Reader
from tracker.feeds.filter import FeedFilter


async def wanted_links(
    reader: Reader, account_id: UUID, wanted: FeedFilter
) -> Sequence[UUID] | None:
    """Return the ids of the account's links that the filter names; None if it names none.

    Links of other accounts are left out here, so that a page does not even examine their clicks.
    Raises PyMongoError if MongoDB does not answer.
    """
    ids, tags = wanted.values.get("link"), wanted.values.get("tag")
    if ids is None and tags is None:
        return None
    matching: dict[str, Any] = {"account_id": account_id}
    if ids is not None:
        matching["_id"] = {"$in": list(ids)}
    if tags is not None:
        matching["tags"] = {"$all" if wanted.all_tags else "$in": list(tags)}
    return [row["_id"] for row in await reader.find("links", matching, ["_id"])]
