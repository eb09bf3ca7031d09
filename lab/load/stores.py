"""The stores beside a load: emptied of what it recorded, and asked how much of it has arrived."""

import asyncio
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Literal, Self
from uuid import UUID

import pymongo

from config.settings import Settings
from tracker.db.connect import mongodb, redis_for_requests
from tracker.db.keys import JOURNAL

_RECORDED: Final = ("clicks", "events", "rollups")
_LOOK_EVERY: Final = 0.05
_COUNT_SECONDS: Final = 120

Collection = Literal["clicks", "events"]


class NotDrained(Exception):
    """The drain does not come to an end. One line."""


class Stores:
    """Use it on the loop that it was made on."""

    def __init__(self, settings: Settings) -> None:
        self._redis = redis_for_requests(settings.redis_url)
        self._mongodb = mongodb(settings.mongodb_uri)
        self._database = self._mongodb[settings.mongodb_database]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._redis.aclose()
        self._mongodb.close()

    async def empty(self) -> None:
        """Of clicks, events and counters, and of all that is in Redis. While no service runs: it
        makes the indexes when it starts."""
        for name in _RECORDED:
            await self._database[name].drop()
        await self._redis.flushall()

    async def flush(self, appendfsync: str) -> None:
        """How Redis flushes its journal to the disk from now on."""
        await self._redis.config_set("appendfsync", appendfsync)

    async def stored(self, collection: Collection) -> int:
        with pymongo.timeout(_COUNT_SECONDS):
            return await self._database[collection].count_documents({})

    async def stored_about(self, collection: Collection) -> int:
        """The same at once, however many there are; exact where nothing crashed."""
        return await self._database[collection].estimated_document_count()

    async def missing(self, collection: Collection, ids: Sequence[UUID | int]) -> int:
        """How many of these different ids are not stored."""
        with pymongo.timeout(_COUNT_SECONDS):
            found = await self._database[collection].count_documents({"_id": {"$in": list(ids)}})
        return len(ids) - found

    async def pids(self) -> dict[str, int]:
        """Of the stores themselves, which are on this machine."""
        redis: Any = await self._redis.info("server")
        mongod = await self._mongodb.admin.command("serverStatus")
        return {"redis": int(redis["process_id"]), "mongod": int(mongod["pid"])}

    async def entries(self) -> int:
        """Of the journal: groups of clicks and events that are not drained."""
        return int(await self._redis.xlen(JOURNAL))

    async def drained(self, seconds: float) -> None:
        """Wait until the journal is empty. Raises NotDrained after `seconds`."""
        deadline = time.monotonic() + seconds
        while entries := await self.entries():
            if time.monotonic() > deadline:
                raise NotDrained(f"{entries:,} journal entries are left after {seconds:.0f} s")
            await asyncio.sleep(_LOOK_EVERY)
