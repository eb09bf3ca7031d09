"""A read-through cache in three levels: this process, Redis, MongoDB.

Used for links, custom domains and event configurations. What it guarantees:

- A change is seen by every process within a second: the writer stores the new value in Redis and
  publishes its name; `db/changes` drops it from each process's memory. While the subscription is
  down, memory is trusted for UNVERIFIED seconds only.
- An older value never replaces a newer one in Redis: values carry the version of their document,
  and a script compares. A miss has version 0.
- A crash between the write to MongoDB and the one to Redis heals: every copy expires.
- Misses are remembered too, for a shorter time; simultaneous look-ups of one name are one look-up.
- With Redis away MongoDB answers; with both away a value in memory is served however old it is.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar, cast

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.db.breaker import Breaker
from tracker.db.connect import MONGODB_TIMEOUT, PyMongoError
from tracker.db.keys import CHANGES
from tracker.errors import Unavailable

IN_MEMORY, MISS_IN_MEMORY, UNVERIFIED = 10.0, 5.0, 1.0
IN_REDIS, MISS_IN_REDIS = 600.0, 30.0

WHILE_CHANGING = MONGODB_TIMEOUT + 5

# Stores a value unless Redis holds a newer one.
# KEYS: name. ARGV: version, value, milliseconds to live.
_STORE_NEWER = """
local held = redis.call('HGET', KEYS[1], 'version')
if held and tonumber(held) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'value', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """What can be cached: `version` grows with every change of the document."""

    version: int


Value = TypeVar("Value", bound=Versioned)


class _Entry(NamedTuple, Generic[Value]):
    value: Value | None
    loaded: float
    lives: float


class Cache(Generic[Value]):
    """Values of one type by name (their Redis key). `load` reads MongoDB: the value or None."""

    def __init__(
        self,
        redis: Redis,
        breaker: Breaker,
        kind: type[Value],
        load: Callable[[str], Awaitable[Value | None]],
        entries: int,
    ) -> None:
        self._redis = redis
        self._breaker = breaker
        self._load = load
        self._bound = entries
        self._entries: dict[str, _Entry[Value]] = {}
        self._loading: dict[str, asyncio.Task[Value | None]] = {}
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._encoder = msgspec.msgpack.Encoder()
        self._store_newer = redis.register_script(_STORE_NEWER)
        self.verified = False

    async def get(self, name: str) -> Value | None:
        """The value, or None if there is none. Raises Unavailable if no level can tell."""
        entry = self._entries.get(name)
        if entry is not None and self._fresh(entry):
            return entry.value
        task = self._loading.get(name)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._read(name))
            self._loading[name] = task
            task.add_done_callback(lambda done: self._loaded(name, done))
        try:
            return await asyncio.shield(task)
        except (RedisError, PyMongoError) as error:
            if entry is not None:
                return entry.value
            raise Unavailable("storage is away; try again") from error

    async def changing(self, name: str) -> None:
        """Call before a change in MongoDB: should the writer die on the way, Redis forgets soon.

        Raises Unavailable if Redis cannot be told: its copy would outlive the change.
        """
        try:
            await self._redis.pexpire(name, int(WHILE_CHANGING * 1000))
        except RedisError as error:
            self._breaker.failed()
            raise Unavailable("storage is away; try again") from error

    async def changed(self, name: str, value: Value | None, version: int) -> None:
        """Call after a change in MongoDB: tells Redis and every process the value, None: gone."""
        self.forget(name)
        try:
            await self._put(name, value, version)
            await self._redis.publish(CHANGES, name)
        except RedisError:
            self._breaker.failed()

    def forget(self, name: str) -> None:
        """Drop `name` from memory; a look-up under way is answered but not kept."""
        self._entries.pop(name, None)
        self._loading.pop(name, None)

    def forget_all(self) -> None:
        self._entries.clear()
        self._loading.clear()

    def _fresh(self, entry: _Entry[Value]) -> bool:
        age = time.monotonic() - entry.loaded
        return age < (entry.lives if self.verified else min(entry.lives, UNVERIFIED))

    def _loaded(self, name: str, task: asyncio.Task[Value | None]) -> None:
        forgotten = self._loading.get(name) is not task
        if not forgotten:
            del self._loading[name]
        if task.cancelled() or task.exception() is not None or forgotten:
            return
        value = task.result()
        lives = MISS_IN_MEMORY if value is None else IN_MEMORY
        self._entries.pop(name, None)
        self._entries[name] = _Entry(value, time.monotonic(), lives)
        if len(self._entries) > self._bound:
            del self._entries[next(iter(self._entries))]

    async def _read(self, name: str) -> Value | None:
        if self._breaker.is_open:
            return await self._load(name)
        try:
            held = cast("bytes | None", await self._redis.hget(name, "value"))
            self._breaker.worked()
        except RedisError:
            self._breaker.failed()
            return await self._load(name)
        if held is not None:
            return self._decoder.decode(held) if held else None
        value = await self._load(name)
        try:
            await self._put(name, value, 0 if value is None else value.version)
        except RedisError:
            self._breaker.failed()
        return value

    async def _put(self, name: str, value: Value | None, version: int) -> None:
        lives = MISS_IN_REDIS if value is None else IN_REDIS
        encoded = b"" if value is None else self._encoder.encode(value)
        await self._store_newer(keys=[name], args=[version, encoded, int(lives * 1000)])
