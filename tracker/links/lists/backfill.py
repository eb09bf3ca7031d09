"""Backfill of links that an earlier release has written: their words, UTM values and counts."""

import asyncio
from typing import Any, Final
from uuid import UUID

import pymongo

from tracker.links.counts.recount import LinkRecount
from tracker.links.destination import utm_of
from tracker.links.words import words_of
from tracker.loops import run_until
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.drivers import UNLIMITED
from tracker.stores.mongodb.order import OLDEST_FIRST
from tracker.stores.mongodb.paging import all_of

_TEXTS: Final = ("slug", "destination_url", "internal_name")


class LinkListBackfill:
    """The loop of a drain that stores words and UTM values, and then completes counts.

    So an account with counts has words.
    """

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._reads = mongodb.reads
        self.counts = LinkRecount(mongodb)

    async def run(self, stop: asyncio.Event) -> None:
        """Complete all accounts, then wait for `stop`, which cancels the work in progress."""
        await run_until(stop, self._complete_all())
        await stop.wait()

    async def _complete_all(self) -> None:
        for account_id in await self.counts.unfinished():
            await self.complete(account_id)

    async def complete(self, account_id: UUID) -> int:
        """Correct the links and counts of an account; return how many were wrong."""
        return await self._store_fields(account_id) + await self.counts.correct(account_id)

    async def _store_fields(self, account_id: UUID) -> int:
        """Store missing or outdated fields; return the number of changed links."""
        stored = 0
        for archived in (False, True):
            of_account = {"account_id": account_id, "archived": archived}
            pieces = all_of(self._reads, "links", of_account, OLDEST_FIRST, "by_account")
            async for links in pieces:
                updates = [one for link in links if (one := _update(link))]
                with pymongo.timeout(UNLIMITED):
                    stored += await run_updates(self._database, "links", updates)
        return stored


def _update(link: dict[str, Any]) -> dict[str, Any] | None:
    """Return the update of a link; None if it has its fields, as any link that changes now has."""
    words = words_of(*(link[name] for name in _TEXTS))
    fields = {**utm_of(link["destination_url"]), "words": words}
    if all(name in link and link[name] == value for name, value in fields.items()):
        return None
    return {"q": {name: link[name] for name in ("_id", "version")}, "u": {"$set": fields}}
