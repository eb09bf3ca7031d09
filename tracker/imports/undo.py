"""Undoing of an import: what it created, and nobody has changed or opened since, is removed."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from tracker.imports.plan import ImportedLink
from tracker.imports.store import Import, Imports
from tracker.imports.visits import ImportedVisits
from tracker.links.link import Link
from tracker.links.services import LinkServices
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_struct, run_updates
from tracker.stores.mongodb.order import OLDEST_FIRST
from tracker.stores.mongodb.paging import all_of
from tracker.stores.mongodb.transaction import MongoSession

_OF_ANOTHER: Final = "an earlier import has created it; its fields and total stay as set last"


class Undo:
    """Undoes imports, in chunks. A repeated one goes on with what is left."""

    def __init__(
        self, mongodb: MongoDB, imports: Imports, links: LinkServices, visits: ImportedVisits
    ) -> None:
        self._mongodb = mongodb
        self._imports = imports
        self._links = links
        self._visits = visits

    async def run(self, held: Import, stop: asyncio.Event) -> dict[str, Any] | None:
        """Undo an import; return the fields of its end, None if stopped before."""

        async def advance(session: MongoSession, counts: Mapping[str, int]) -> None:
            await self._imports.advance(held, {"attempts": 0}, counts, session=session)

        # First, because a link with clicks is left.
        while await self._visits.undo(held, advance):
            if stop.is_set():
                return None
        created = {"import_id": held.id}
        reads = self._mongodb.reads
        async for rows in all_of(reads, "imported_links", created, OLDEST_FIRST, "by_import"):
            if stop.is_set():
                return None
            await self._chunk(held, [as_struct(ImportedLink, row) for row in rows])
        of_another = {"import_id": held.id, "outcome": {"$in": ["same", "update"]}}
        told = {"$set": {"reason": _OF_ANOTHER, "field": ""}}
        await self._mongodb["import_rows"].update_many(of_another, told)
        kept = [one for one in held.created_tags if not await self._delete_tag(held, one)]
        return {"state": "undone", "created_tags": kept}

    async def _chunk(self, held: Import, known: Sequence[ImportedLink]) -> None:
        links = await self._links.links.find_all([one.id for one in known])
        clicks = await self._links.used_clicks.find(dict.fromkeys(links, held.account_id))
        opened = {one.id for one in links.values() if clicks.get(one.id, 0) > one.opening_clicks}
        reasons = {one: self._why_left(one, links.get(one.id), opened) for one in known}
        gone = [one.id for one, why in reasons.items() if not why]
        updates = [
            {
                "q": {"import_id": held.id, "link_id": one.id},
                "u": {
                    "$set": {"outcome": "left" if why else "removed", "reason": why, "field": ""},
                    "$unset": {"names": ""},
                },
            }
            for one, why in reasons.items()
        ]

        left = {"_id": {"$in": [one.id for one, why in reasons.items() if why and one.is_own]}}

        async def record(session: MongoSession) -> None:
            counts = {"removed": len(gone), "left": len(known) - len(gone)}
            await self._imports.advance(held, counts=counts, session=session)
            known_links = self._mongodb["imported_links"]
            await known_links.delete_many({"_id": {"$in": gone}}, session=session)
            await run_updates(self._mongodb.database, "import_rows", updates, session)
            without = {"$unset": {"opening_clicks": ""}}
            await self._mongodb["links"].update_many(left, without, session=session)

        await self._links.links.remove_all([links[one] for one in gone if one in links], record)

    def _why_left(self, known: ImportedLink, link: Link | None, opened: Collection[UUID]) -> str:
        if link is None:
            return ""
        if known.was_changed(link):
            return "changed since"
        return "opened since" if link.id in opened else ""

    async def _delete_tag(self, held: Import, tag_id: UUID) -> bool:
        """Delete a tag unless a link has it; return whether it is gone."""
        tagged = {"account_id": held.account_id, "tags": tag_id}
        if await self._mongodb["links"].find_one(tagged, ["_id"]):
            return False
        await self._links.tags.delete(tag_id)
        await self._links.links.untag(held.account_id, tag_id)  # of links tagged meanwhile
        return True
