"""Undoing of an import: what it created and nobody has changed or opened since is removed."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from tracker.clock import now
from tracker.imports.store import Import, Imports
from tracker.links.link import Link
from tracker.links.services import LinkServices
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.transaction import MongoSession

_LINKS_PER_CHUNK: Final = 200


class Undo:
    """Undoes imports, in chunks. A repeated one goes on with what is left."""

    def __init__(self, mongodb: MongoDB, imports: Imports, links: LinkServices) -> None:
        self._mongodb = mongodb
        self._imports = imports
        self._links = links

    async def run(self, held: Import, stop: asyncio.Event) -> None:
        after: dict[str, Any] = {}
        while rows := await self._known(held, after):
            if stop.is_set():
                await self._imports.advance(held, {"leased_until": now()})
                return
            after = {"_id": {"$gt": rows[-1]["_id"]}}
            await self._chunk(held, rows)
        kept = [one for one in held.created_tags if not await self._delete_tag(held, one)]
        await self._imports.advance(held, {"state": "undone", "created_tags": kept})

    async def _known(self, held: Import, after: dict[str, Any]) -> list[dict[str, Any]]:
        found = self._mongodb["imported_links"].find({"import_id": held.id, **after})
        return await found.sort("_id", 1).limit(_LINKS_PER_CHUNK).to_list(None)

    async def _chunk(self, held: Import, rows: Sequence[dict[str, Any]]) -> None:
        links = await self._links.links.find_all([row["_id"] for row in rows])
        reasons = await asyncio.gather(
            *(self._why_left(row, links.get(row["_id"])) for row in rows)
        )
        left = {row["_id"]: why for row, why in zip(rows, reasons, strict=True) if why}
        removed = [link for link in links.values() if link.id not in left]
        numbers = {row["_id"]: row["number"] for row in rows if row["by"] == held.id}
        updates = [
            {
                "q": {"import_id": held.id, "number": number},
                "u": {
                    "$set": {
                        "outcome": "left" if link_id in left else "removed",
                        "field": "",
                        "reason": left.get(link_id, ""),
                        "names": [],
                    }
                },
            }
            for link_id, number in numbers.items()
        ]

        async def record(session: MongoSession) -> None:
            counts = {"removed": len(rows) - len(left), "left": len(left)}
            await self._imports.advance(held, counts=counts, session=session)
            gone = [row["_id"] for row in rows if row["_id"] not in left]
            matching = {"_id": {"$in": gone}}
            await self._mongodb["imported_links"].delete_many(matching, session=session)
            await run_updates(self._mongodb.database, "import_rows", updates, session)

        await self._links.links.remove_all(removed, record)

    async def _why_left(self, row: dict[str, Any], link: Link | None) -> str:
        if link is None:
            return ""
        if link.version != row["version"]:
            return "changed since"
        if row["by"] != row["import_id"]:
            return "updated by a later import"
        click = await self._mongodb["clicks"].find_one({"link_id": link.id}, ["_id"])
        return "opened since" if click else ""

    async def _delete_tag(self, held: Import, tag_id: UUID) -> bool:
        """Delete a tag unless a link has it; return whether it is gone."""
        tagged = {"account_id": held.account_id, "tags": tag_id}
        if await self._mongodb["links"].find_one(tagged, ["_id"], hint="by_tag"):
            return False
        await self._links.tags.delete(tag_id)
        # Links that were tagged with it meanwhile.
        await self._links.links.untag(held.account_id, tag_id)
        return True
