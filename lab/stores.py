"""The stores beside a load: emptied before it, read during it, audited after it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

import orjson
import pymongo
from redis import ResponseError

from config.settings import Settings
from lab.harness import CannotMeasure, wait_until
from lab.processes import ROOT, Process, ended_by_themselves, variables_of
from lab.result import LoadAudit
from lab.traffic import Visitors
from tracker.journal.backlog import Backlog
from tracker.journal.dead_letters import count_letters
from tracker.journal.partitions import MAX_PARTITIONS
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.redis.clients import redis_for_blocking
from tracker.stores.redis.keys import DRAIN_GROUP
from tracker.stores.redis.lease import Lease
from tracker.webhooks.delivery import DeliveryStatus

_RECORDED: Final = ("clicks", "events", "rollups")
_COUNT_SECONDS: Final = 120
_RELEASE_SECONDS: Final = 20.0
_VERIFY_SECONDS: Final = 600
_IDS_PER_QUERY: Final = 10_000

# Deletes what expires soon, of a part of all keys. ARGV: cursor, milliseconds. Returns the cursor.
_EXPIRE: Final = """
local found = redis.call('SCAN', ARGV[1], 'COUNT', 1000)
for _, name in ipairs(found[2]) do
  local left = redis.call('PTTL', name)
  if left >= 0 and left <= tonumber(ARGV[2]) then redis.call('UNLINK', name) end
end
return found[1]
"""

Collection = Literal["clicks", "events"]


class Bytes(NamedTuple):
    """The bytes of a click, those of all rollups, and those of a visitor in Redis."""

    data: float
    indexes: float
    oplog: float
    rollups: int
    visitor: float


class NotDrained(CannotMeasure):
    """A journal that is not drained in time, with one line that says how much is left."""


class Stores:
    """The Redis and MongoDB of a run. Use it on the loop that it was made on."""

    def __init__(self, settings: Settings) -> None:
        # Patient: while Redis rewrites the log of a million links, an answer may take seconds.
        self._redis = redis_for_blocking(settings.redis_url)
        self._mongodb = MongoDB(settings.mongodb_uri, settings.mongodb_database)
        self._backlog = Backlog(self._redis, MAX_PARTITIONS)

    async def close(self) -> None:
        await self._redis.aclose()
        await self._mongodb.close()

    async def empty(self) -> None:
        """Drop clicks, events and counters, and everything in Redis, while no service runs."""
        await self._drop_records()
        await self._redis.flushall()

    async def pass_days(self, days: int) -> None:
        """Drop clicks, events and counters, and from Redis what expires within these days."""
        await self._drop_records()
        expire, cursor = self._redis.register_script(_EXPIRE), 0
        while cursor := int(await expire(args=[cursor, days * 86_400_000])):
            pass

    async def _drop_records(self) -> None:
        for name in _RECORDED:
            await self._mongodb[name].drop()

    async def flush(self, appendfsync: str) -> None:
        await self._redis.config_set("appendfsync", appendfsync)

    async def hold_lease(self, key: str, seconds: float) -> None:
        await Lease(self._redis, key, seconds).acquire()

    async def stored(self, collection: Collection) -> int:
        """Return the number of documents without counting; exact unless MongoDB crashed."""
        return await self._mongodb[collection].estimated_document_count()

    async def journal_bytes(self) -> int:
        sizes = [
            await self._redis.memory_usage(stream, samples=0) for stream in self._backlog.streams
        ]
        return sum(size or 0 for size in sizes)

    async def bytes_of_clicks(self, since: datetime) -> Bytes:
        await self.checkpoint()  # so that sizes are those on the disk
        clicks, rollups = [await self._sizes(name) for name in ("clicks", "rollups")]
        number = max(1, clicks["count"])
        oplog = self._mongodb.client["local"]["oplog.rs"].aggregate(
            [
                {"$match": {"wall": {"$gte": since}, "o.applyOps": {"$exists": True}}},
                {"$group": {"_id": None, "bytes": {"$sum": {"$bsonSize": "$$ROOT"}}}},
            ]
        )
        [written] = await oplog.to_list(None)
        return Bytes(
            data=clicks["storageSize"] / number,
            indexes=clicks["totalIndexSize"] / number,
            oplog=written["bytes"] / number,
            rollups=rollups["storageSize"],
            visitor=await self._bytes_of_visitors(),
        )

    async def index_bytes(self, name: str) -> float:
        await self.checkpoint()
        found = await self._sizes(name)
        return float(found["totalIndexSize"] / max(1, found["count"]))

    async def checkpoint(self) -> None:
        """Let MongoDB write now what it would write within a minute."""
        await self._mongodb.client.admin.command("fsync")

    async def redis_bytes(self) -> int:
        """Return the memory that Redis uses, once it has released what was deleted."""
        await wait_until(self._is_released, _RELEASE_SECONDS)
        memory: Any = await self._redis.info("memory")
        return int(memory["used_memory"])

    async def _is_released(self) -> bool:
        memory: Any = await self._redis.info("memory")
        return not int(memory["lazyfree_pending_objects"])

    async def _sizes(self, name: str) -> dict[str, Any]:
        return await self._mongodb.database.command("collStats", name)

    async def _bytes_of_visitors(self) -> float:
        used = visitors = 0
        async for key in self._redis.scan_iter("visitors:*", count=1000, _type="HASH"):
            used += await self._redis.memory_usage(key) or 0
            visitors += await self._redis.hlen(key)
        return used / max(1, visitors)

    async def are_deliveries_sent(self) -> bool:
        due = {"status": DeliveryStatus.DUE}
        return await self._mongodb["deliveries"].find_one(due, ["_id"]) is None

    async def documents(self, collection: str) -> AsyncIterator[dict[str, Any]]:
        with pymongo.timeout(_COUNT_SECONDS):
            async for document in self._mongodb[collection].find():
                yield document

    async def lost(self, traffic: Visitors) -> int:
        missing = 0
        for first in range(0, traffic.clicks, _IDS_PER_QUERY):
            ids = [UUID(bytes=one) for one in traffic.click_ids(first, _IDS_PER_QUERY)]
            missing += await self._count_missing("clicks", ids)
        for first in range(0, len(traffic.event_ids), _IDS_PER_QUERY):
            events = traffic.event_ids[first : first + _IDS_PER_QUERY].tolist()
            missing += await self._count_missing("events", events)
        return missing

    async def pids(self) -> dict[str, int]:
        redis: Any = await self._redis.info("server")
        mongod = await self._mongodb.client.admin.command("serverStatus")
        return {"redis": int(redis["process_id"]), "mongod": int(mongod["pid"])}

    async def journal_entries(self) -> int:
        """Return the length of the journal: groups of clicks and events not yet drained."""
        return (await self._backlog.measure()).entries

    async def dead_letters(self) -> int:
        return await count_letters(self._redis)

    async def unacknowledged(self, count: int) -> list[str]:
        """Return a line for each of the first entries that drains read and did not acknowledge."""
        held: list[Any] = []
        for stream in self._backlog.streams:
            with suppress(ResponseError):  # of a partition that nobody uses
                held += await self._redis.xpending_range(stream, DRAIN_GROUP, "-", "+", count)
        return [
            f"{one['message_id'].decode()} is with {one['consumer'].decode()} for "
            f"{one['time_since_delivered'] / 1000:.0f} s, delivered {one['times_delivered']} times"
            for one in held
        ]

    async def wait_until_drained(self, seconds: float) -> None:
        if not await wait_until(self._is_drained, seconds):
            entries = await self.journal_entries()
            raise NotDrained(f"{entries:,} journal entries are left after {seconds:.0f} s")

    async def _is_drained(self) -> bool:
        return not await self.journal_entries()

    async def _count_missing(self, collection: Collection, ids: Sequence[UUID | int]) -> int:
        with pymongo.timeout(_COUNT_SECONDS):
            found = await self._mongodb[collection].count_documents({"_id": {"$in": list(ids)}})
        return len(ids) - found


@asynccontextmanager
async def open_stores(settings: Settings) -> AsyncIterator[Stores]:
    stores = Stores(settings)
    try:
        yield stores
    finally:
        await stores.close()


async def audit_load(
    stores: Stores, settings: Settings, traffic: Visitors, processes: Iterable[Process]
) -> LoadAudit:
    """Compare the answers to `traffic` with the documents, and these with the rollups."""
    return LoadAudit(
        requests=traffic.answered,
        lost=await stores.lost(traffic),
        differences=await asyncio.to_thread(count_differences, settings),
        ended=ended_by_themselves(processes),
    )


def count_differences(settings: Settings) -> int:
    """Return how many figures of rollups and reports differ, as `scripts.verify` counts them."""
    done = subprocess.run(
        [sys.executable, "-m", "scripts.verify", "--json"],
        cwd=ROOT,
        env=os.environ | variables_of(settings),
        stdout=subprocess.PIPE,
        timeout=_VERIFY_SECONDS,
        check=False,
    )
    return sum(row["differences"] for row in orjson.loads(done.stdout))
