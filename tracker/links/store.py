"""Short links in MongoDB. Every write reaches Redis and the memory of all processes too.

MongoDB's unique indexes on (domain id, slug) and (domain id, names) decide races, not Redis.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from tracker.access.principal import Actor
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_slug
from tracker.links.cache import LinkCache, keys_of_link
from tracker.links.counts.counts import CountedLink, add, change_in_pieces, difference, find_counts
from tracker.links.domain import Domain
from tracker.links.link import (
    Committed,
    Link,
    NewLink,
    Revision,
    Tell,
    cached_link,
    document_of,
    link_of,
    revised_link,
    update_of,
)
from tracker.links.names.names import NameTaken, find_names, is_taken, names_told
from tracker.links.rules.choices import add_choices
from tracker.links.rules.versions import forget, keep_versions
from tracker.stores.batch import run_each
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_struct, run_inserts, run_updates
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.syntax.url_path import folded

_MAX_SLUG_ATTEMPTS = 5
"""Random slugs that are tried before the link is refused."""


LinkNumbers = dict[UUID, int]
_Stage = dict[str, Any]
InTransaction = Callable[[MongoSession, Sequence[Link]], Awaitable[None]]


class Links:
    """The links in MongoDB. Every write is published to `cache`, and `tell` is called in it."""

    def __init__(self, mongodb: MongoDB, cache: LinkCache, tell: Tell) -> None:
        self._tell = tell
        self._database = mongodb.database
        self._links = mongodb["links"]
        self._pages = Pages(mongodb.reads, "links", Link)
        self._reader = mongodb.reads
        self._cache = cache

    async def create(self, new: NewLink) -> Link:
        """Store a new link and return it. Raises BadRequest if its slug, path or id is taken."""
        return (await self.create_all([new], at=""))[0]

    async def create_all(
        self,
        new: Sequence[NewLink],
        in_transaction: InTransaction | None = None,
        at: str = "links[{}].",
    ) -> list[Link]:
        """Store all links in one transaction, or none.

        Raises BadRequest for a taken slug, path or id. `at` is where a link is in the request.
        """
        for _ in range(_MAX_SLUG_ATTEMPTS):
            links = [link_of(one, one.slug or new_slug()) for one in new]
            try:
                links, committed = await self._insert(links, in_transaction)
            except NameTaken as error:
                taken = error
            else:
                await run_each(self._publish_new, links)
                await committed()
                return links
            if taken.field != "slug" or new[taken.index].slug:
                break
        raise taken.explained(at)

    async def _insert(
        self, new: Sequence[Link], in_transaction: InTransaction | None
    ) -> tuple[list[Link], Committed]:
        """Store the links, and return them with their names. Raises NameTaken."""

        async def insert(session: MongoSession) -> tuple[list[Link], Committed]:
            names = await find_names(self._database, new, session)
            links = [replace(link, names=own) for link, own in zip(new, names, strict=True)]
            rows = [document_of(link) for link in links]
            with names_told(links):
                await run_inserts(self._database, self._links.name, rows, session)
            await add_choices(self._database, links, session)
            if in_transaction is not None:
                await in_transaction(session, links)
            committed = await self._tell([(None, link) for link in links], session)
            # Last: from here to the commit, a change of the same part conflicts.
            await add(self._database, difference([], links), session)
            return links, committed

        return await run_in_transaction(self._database, insert)

    async def has_slug(self, domain_id: UUID | None, slug: str) -> bool:
        """Return whether a link on the domain has the slug, even an archived one."""
        return await is_taken(self._database, domain_id, slug)

    async def find_names(self, domain: Domain | None, names: Collection[str]) -> set[str]:
        """Return which of the names lead to links on the domain, even to archived ones."""
        is_folded, domain_id = domain and not domain.case_sensitive, domain and domain.id
        forms = {name: folded(name) if is_folded else name for name in names}
        either = ({field: {"$in": list(forms.values())}} for field in ("slug", "names"))
        taken = {"$or": [{"domain_id": domain_id, **one} for one in either]}
        rows = await self._reader.find("links", taken, ["slug", "names"])
        held = {form for row in rows for form in (row["slug"], *row.get("names", ()))}
        return {name for name, form in forms.items() if form in held}

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
            return replace(link, tags=kept)

        matching = {"account_id": account_id, "tags": tag_id}
        pull = {"$pull": {"tags": tag_id}}
        await change_in_pieces(self._database, matching, pull, untagged)

    async def change(
        self,
        link_id: UUID,
        fields: Mapping[str, Any] | Callable[[Link], Mapping[str, Any]],
        actor: Actor | None = None,
    ) -> Link:
        """Set checked `fields`, other than slug and domain; return the changed link.

        They may follow from what is stored. Raises NotFound if the link is missing or archived,
        else as `change_all` or they do.
        """
        link = await self.find(link_id)
        if link is None:
            raise NotFound("short link: not found")

        def checked(stored: Link) -> Mapping[str, Any]:
            if stored.archived:  # perhaps in the meantime
                raise NotFound("short link: not found")
            return fields(stored) if callable(fields) else fields

        [changed] = await self.change_all([link], checked, actor=actor)
        return changed

    async def change_all(
        self,
        links: Sequence[Link],
        fields_of: Callable[[Link], Mapping[str, Any]],
        in_transaction: Callable[[MongoSession, Sequence[Revision]], Awaitable[None]] | None = None,
        actor: Actor | None = None,
    ) -> list[Link]:
        """Set the fields from `fields_of` on all links, archived ones too, in one transaction.

        `in_transaction` gets the changed links, and `actor` may have changed rules. Raises
        BadRequest if options exclude each other or an external id is taken, Unavailable without
        Redis, whose copies would be outdated.
        """
        names = [name for link in links for name in _keys(link)]
        await run_each(self._cache.begin_update, names)

        async def revise(session: MongoSession) -> tuple[dict[UUID, Revision], Committed]:
            stored = await self.find_all([link.id for link in links], session)
            revised = [Revision(one, revised_link(one, fields_of(one))) for one in stored.values()]
            revisions = [await self._renamed(one, session) for one in revised]
            changed = [one for one in revisions if one.after != one.before]
            before, after = [one.before for one in changed], [one.after for one in changed]
            with names_told(after):
                updates = list(map(update_of, changed))
                await run_updates(self._database, self._links.name, updates, session)
            await keep_versions(self._database, changed, actor, session)
            if in_transaction is not None:
                await in_transaction(session, changed)
            committed = await self._tell(changed, session)
            await add(self._database, difference(before, after), session)
            return {one.after.id: one for one in revisions}, committed

        try:
            revised, committed = await run_in_transaction(self._database, revise)
        except NameTaken as taken:
            raise taken.explained() from None
        changed = [revised[link.id] for link in links if revised[link.id].after != link]
        await run_each(self._publish, changed)
        await committed()
        return [revised[link.id].after for link in links]

    async def _renamed(self, revision: Revision, session: MongoSession) -> Revision:
        """Return the revision with the names that its paths need. Raises NameTaken."""
        before, after = revision
        if after.paths == before.paths:
            return revision
        # Only a write conflicts with a domain that begins to ignore case.
        domain, update = {"_id": after.domain_id}, {"$inc": {"version": 1}}
        await self._database["domains"].update_one(domain, update, session=session)
        [names] = await find_names(self._database, [after], session)
        return Revision(before, replace(after, names=names))

    async def remove_all(
        self, links: Sequence[Link], in_transaction: Callable[[MongoSession], Awaitable[None]]
    ) -> None:
        """Delete links for ever, all that nobody has changed meanwhile. Their slugs are free then.

        Raises Unavailable without Redis, and BadRequest if one was changed; nothing is deleted.
        """
        names = [name for link in links for name in _keys(link)]
        await run_each(self._cache.begin_update, names)
        unchanged = [{"_id": link.id, "version": link.version} for link in links]

        async def remove(session: MongoSession) -> None:
            if links:
                gone = await self._links.delete_many({"$or": unchanged}, session=session)
                if gone.deleted_count < len(links):
                    raise BadRequest("links: one was changed meanwhile")
            await in_transaction(session)
            await forget(self._database, links, session)
            await add(self._database, difference(links, []), session)

        await run_in_transaction(self._database, remove)
        keys = [(name, link.version + 1) for link in links for name in _keys(link)]
        await asyncio.gather(*(self._cache.changed(name, None, version) for name, version in keys))

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
            await asyncio.gather(*(self._cache.created(name, cached) for name in _keys(link)))

    async def _publish(self, revision: Revision) -> None:
        link, names = revision.after, _keys(revision.after)
        value, lost = cached_link(link), set(_keys(revision.before)).difference(names)
        await asyncio.gather(
            *(self._cache.changed(name, value, link.version) for name in names),
            # Another link may have it by now, of an older version.
            *map(self._cache.begin_update, lost),
        )


def _keys(link: Link) -> list[str]:
    return keys_of_link({"domain_id": link.domain_id, "slug": link.slug, "names": link.names})
