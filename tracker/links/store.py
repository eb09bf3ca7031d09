"""Short links in MongoDB. Every write reaches Redis and the memory of all processes too.

MongoDB's unique index on (domain id, slug) decides races, not Redis.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from pymongo.errors import OperationFailure

from tracker.clock import now, now_ms
from tracker.errors import BadRequest, ErrorCode, NotFound
from tracker.ids import new_id, new_slug
from tracker.links.cache import LinkCache
from tracker.links.counts.counts import (
    CountedLink,
    add,
    change_in_pieces,
    difference,
    find_counts,
)
from tracker.links.destination import utm_of
from tracker.links.domain import namespace_of
from tracker.links.link import Link, LinkFields, cached_link
from tracker.links.options import check_options, without_defaults
from tracker.links.words import words_of
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import (
    DUPLICATE_KEY,
    as_document,
    as_struct,
    run_inserts,
    run_updates,
)
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.stores.redis import keys

_MAX_SLUG_ATTEMPTS = 5
"""Random slugs that are tried before the link is refused."""


LinkNumbers = dict[UUID, int]
_Stage = dict[str, Any]
InTransaction = Callable[[MongoSession, Sequence[Link]], Awaitable[None]]


class NewLink(LinkFields, frozen=True, kw_only=True):
    """A checked link to create. Without a `slug` it gets a random one.

    `created_at` is of a link that was created elsewhere.
    """

    slug: str | None
    created_at: datetime | None = None


class Revision(NamedTuple):
    """A link before and after a change."""

    before: Link
    after: Link


class Links:
    """The links in MongoDB. Every write is published to `cache`."""

    def __init__(self, mongodb: MongoDB, cache: LinkCache) -> None:
        self._database = mongodb.database
        self._links = mongodb["links"]
        self._pages = Pages(mongodb.reads, "links", Link)
        self._reader = mongodb.reads
        self._cache = cache

    async def create(self, new: NewLink) -> Link:
        """Store a new link and return it. Raises BadRequest if its slug or id is taken."""
        [link] = await self.create_all([new], at="")
        return link

    async def create_all(
        self,
        new: Sequence[NewLink],
        in_transaction: InTransaction | None = None,
        at: str = "links[{}].",
    ) -> list[Link]:
        """Store all links in one transaction, or none. Raises BadRequest for a taken slug or id."""
        for _ in range(_MAX_SLUG_ATTEMPTS):
            links = [_new(one, one.slug or new_slug()) for one in new]
            taken = await self._insert(links, in_transaction)
            if taken is None:
                await asyncio.gather(*map(self._publish_new, links))
                return links
            index, field = taken
            if new[index].slug or field != "slug":
                break
        raise _refused(f"{at.format(index)}{field}")

    async def _insert(
        self, links: Sequence[Link], in_transaction: InTransaction | None
    ) -> tuple[int, str] | None:
        """Return the index of a link and its field that is taken; None if all are stored."""
        rows = [_document(link) for link in links]

        async def insert(session: MongoSession) -> None:
            await run_inserts(self._database, self._links.name, rows, session)
            if in_transaction is not None:
                await in_transaction(session, links)
            # Last: from here to the commit, a change of the same part conflicts.
            await add(self._database, difference([], links), session)

        try:
            await run_in_transaction(self._database, insert)
        except OperationFailure as error:
            return _taken(error)
        return None

    async def has_slug(self, domain_id: UUID | None, slug: str) -> bool:
        """Return whether a link on the domain has the slug, even an archived one."""
        taken = {"domain_id": domain_id, "slug": slug}
        return await self._links.find_one(taken, ["_id"]) is not None

    async def find_slugs(self, domain_id: UUID, slugs: Collection[str]) -> set[str]:
        """Return which of the slugs links on the domain have, even archived ones."""
        taken = {"domain_id": domain_id, "slug": {"$in": list(slugs)}}
        return {row["slug"] for row in await self._reader.find("links", taken, ["slug"])}

    async def count_by_tag(self, account_id: UUID, tag_ids: Collection[UUID]) -> LinkNumbers:
        """Count links by tag, without archived ones."""
        kept = await find_counts(self._reader, account_id, tag_ids)
        if kept is not None:
            return {tag_id: kept[tag_id].of(archived=False) for tag_id in tag_ids}
        tagged = {"tags": {"$in": list(tag_ids)}}
        matching = {"account_id": account_id, **tagged, "archived": False}
        stages: list[_Stage] = [{"$match": matching}, {"$unwind": "$tags"}, {"$match": tagged}]
        return await self._count(stages, "$tags")

    async def count_by_domain(self, domain_ids: Collection[UUID]) -> LinkNumbers:
        """Count links by domain, without archived ones. 20,000 links take 20 ms."""
        matching = {"domain_id": {"$in": list(domain_ids)}, "archived": False}
        return await self._count([{"$match": matching}], "$domain_id")

    async def _count(self, stages: list[_Stage], field: str) -> LinkNumbers:
        group = {"$group": {"_id": field, "links": {"$sum": 1}}}
        rows = await self._reader.aggregate(self._links.name, [*stages, group])
        return {row["_id"]: row["links"] for row in rows}

    async def has_links(self, domain_id: UUID) -> bool:
        """Return whether the domain has links that are not archived, without counting them."""
        in_use = {"domain_id": domain_id, "archived": False}
        return await self._links.find_one(in_use, ["_id"]) is not None

    async def untag(self, account_id: UUID, tag_id: UUID) -> None:
        """Remove a tag from all links, even from archived ones."""

        def untagged(link: CountedLink) -> CountedLink:
            kept = [one for one in link.tags if one != tag_id]
            return msgspec.structs.replace(link, tags=kept)

        matching = {"account_id": account_id, "tags": tag_id}
        pull = {"$pull": {"tags": tag_id}}
        await change_in_pieces(self._database, matching, pull, untagged)

    async def change(self, link_id: UUID, fields: Mapping[str, Any]) -> Link:
        """Set checked `fields`, other than slug and domain; return the changed link.

        Raises NotFound if the link is missing or archived, else as `change_all` does.
        """
        link = await self.find(link_id)
        if link is None:
            raise NotFound("short link: not found")

        def checked(stored: Link) -> Mapping[str, Any]:
            if stored.archived:  # perhaps in the meantime
                raise NotFound("short link: not found")
            return fields

        [changed] = await self.change_all([link], checked)
        return changed

    async def change_all(
        self,
        links: Sequence[Link],
        fields_of: Callable[[Link], Mapping[str, Any]],
        in_transaction: Callable[[MongoSession, Sequence[Revision]], Awaitable[None]] | None = None,
    ) -> list[Link]:
        """Set the fields from `fields_of` on all links, archived ones too, in one transaction.

        `in_transaction` gets the changed links. Raises BadRequest if options exclude each other or
        an external id is taken, Unavailable without Redis, whose copies would be outdated.
        """
        await asyncio.gather(*(self._cache.begin_update(_name(link)) for link in links))

        async def revise(session: MongoSession) -> dict[UUID, Link]:
            stored = await self.find_all([link.id for link in links], session)
            revisions = [Revision(one, _revised(one, fields_of(one))) for one in stored.values()]
            changed = [one for one in revisions if one.after != one.before]
            updates = list(map(_update, changed))
            await run_updates(self._database, self._links.name, updates, session)
            before, after = [one.before for one in changed], [one.after for one in changed]
            if in_transaction is not None:
                await in_transaction(session, changed)
            await add(self._database, difference(before, after), session)
            return {one.after.id: one.after for one in revisions}

        try:
            revised = await run_in_transaction(self._database, revise)
        except OperationFailure as error:
            raise _refused(_taken(error)[1]) from None
        changed = [revised[link.id] for link in links if revised[link.id] != link]
        await asyncio.gather(*map(self._publish, changed))
        return [revised[link.id] for link in links]

    async def remove_all(
        self, links: Sequence[Link], in_transaction: Callable[[MongoSession], Awaitable[None]]
    ) -> None:
        """Delete links for ever, all that nobody has changed meanwhile. Their slugs are free then.

        Raises Unavailable without Redis, and BadRequest if one was changed; nothing is deleted.
        """
        await asyncio.gather(*(self._cache.begin_update(_name(link)) for link in links))
        unchanged = [{"_id": link.id, "version": link.version} for link in links]

        async def remove(session: MongoSession) -> None:
            if links:
                gone = await self._links.delete_many({"$or": unchanged}, session=session)
                if gone.deleted_count < len(links):
                    raise BadRequest("links: one was changed meanwhile")
            await in_transaction(session)
            await add(self._database, difference(links, []), session)

        await run_in_transaction(self._database, remove)
        await asyncio.gather(
            *(self._cache.changed(_name(link), None, link.version + 1) for link in links)
        )

    async def find(self, link_id: UUID) -> Link | None:
        """Return the link, even an archived one; None if there is none."""
        return await self._pages.by_id(link_id)

    async def by_external_id(self, account_id: UUID, external_id: str) -> Link | None:
        """Return the link, even an archived one, or one that was stored this moment."""
        wanted = {"account_id": account_id, "external_id": external_id}

        async def find(session: MongoSession) -> Link | None:
            row = await self._links.find_one(wanted, session=session, hint="by_external_id")
            return None if row is None else as_struct(Link, row)

        return await run_in_transaction(self._database, find)

    async def find_all(
        self, ids: Collection[UUID], session: MongoSession | None = None
    ) -> dict[UUID, Link]:
        """Return the existing links among `ids`, archived ones included, by id."""
        if session is None:
            return await self._pages.by_ids(ids)
        rows = self._links.find({"_id": {"$in": list(ids)}}, session=session)
        return {row["_id"]: as_struct(Link, row) async for row in rows}

    async def _publish_new(self, link: Link) -> None:
        cached = cached_link(link)
        if cached is not None:
            await self._cache.created(_name(link), cached)

    async def _publish(self, link: Link) -> None:
        await self._cache.changed(_name(link), cached_link(link), link.version)


def _taken(error: OperationFailure) -> tuple[int, str]:
    """Return the index of a refused write and the last field of the unique index.

    Raises any other error again.
    """
    if error.code != DUPLICATE_KEY or error.details is None:
        raise error
    return int(error.details["index"]), [*error.details["keyPattern"]][-1]


def _refused(field: str) -> BadRequest:
    within = "on this domain" if field.endswith("slug") else "in this account"
    return BadRequest(f"{field}: already taken {within}", code=ErrorCode.ALREADY_TAKEN)


def _name(link: Link) -> str:
    return keys.link(namespace_of(link.domain_id), link.slug)


def _document(link: Link) -> dict[str, Any]:
    """Return a link as stored: with its UTM values and words, for lists, and what it uses."""
    words = words_of(link.slug, link.destination_url, link.internal_name)
    fields = without_defaults(as_document(link))
    return {**fields, **utm_of(link.destination_url), "words": words}


def _revised(link: Link, fields: Mapping[str, Any]) -> Link:
    """Return the link with the fields. Raises BadRequest if options exclude each other."""
    revised = msgspec.structs.replace(link, **fields)
    check_options(revised)
    return link if revised == link else msgspec.structs.replace(revised, version=link.version + 1)


def _update(revision: Revision) -> dict[str, Any]:
    """Set what has changed, and the fields for lists, which a link of an earlier release lacks."""
    before, after = without_defaults(as_document(revision.before)), _document(revision.after)
    fields = {
        name: value for name, value in after.items() if name not in before or value != before[name]
    }
    unused = dict.fromkeys(before.keys() - after.keys(), "")
    if revision.before.max_clicks != revision.after.max_clicks:
        unused["used_up_at"] = ""  # until a visitor finds it used up again (`links/used_clicks`)
    return {"q": {"_id": after["_id"]}, "u": {"$set": fields, "$unset": unused}}


def _new(new: NewLink, slug: str) -> Link:
    given = {**msgspec.structs.asdict(new), "slug": slug, "created_at": new.created_at or now()}
    return Link(**given, id=new_id(), version=now_ms())
