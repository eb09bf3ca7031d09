"""How many clicks of a limited link are stored, and the mark of links that are used up."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker.clock import now
from tracker.links.link import CachedLink
from tracker.stores.mongodb.database import MongoDB

_REMEMBERED: Final = 10_000
"""Marked links that a process remembers."""


class UsedClicks:
    """The used clicks in MongoDB: a link's rollups always equal its stored clicks."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._links = mongodb["links"]
        self._reads = mongodb.reads
        self._marked: set[tuple[bytes, int]] = set()

    async def find(self, accounts: Mapping[UUID, UUID]) -> dict[UUID, int]:
        """Return the stored clicks by link, opening ones too. `accounts` has each link's."""
        if not accounts:
            return {}
        ids = {"$in": list(accounts)}
        matching: dict[str, Any] = {"_id.account_id": {"$in": list({*accounts.values()})}}
        # The name of a zone follows. Release 1.0.0 may have left a part in another one, unused.
        matching |= {"_id.of": {"$gte": "link", "$lt": "link~"}, "_id.link_id": ids}
        opening = [{"$match": {"_id": ids}}, {"$project": {"clicks": "$opening_clicks"}}]
        stages: list[dict[str, Any]] = [
            {"$match": matching},
            {"$group": {"_id": ["$_id.link_id", "$_id.of"], "clicks": {"$sum": "$total.clicks"}}},
            {"$group": {"_id": {"$first": "$_id"}, "clicks": {"$max": "$clicks"}}},
            {"$unionWith": {"coll": "links", "pipeline": opening}},
            {"$group": {"_id": "$_id", "clicks": {"$sum": "$clicks"}}},
        ]
        rows = await self._reads.aggregate("rollups", stages, len(accounts), hint="by_account")
        return {row["_id"]: row["clicks"] for row in rows}

    async def mark(self, link: CachedLink) -> None:
        """Mark a used-up link, for lists, unless it has changed or MongoDB is away."""
        marked = link.id, link.version
        if marked in self._marked:
            return
        if len(self._marked) >= _REMEMBERED:
            self._marked.clear()
        self._marked.add(marked)
        of_link = {"_id": UUID(bytes=link.id), "version": link.version, "used_up_at": None}
        try:
            await self._links.update_one(of_link, {"$set": {"used_up_at": now()}})
        except PyMongoError:
            self._marked.discard(marked)
