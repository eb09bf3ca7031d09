"""`last_click_at` of links: the last click of a person, within a minute.

Stored clicks wait in a drain's memory, and each link is written once a minute at most. Its version
stays, so copies do too. After a kill the newest clicks are read again.
"""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import pymongo

from tracker.loops import wait
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates, shared_id

STORE_SECONDS: Final = 60.0

MAX_LINKS: Final = 100_000
"""Links in memory, 20 MB. A batch that reaches it waits until they are written."""

_LINKS_PER_COMMAND: Final = 1000

_MISSED_CLICKS: Final = 1_000_000
"""The clicks that are read again: a minute of 16,000 a second."""


class LastClicks:
    """The newest clicks of links that a drain has stored, until the links have them."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._reads = mongodb.reads.with_binary_ids()
        self._newest: dict[bytes, datetime] = {}

    async def run(self, stop: asyncio.Event) -> None:
        await self.catch_up()
        while not await wait(stop, STORE_SECONDS):
            await self.store()

    async def add(self, clicks: Iterable[Mapping[str, Any]]) -> None:
        newest = self._newest
        for click in clicks:
            if click["bot"] is None and "test" not in click:
                link_id, at = click["link_id"], click["at"]
                before = newest.get(link_id)
                if before is None or before < at:
                    newest[link_id] = at
        if len(newest) >= MAX_LINKS:
            await self.store()

    async def store(self) -> None:
        """Write the links that wait now. If MongoDB fails, the rest goes on waiting."""
        newest = list(self._newest.items())
        for start in range(0, len(newest), _LINKS_PER_COMMAND):
            piece = newest[start : start + _LINKS_PER_COMMAND]
            updates = [
                {"q": {"_id": shared_id(one)}, "u": {"$max": {"last_click_at": at}}}
                for one, at in piece
            ]
            await run_updates(self._database, "links", updates)
            for one, at in piece:
                if self._newest.get(one) == at:
                    del self._newest[one]

    async def catch_up(self) -> None:
        """Add the newest stored clicks, which a killed drain may have had in memory."""
        stages: list[dict[str, Any]] = [
            {"$sort": {"_id": -1}},  # by time, with which ids begin
            {"$limit": _MISSED_CLICKS},
            {"$match": {"bot": None, "test": None}},
            {"$group": {"_id": "$link_id", "at": {"$max": "$at"}}},
        ]
        with pymongo.timeout(STORE_SECONDS):
            async for row in self._reads.aggregate_each("clicks", stages):
                await self.add([{"link_id": bytes(row["_id"]), "at": row["at"], "bot": None}])
