"""A read-through cache in three levels: this process, Redis, MongoDB.

- Every process sees a change within a second. While the subscription is down, it trusts memory for
  UNVERIFIED_SECONDS.
- An older value never replaces a newer one in Redis: values have their document's version.
- A crash of the writer leaves the old value of an announced change for UPDATE_SECONDS at most.
- While Redis is unavailable, MongoDB answers. While MongoDB is unavailable, Redis serves copies of
  up to a week. Without both, memory serves its values, however old.
- Clients with too many unknown names share a small part of the queries to MongoDB.
"""

import asyncio
import contextlib
import time
from contextvars import Context
from typing import Final, Generic, TypeVar

import msgspec
from redis.asyncio import Redis

from tracker.errors import Unavailable
from tracker.limits.allowance import Allowance
from tracker.loops import cancel_and_wait
from tracker.stores.breaker import Breaker
from tracker.stores.cache.copies import Copies, Copy
from tracker.stores.cache.lookup import BatchedLookup, CacheLookup
from tracker.stores.cache.memory import CacheEntry, Memory
from tracker.stores.mongodb.drivers import MONGODB_TIMEOUT_SECONDS
from tracker.stores.redis.memory_budget import Budget, OptionalWrite

UNVERIFIED_SECONDS: Final = 1.0
"""How long memory is trusted while the subscription is down."""

REFRESH_SHARE: Final = 0.7
"""A requested value is loaded again after this share of its time in memory, so nobody waits."""

REFRESH_PAUSE_SECONDS: Final = 1.0
"""The pause after a failed look-up, before values still in memory are loaded again."""

REDIS_TTL_SECONDS: Final = 600.0
MISS_REDIS_TTL_SECONDS: Final = 30.0

UPDATE_SECONDS: Final = MONGODB_TIMEOUT_SECONDS + 5
"""How long a copy lives after an announced change. A change takes less time."""


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """A value that can be cached; `version` grows with every change of the document."""

    version: int


Value = TypeVar("Value", bound=Versioned)


class Cache(Generic[Value]):
    """A cache of values of one type, by name (their Redis key); `max_values` are in memory.

    `verified` is true while the process receives every change (`stores/cache/changes`).
    """

    def __init__(
        self,
        redis: Redis,
        breaker: Breaker,
        kind: type[Value],
        lookup: CacheLookup[Value],
        max_values: int,
        misses: Allowance | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._memory: Memory[Value] = Memory(max_values)
        self._copies = Copies(redis, breaker)
        self._batched_lookup = BatchedLookup(lookup)
        self._lookup = lookup
        self._misses = misses or Allowance(0)
        self._budget = budget or Budget()
        self._loading: dict[str, asyncio.Task[Value | None]] = {}
        self._loading_shared: dict[str, asyncio.Task[Value | None]] = {}
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._encoder = msgspec.msgpack.Encoder()
        self._refresh_at = 0.0
        self.verified = False

    def peek(self, name: str) -> CacheEntry[Value] | None:
        """Return the entry in memory; None if `get` would have to ask a store."""
        entry = self._memory.find(name)
        if entry is None:
            return None
        now = time.monotonic()
        age = now - entry.loaded_at
        ttl = entry.ttl_seconds if self.verified else min(entry.ttl_seconds, UNVERIFIED_SECONDS)
        if age >= ttl:
            return None
        if age > ttl * REFRESH_SHARE and name not in self._loading and now > self._refresh_at:
            self._start_loading(name)
        return entry

    async def get(self, name: str, client: str = "") -> Value | None:
        """Return the value, None if there is none. Raises Unavailable if no level answers.

        Raises RateLimited if the address `client` has requested too many unknown names, and too
        many such look-ups wait.
        """
        if entry := self.peek(name):
            return entry.value
        task = self._look_up(name, client)
        try:
            return await asyncio.shield(task)
        except Unavailable:
            entry = self._memory.find(name)  # unless it was forgotten meanwhile
            if entry is None:
                raise
            return entry.value

    async def begin_update(self, name: str) -> None:
        """Let the copy expire soon if the writer dies. Raises Unavailable if Redis is down."""
        await self._copies.expire_soon(name, UPDATE_SECONDS)

    async def changed(self, name: str, value: Value | None, version: int) -> None:
        """Publish a change to Redis and every process; `value` None means deleted."""
        self.forget(name)
        await self._store_copy(name, value, version)
        await self._copies.publish(name)
        self.forget(name)  # again: a look-up meanwhile may have found the old value in Redis

    def forget(self, name: str) -> None:
        """Drop `name` from memory. A look-up in flight is answered but not cached."""
        self._memory.forget(name)
        self._loading.pop(name, None)
        self._loading_shared.pop(name, None)

    def forget_all(self) -> None:
        self._memory.forget_all()
        self._loading.clear()
        self._loading_shared.clear()

    async def close(self) -> None:
        """End the look-ups in flight before the stores are closed: they would connect again."""
        for task in [*self._loading.values(), *self._loading_shared.values()]:
            await cancel_and_wait(task)

    def _look_up(self, name: str, client: str) -> asyncio.Task[Value | None]:
        task = self._loading.get(name)
        if task is not None:
            return task
        if not client or not self._misses.is_used_up(client):
            return self._start_loading(name, client)
        return self._loading_shared.get(name) or self._start_loading(name, client, shared=True)

    def _start_loading(
        self, name: str, client: str = "", shared: bool = False
    ) -> asyncio.Task[Value | None]:
        # Several requests may wait for the result, so the task carries no request's id.
        reading = self._read(name, client, shared)
        task = asyncio.get_running_loop().create_task(reading, context=Context())
        loading = self._loading_shared if shared else self._loading
        loading[name] = task
        task.add_done_callback(lambda done: self._loaded(loading, name, done))
        return task

    def _loaded(
        self,
        loading: dict[str, asyncio.Task[Value | None]],
        name: str,
        task: asyncio.Task[Value | None],
    ) -> None:
        forgotten = loading.get(name) is not task
        if not forgotten:
            del loading[name]
        if task.cancelled() or task.exception() is not None:
            # After a failure, requests do not try at once to refresh a value that is still good. A
            # failure in the share may only mean that the share is full.
            if loading is self._loading:
                self._refresh_at = time.monotonic() + REFRESH_PAUSE_SECONDS
        elif not forgotten:
            self._memory.remember(name, task.result())

    async def _read(self, name: str, client: str, shared: bool) -> Value | None:
        copy = await self._copies.read(name)
        if copy is not None:
            with contextlib.suppress(msgspec.DecodeError):  # another release wrote it
                return self._decoder.decode(copy) if copy else None
        try:
            found = await (
                self._batched_lookup.find_in_share if shared else self._batched_lookup.find
            )(name)
        except Unavailable:
            return await self._stale_copy(name)
        value = None if found is None else self._lookup.value_of(found)
        if value is None and client:
            self._misses.use(client)
        if value is not None or not shared:  # unknown names that a flood requests get no copy
            await self._store_copy_if_room(name, value)
        return value

    async def _stale_copy(self, name: str) -> Value:
        stale = await self._copies.read_stale(name)
        if stale is not None:
            with contextlib.suppress(msgspec.DecodeError):
                return self._decoder.decode(stale)
        raise Unavailable("storage is unavailable; try again")

    async def _store_copy_if_room(self, name: str, value: Value | None) -> None:
        kind = OptionalWrite.MISS if value is None else OptionalWrite.COPY
        if self._budget.allows(kind):
            await self._store_copy(name, value, 0 if value is None else value.version)

    async def _store_copy(self, name: str, value: Value | None, version: int) -> None:
        ttl_seconds = MISS_REDIS_TTL_SECONDS if value is None else REDIS_TTL_SECONDS
        encoded = b"" if value is None else self._encoder.encode(value)
        await self._copies.store(Copy(name, version, encoded, ttl_seconds))
