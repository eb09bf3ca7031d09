"""Short links in MongoDB, the record; every write also reaches Redis and all processes' memory.

MongoDB's unique index on (domain, slug) decides races: one creator wins, whatever Redis holds.
A crash after the write to MongoDB heals by itself: Redis remembers a miss for seconds only, and
forgets the copy of a link that is being changed (see `db/cache`).
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from tracker.clock import now, now_ms
from tracker.db import keys
from tracker.db.connect import Database
from tracker.db.documents import document, record
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_id, new_slug
from tracker.links.cache import LinkCache
from tracker.links.link import Link, target

_SLUG_TRIES = 5


class NewLink(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request for a link. `slug` None: a random one."""

    account_id: UUID
    destination_url: str
    internal_name: str
    slug: str | None
    domain_id: UUID | None
    domain_name: str
    tags: list[UUID]


class Links:
    def __init__(self, database: Database, cache: LinkCache) -> None:
        self._links = database["links"]
        self._cache = cache

    async def create(self, new: NewLink) -> Link:
        """Raises BadRequest if the slug is taken on its domain."""
        tries = [new.slug] if new.slug else [new_slug() for _ in range(_SLUG_TRIES)]
        for slug in tries:
            link = _new(new, slug)
            try:
                await self._links.insert_one(document(link))
            except DuplicateKeyError:
                continue
            await self._tell(link)
            return link
        raise BadRequest("slug: already taken on this domain")

    async def change(self, link_id: UUID, fields: Mapping[str, Any]) -> Link:
        """Set checked `fields`, of those that visitors do not find the link by.

        Raises NotFound, and Unavailable if Redis is away: its copy would outlive the change.
        """
        link = await self.find(link_id)
        if link is None:
            raise NotFound("short link: not found")
        await self._cache.changing(keys.link(link.domain_name, link.slug))
        row = await self._links.find_one_and_update(
            {"_id": link_id},
            {"$set": dict(fields), "$inc": {"version": 1}},
            return_document=ReturnDocument.AFTER,
        )
        changed = record(Link, row)
        await self._tell(changed)
        return changed

    async def find(self, link_id: UUID) -> Link | None:
        row = await self._links.find_one({"_id": link_id})
        return None if row is None else record(Link, row)

    async def _tell(self, link: Link) -> None:
        name = keys.link(link.domain_name, link.slug)
        await self._cache.changed(name, target(link), link.version)


def _new(new: NewLink, slug: str) -> Link:
    return Link(
        id=new_id(),
        account_id=new.account_id,
        internal_name=new.internal_name,
        slug=slug,
        destination_url=new.destination_url,
        domain_id=new.domain_id,
        domain_name=new.domain_name,
        active=True,
        archived=False,
        tags=new.tags,
        created_at=now(),
        version=now_ms(),
    )
