"""Event ids: positive integers below 2^53, never given twice.

MongoDB grants blocks of ids from a counter that only grows, by majority writes, so a lost Redis
takes nothing with it; a lost counter starts again above the highest stored event. Each process
gives ids from a block in memory and fetches the next before the last is used up. Blocks granted
earlier wait in a Redis list for when MongoDB is away.
"""

import asyncio

import structlog
from pymongo import ReturnDocument
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.db.connect import Database, PyMongoError
from tracker.db.keys import SPARE_EVENT_IDS
from tracker.errors import Unavailable

log = structlog.get_logger(__name__)

_BLOCK = 10_000
_SPARE_BLOCK = 100_000
_SPARE_BLOCKS = 10
_COUNTER = "event_id"


class EventIds:
    def __init__(self, database: Database, redis: Redis) -> None:
        self._counters = database["counters"]
        self._events = database["events"]
        self._redis = redis
        self._blocks: list[range] = []
        self._fetching: asyncio.Task[bool] | None = None

    async def start(self) -> None:
        """Fetch the first block. With both stores away there is none yet: `next` will say so."""
        await self._fetched()

    async def next(self) -> int:
        """A new id. Raises Unavailable if none is in hand and no store can give one."""
        while not self._blocks:  # again: a crowd may use up a block as soon as it is there
            if not await asyncio.shield(self._fetched()):
                raise Unavailable("storage is away; try again")
        first = self._blocks[0]
        self._blocks[0] = first[1:]
        if not self._blocks[0]:
            del self._blocks[0]
        if sum(map(len, self._blocks)) < _BLOCK // 2:
            self._fetched()
        return first[0]

    async def close(self) -> None:
        if self._fetching is not None:
            await asyncio.wait([self._fetching])

    def _fetched(self) -> asyncio.Task[bool]:
        if self._fetching is None:
            self._fetching = asyncio.get_running_loop().create_task(self._fetch())
        return self._fetching

    async def _fetch(self) -> bool:
        """Whether there was a block to fetch."""
        try:
            self._blocks.append(await self._granted(_BLOCK))
            await self._keep_spares()
            return True
        except PyMongoError as error:
            log.warning("event ids come from the spare blocks", error=type(error).__name__)
            return await self._take_spare()
        finally:
            self._fetching = None

    async def _granted(self, size: int) -> range:
        highest = await self._events.find_one({}, ["_id"], sort=[("_id", -1)])
        floor = 0 if highest is None else highest["_id"]
        counter = await self._counters.find_one_and_update(
            {"_id": _COUNTER},
            [{"$set": {"last": {"$add": [{"$max": ["$last", floor]}, size]}}}],
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        last = int(counter["last"])
        return range(last - size + 1, last + 1)

    async def _keep_spares(self) -> None:
        try:
            for _ in range(_SPARE_BLOCKS - await self._redis.llen(SPARE_EVENT_IDS)):
                block = await self._granted(_SPARE_BLOCK)
                await self._redis.rpush(SPARE_EVENT_IDS, f"{block.start}:{block.stop}")
        except (RedisError, PyMongoError) as error:
            log.warning("spare event ids not kept", error=type(error).__name__)

    async def _take_spare(self) -> bool:
        try:
            spare = await self._redis.lpop(SPARE_EVENT_IDS)
        except RedisError:
            return False
        if not isinstance(spare, bytes):
            return False
        start, stop = spare.split(b":")
        self._blocks.append(range(int(start), int(stop)))
        return True
