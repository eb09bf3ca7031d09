"""Short links in MongoDB; every write also reaches Redis and the memory of all processes.

MongoDB's unique index on (domain's id, slug) decides races: one creator wins, whatever Redis holds.
A crash after the write to MongoDB heals by itself: in Redis a miss lives for seconds only, and the
copy of a link that is being changed expires (see `db/cache`).
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

import msgspec
from motor.motor_asyncio import AsyncIOMotorClientSession
from pymongo import ReturnDocument
from pymongo.errors import BulkWriteError, DuplicateKeyError

from tracker.clock import now, now_ms
from tracker.db import keys
from tracker.db.all_of import all_of
from tracker.db.connect import Database, LookUpDatabase
from tracker.db.documents import DUPLICATE_KEY, document, record, run_updates
from tracker.db.paging import NEWEST_FIRST, OLDEST_FIRST, Order, Pages, by_name
from tracker.db.reader import Reader
from tracker.db.transaction import Session, run_in_transaction
from tracker.errors import BadRequest, ErrorCode, NotFound
from tracker.ids import new_id, new_slug
from tracker.links.cache import LinkCache
from tracker.links.domain import namespace_of
from tracker.links.link import Link, target

_MAX_SLUG_ATTEMPTS = 5
"""Random slugs that are tried before a link without a slug is refused."""


class NewLink(msgspec.Struct, frozen=True, kw_only=True):
    """A checked request for a link. Without a `slug` it gets a random one."""

    account_id: UUID
    destination_url: str
    internal_name: str
    slug: str | None
    domain_id: UUID | None
    domain_name: str
    tags: list[UUID]
    active: bool = True


class LinkFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of the list of links. `search` ignores case in name, slug and destination."""

    tags: list[UUID] = []
    all_tags: bool = False
    search: str = ""
    active: bool | None = None
    archived: bool = False


LinkOrder = Literal["newest", "oldest", "name", "slug"]
"""The orders of the list of links; names and slugs are sorted ignoring case."""

_ORDERS: Final[dict[LinkOrder, Order]] = {
    "newest": NEWEST_FIRST,
    "oldest": OLDEST_FIRST,
    "name": by_name("internal_name"),
    "slug": by_name("slug"),
}


class Revision(NamedTuple):
    """A link before and after a change."""

    before: Link
    after: Link


class Links:
    """The stored links."""

    def __init__(self, database: Database, lists: LookUpDatabase, cache: LinkCache) -> None:
        self._database = database
        self._links = database["links"]
        self._pages = Pages(lists, "links", Link)
        self._reader = Reader(lists)
        self._cache = cache

    async def create(self, new: NewLink) -> Link:
        """Store a new link and return it. Raises BadRequest if its slug is taken on its domain."""
        tries = [new.slug] if new.slug else [new_slug() for _ in range(_MAX_SLUG_ATTEMPTS)]
        for slug in tries:
            link = _new(new, slug)
            try:
                await self._links.insert_one(document(link))
            except DuplicateKeyError:
                continue
            await self._publish(link)
            return link
        raise BadRequest("slug: already taken on this domain", code=ErrorCode.ALREADY_TAKEN)

    async def create_all(
        self,
        new: Sequence[NewLink],
        also: Callable[[Session, Sequence[Link]], Awaitable[None]] | None = None,
    ) -> list[Link]:
        """Store all links in one transaction, or none; return them. `also` is awaited in it.

        Raises BadRequest, naming the first such link, if a slug is taken on its domain.
        """
        for _ in range(_MAX_SLUG_ATTEMPTS):
            links = [_new(one, one.slug or new_slug()) for one in new]
            taken = await self._insert_all(links, also)
            if taken is None:
                await asyncio.gather(*map(self._publish, links))
                return links
            if new[taken].slug:
                break
        raise BadRequest(
            f"links[{taken}].slug: already taken on this domain", code=ErrorCode.ALREADY_TAKEN
        )

    async def _insert_all(
        self,
        links: Sequence[Link],
        also: Callable[[Session, Sequence[Link]], Awaitable[None]] | None,
    ) -> int | None:
        """Return the index of the first link whose slug is taken; None if all are stored."""
        rows = [document(link) for link in links]

        async def insert(session: AsyncIOMotorClientSession) -> None:
            await self._links.insert_many(rows, session=session)
            if also is not None:
                await also(session, links)

        async with await self._database.client.start_session() as session:
            try:
                # The driver tries again while another transaction holds one of the slugs.
                await session.with_transaction(insert)
            except BulkWriteError as error:
                failed = (error.details or {}).get("writeErrors", [{}])[0]
                if failed.get("code") != DUPLICATE_KEY:
                    raise
                return int(failed["index"])
        return None

    async def page(
        self,
        account_id: UUID,
        wanted: LinkFilter,
        page: int,
        page_size: int,
        order: LinkOrder = "newest",
    ) -> tuple[list[Link], int]:
        """Return one page of the links that the filter finds, and their total."""
        matching = {"account_id": account_id, **_matching(wanted)}
        return await self._pages.find(matching, page, page_size, _ORDERS[order])

    async def all_of(
        self, account_id: UUID, wanted: LinkFilter, order: LinkOrder = "newest"
    ) -> AsyncGenerator[list[Link], None]:
        """Yield all links that the filter finds, in pieces, as `db/all_of` does."""
        matching = {"account_id": account_id, **_matching(wanted)}
        async for rows in all_of(self._reader, self._links.name, matching, _ORDERS[order]):
            yield [record(Link, row) for row in rows]

    async def has_slug(self, domain_id: UUID | None, slug: str) -> bool:
        """Return whether a link on the domain has the slug, or had it before it was archived."""
        taken = {"domain_id": domain_id, "slug": slug}
        return await self._links.find_one(taken, ["_id"]) is not None

    async def has_links(self, domain_id: UUID) -> bool:
        """Return whether the domain has links that are not archived."""
        in_use = {"domain_id": domain_id, "archived": False}
        return await self._links.find_one(in_use, ["_id"]) is not None

    async def untag(self, account_id: UUID, tag_id: UUID) -> None:
        """Remove a tag from all links of its account."""
        await self._links.update_many(
            {"account_id": account_id, "tags": tag_id}, {"$pull": {"tags": tag_id}}
        )

    async def change(self, link_id: UUID, fields: Mapping[str, Any]) -> Link:
        """Set checked `fields`, other than slug and domain; return the changed link.

        - Raises NotFound if there is no such link, or it is archived.
        - Raises Unavailable if Redis is unavailable: its copy would outlive the change.
        """
        link = await self.find(link_id)
        if link is None:
            raise NotFound("short link: not found")
        await self._cache.begin_update(_name(link))
        row = await self._links.find_one_and_update(
            {"_id": link_id, "archived": False},
            {"$set": dict(fields), "$inc": {"version": 1}},
            return_document=ReturnDocument.AFTER,
        )
        if row is None:  # archived meanwhile
            raise NotFound("short link: not found")
        changed = record(Link, row)
        await self._publish(changed)
        return changed

    async def change_all(
        self,
        links: Sequence[Link],
        fields_of: Callable[[Link], Mapping[str, Any]],
        also: Callable[[Session, Sequence[Revision]], Awaitable[None]],
    ) -> list[Link]:
        """Set the checked fields that `fields_of` returns for each link, never slug or domain.

        All links change in one transaction, archived ones too, or none does. `also` is awaited in
        it with those that differ. Return all links as they are now, in the same order.

        - Raises what `fields_of` and `also` raise.
        - Raises Unavailable if Redis is unavailable: its copies would outlive the change.
        """
        await asyncio.gather(*(self._cache.begin_update(_name(link)) for link in links))

        async def revise(session: Session) -> dict[UUID, Link]:
            stored = await self.find_all([link.id for link in links], session)
            revisions = [Revision(one, _revised(one, fields_of(one))) for one in stored.values()]
            changed = [one for one in revisions if one.after != one.before]
            updates = list(map(_update, changed))
            await run_updates(self._database, self._links.name, updates, session)
            await also(session, changed)
            return {one.after.id: one.after for one in revisions}

        revised = await run_in_transaction(self._database, revise)
        changed = [revised[link.id] for link in links if revised[link.id] != link]
        await asyncio.gather(*map(self._publish, changed))
        return [revised[link.id] for link in links]

    async def find(self, link_id: UUID) -> Link | None:
        """Return the link, also if it is archived; None if there is none."""
        return next(iter(await self._pages.look_up([link_id])), None)

    async def find_all(
        self, ids: Collection[UUID], session: Session | None = None
    ) -> dict[UUID, Link]:
        """Return the links that exist among `ids`, archived ones included, by id."""
        if session is None:
            return {link.id: link for link in await self._pages.look_up(ids)}
        rows = self._links.find({"_id": {"$in": list(ids)}}, session=session)
        return {row["_id"]: record(Link, row) async for row in rows}

    async def _publish(self, link: Link) -> None:
        await self._cache.changed(_name(link), target(link), link.version)


def _name(link: Link) -> str:
    return keys.link(namespace_of(link.domain_id), link.slug)


def _revised(link: Link, fields: Mapping[str, Any]) -> Link:
    revised = msgspec.structs.replace(link, **fields)
    return link if revised == link else msgspec.structs.replace(revised, version=link.version + 1)


def _update(revision: Revision) -> dict[str, Any]:
    """Return the statement that stores a revision."""
    before, after = map(document, revision)
    fields = {name: value for name, value in after.items() if value != before[name]}
    return {"q": {"_id": after["_id"]}, "u": {"$set": fields}}


def _matching(wanted: LinkFilter) -> dict[str, Any]:
    matching: dict[str, Any] = {"archived": wanted.archived}
    if wanted.tags:
        matching["tags"] = {"$all" if wanted.all_tags else "$in": wanted.tags}
    if wanted.active is not None:
        matching["active"] = wanted.active
    if wanted.search:
        # A pattern, because $toLower changes only ASCII.
        text = {"$regex": re.escape(wanted.search), "$options": "i"}
        matching["$or"] = [{name: text} for name in ("internal_name", "slug", "destination_url")]
    return matching


def _new(new: NewLink, slug: str) -> Link:
    return Link(
        id=new_id(),
        account_id=new.account_id,
        internal_name=new.internal_name,
        slug=slug,
        destination_url=new.destination_url,
        domain_id=new.domain_id,
        domain_name=new.domain_name,
        active=new.active,
        archived=False,
        tags=new.tags,
        created_at=now(),
        version=now_ms(),
    )
