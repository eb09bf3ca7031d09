"""A read-through cache in three levels: this process, Redis, MongoDB.

Used for links, custom domains and event configurations. What it guarantees:

- A change is seen by every process within a second: the writer stores the new value in Redis and
  publishes its name; `db/changes` drops it from each process's memory. While the subscription is
  down, memory is trusted for UNVERIFIED seconds only.
- An older value never replaces a newer one in Redis: values carry the version of their document,
  and a script compares. A miss has version 0.
- A crash between the write to MongoDB and the one to Redis heals: every copy expires, and soon
  where a change was announced with `changing`.
- A value in steady use is read again before its life in memory is over, many in one round trip.
- Misses are remembered too, for a shorter time; simultaneous look-ups of one name are one look-up.
- With Redis away MongoDB answers. With MongoDB away what Redis knew in the last week is served;
  with both away a value in memory, however old it is.
- Nobody waits longer than LOAD_SECONDS for MongoDB, and for a moment after it failed not at all.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Generic, NamedTuple, TypeVar, cast

import msgspec
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from tracker.db import keys
from tracker.db.batch import Batch
from tracker.db.breaker import Breaker
from tracker.db.connect import MONGODB_TIMEOUT, PyMongoError
from tracker.db.keys import CHANGES
from tracker.errors import Unavailable

IN_MEMORY, MISS_IN_MEMORY, UNVERIFIED = 10.0, 5.0, 1.0
REFRESH = 0.7
"""The share of its life after which a value in memory that is asked for is read again, so that one
in steady use never has to be waited for."""

REFRESH_PAUSE = 1.0
IN_REDIS, MISS_IN_REDIS = 600.0, 30.0
IN_RESERVE = 7 * 86400.0
LOAD_SECONDS = 2.0
WHILE_CHANGING = MONGODB_TIMEOUT + 5

# Stores a value unless Redis holds a newer one. The time to live is that of the name: a newer value
# never extends it, so what `changing` shortened stays short, whoever stores meanwhile.
# The reserve, which lives longer, is for when MongoDB is away.
# KEYS: name, its reserve. ARGV: version, value, milliseconds to live, those of the reserve.
_STORE_NEWER = """
local held = redis.call('HGET', KEYS[1], 'version')
if held and tonumber(held) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'value', ARGV[2])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
if ARGV[2] == '' then redis.call('DEL', KEYS[2])
else redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[4]) end
return 1
"""

# Shortens the life of a name, of one without a value too: a reader may store the old one yet.
# A full Redis refuses that (hence pcall), but then it refuses the old value as well.
# KEYS: name. ARGV: milliseconds to live.
_EXPIRE_SOON = """
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then
  redis.pcall('HSET', KEYS[1], 'version', -1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
"""


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """What can be cached: `version` grows with every change of the document."""

    version: int


Value = TypeVar("Value", bound=Versioned)


class Known(NamedTuple, Generic[Value]):
    """What memory knows of a name; None: that there is no such value. Times are monotonic."""

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
        self._entries: dict[str, Known[Value]] = {}
        self._loading: dict[str, asyncio.Task[Value | None]] = {}
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._encoder = msgspec.msgpack.Encoder()
        self._store_newer = redis.register_script(_STORE_NEWER)
        self._expire_soon = redis.register_script(_EXPIRE_SOON)
        self._held = Batch[str, bytes | None](self._from_redis)
        self._mongodb = Breaker()
        self._refresh_at = 0.0
        self.verified = False

    def known(self, name: str) -> Known[Value] | None:
        """What `get` would answer without waiting; None if it would have to ask."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        now = time.monotonic()
        age = now - entry.loaded
        lives = entry.lives if self.verified else min(entry.lives, UNVERIFIED)
        if age >= lives:
            return None
        if age > lives * REFRESH and name not in self._loading and now > self._refresh_at:
            self._start_loading(name)
        return entry

    async def get(self, name: str) -> Value | None:
        """The value, or None if there is none. Raises Unavailable if no level can tell."""
        if entry := self.known(name):
            return entry.value
        task = self._loading.get(name)
        if task is None:
            task = self._start_loading(name)
        try:
            return await asyncio.shield(task)
        except Unavailable:
            entry = self._entries.get(name)  # unless it was forgotten meanwhile
            if entry is None:
                raise
            return entry.value

    async def changing(self, name: str) -> None:
        """Call before a change in MongoDB: should the writer die on the way, Redis forgets soon.

        Raises Unavailable if Redis cannot be told: its copy would outlive the change.
        """
        try:
            await self._expire_soon(keys=[name], args=[int(WHILE_CHANGING * 1000)])
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
        self.forget(name)  # again: a look-up meanwhile may have found the old value in Redis

    def forget(self, name: str) -> None:
        """Drop `name` from memory; a look-up under way is answered but not kept."""
        self._entries.pop(name, None)
        self._loading.pop(name, None)

    def forget_all(self) -> None:
        self._entries.clear()
        self._loading.clear()

    def _start_loading(self, name: str) -> asyncio.Task[Value | None]:
        # Others will wait for it too: it carries nobody's request id.
        task = asyncio.get_running_loop().create_task(self._read(name), context=Context())
        self._loading[name] = task
        task.add_done_callback(lambda done: self._loaded(name, done))
        return task

    def _loaded(self, name: str, task: asyncio.Task[Value | None]) -> None:
        forgotten = self._loading.get(name) is not task
        if not forgotten:
            del self._loading[name]
        if task.cancelled() or task.exception() is not None:
            # What is still good is not asked for again by every request.
            self._refresh_at = time.monotonic() + REFRESH_PAUSE
            return
        if forgotten:
            return
        value = task.result()
        lives = MISS_IN_MEMORY if value is None else IN_MEMORY
        self._entries.pop(name, None)
        self._entries[name] = Known(value, time.monotonic(), lives)
        if len(self._entries) > self._bound:
            del self._entries[next(iter(self._entries))]

    async def _read(self, name: str) -> Value | None:
        if self._breaker.is_open:
            return await self._from_mongodb(name)
        try:
            held = await self._held.submit(name)
            self._breaker.worked()
        except RedisError:
            self._breaker.failed()
            return await self._from_mongodb(name)
        if held is not None:
            with contextlib.suppress(msgspec.DecodeError):  # another release wrote it
                return self._decoder.decode(held) if held else None
        try:
            value = await self._from_mongodb(name)
        except Unavailable:
            return await self._from_reserve(name)
        try:
            await self._put(name, value, 0 if value is None else value.version)
        except RedisError:
            self._breaker.failed()
        return value

    async def _from_redis(self, names: list[str]) -> Sequence[bytes | None]:
        if self._breaker.is_open:  # since they were asked for: each group would wait in its turn
            raise RedisConnectionError("Redis is away")
        pipeline = self._redis.pipeline(transaction=False)
        for name in names:
            pipeline.hget(name, "value")
        return await pipeline.execute()

    async def _from_mongodb(self, name: str) -> Value | None:
        if self._mongodb.is_open:
            raise Unavailable("storage is away; try again")
        try:
            async with asyncio.timeout(LOAD_SECONDS):
                return await self._load(name)
        except (PyMongoError, TimeoutError) as error:
            self._mongodb.failed()
            raise Unavailable("storage is away; try again") from error

    async def _from_reserve(self, name: str) -> Value:
        """The last value that Redis was given. Raises Unavailable if it has none."""
        with contextlib.suppress(RedisError, msgspec.DecodeError):
            reserve = cast("bytes | None", await self._redis.get(keys.reserve(name)))
            if reserve is not None:
                return self._decoder.decode(reserve)
        raise Unavailable("storage is away; try again")

    async def _put(self, name: str, value: Value | None, version: int) -> None:
        lives = MISS_IN_REDIS if value is None else IN_REDIS
        encoded = b"" if value is None else self._encoder.encode(value)
        await self._store_newer(
            keys=[name, keys.reserve(name)],
            args=[version, encoded, int(lives * 1000), int(IN_RESERVE * 1000)],
        )
