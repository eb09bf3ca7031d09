"""A read-through cache in three levels: this process, Redis, MongoDB.

Used for links, custom domains, event configurations and accounts' settings. What it guarantees:

- A change is seen by every process within a second: the writer stores the new value in Redis and
  publishes its name; `db/changes` drops it from each process's memory. While the subscription is
  down, memory is trusted for UNVERIFIED_SECONDS only.
- An older value never replaces a newer one in Redis: values carry the version of their document,
  and a script compares. A miss has version 0.
- A crash between the write to MongoDB and the one to Redis heals: every copy expires, and soon
  where a change was announced with `begin_update`.
- A value in steady use is read again before its life in memory is over.
- Misses are remembered too, for a shorter time and apart, so that they push no value out;
  simultaneous look-ups of one name are one look-up, and those of many names are one question.
- With Redis unavailable MongoDB answers. With MongoDB unavailable what Redis knew in the last week
  is served; with both unavailable a value in memory, however old it is.
- A question waits LOAD_SECONDS for MongoDB, and for a moment after it failed not at all. To wait
  for one's turn is no failure: look-ups of strangers never keep others from MongoDB.
- A client that asked for too much that does not exist (`misses`) still gets what exists, but from a
  small share of MongoDB, which all such clients have together.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from contextvars import Context
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec
from redis.asyncio import Redis

from tracker.db.batch import Batch
from tracker.db.breaker import Breaker, answer_within
from tracker.db.budget import Budget, OptionalWrite
from tracker.db.connect import MONGODB_TIMEOUT, PyMongoError
from tracker.db.copies import Copies, Copy
from tracker.errors import RateLimited, Unavailable
from tracker.limits.allowance import Allowance
from tracker.loops import cancel_and_wait
from tracker.metrics import LOOK_UPS_SHARED

MEMORY_SECONDS, MISS_MEMORY_SECONDS, UNVERIFIED_SECONDS = 10.0, 5.0, 1.0
REFRESH_SHARE = 0.7
"""The share of its life after which a value in memory that is asked for is read again, so that one
in steady use never has to be waited for."""

REFRESH_PAUSE_SECONDS = 1.0
REDIS_SECONDS, MISS_REDIS_SECONDS = 600.0, 30.0
LOAD_SECONDS = 2.0
UPDATE_SECONDS = MONGODB_TIMEOUT + 5

SHARED_NAMES, SHARED_REST_SECONDS, SHARED_WAITING_NAMES = 100, 0.02, 10_000
"""The share of those who asked for too much that does not exist: names of a question, seconds of
rest after each, and names that wait. So a process asks for 5,000 a second at most."""


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """The base of values that can be cached; `version` grows with every change of the document."""

    version: int


Value = TypeVar("Value", bound=Versioned)
Read = TypeVar("Read", bound=Versioned, covariant=True)


class Source(Protocol[Read]):
    """A source of values. It is asked for many names at a time, and never twice at once."""

    async def find(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return what MongoDB has of these names. Raises PyMongoError if it fails."""

    def value_of(self, found: Any) -> Read | None:
        """Make a value of what was found of one name, or None if it counts as missing."""

    async def close(self) -> None:
        """Close its connections."""


class Known(NamedTuple, Generic[Value]):
    """An entry of memory; `value` is None if there is no such value. Times are monotonic."""

    value: Value | None
    loaded: float
    lives: float


class Cache(Generic[Value]):
    """A cache of values of one type, by name (their Redis key)."""

    def __init__(
        self,
        redis: Redis,
        breaker: Breaker,
        kind: type[Value],
        source: Source[Value],
        entries: int,
        misses: Allowance | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._copies = Copies(redis, breaker)
        self._source = source
        self._bound = entries
        self._misses = misses or Allowance(0)
        self._budget = budget or Budget()
        self._entries: dict[str, Known[Value]] = {}
        self._absent: dict[str, Known[Value]] = {}
        self._loading: dict[str, asyncio.Task[Value | None]] = {}
        self._loading_shared: dict[str, asyncio.Task[Value | None]] = {}
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._encoder = msgspec.msgpack.Encoder()
        self._found = Batch[str, Any](self._from_mongodb)
        self._found_shared = Batch[str, Any](self._from_share, SHARED_NAMES, SHARED_WAITING_NAMES)
        self._asking = asyncio.Lock()
        self._mongodb = Breaker()
        self._refresh_at = 0.0
        self.verified = False

    def peek(self, name: str) -> Known[Value] | None:
        """Return what `get` would answer without waiting; None if it would have to ask."""
        entry = self._held(name)
        if entry is None:
            return None
        now = time.monotonic()
        age = now - entry.loaded
        lives = entry.lives if self.verified else min(entry.lives, UNVERIFIED_SECONDS)
        if age >= lives:
            return None
        if age > lives * REFRESH_SHARE and name not in self._loading and now > self._refresh_at:
            self._start_loading(name)
        return entry

    async def get(self, name: str, client: str = "") -> Value | None:
        """Return the value, or None if there is none.

        `client` is the address of a stranger who asks. Raises Unavailable if no level answers, and
        RateLimited if too many wait for the share that this client is left with.
        """
        if entry := self.peek(name):
            return entry.value
        task = self._task(name, client)
        try:
            return await asyncio.shield(task)
        except Unavailable:
            entry = self._held(name)  # unless it was forgotten meanwhile
            if entry is None:
                raise
            return entry.value

    async def begin_update(self, name: str) -> None:
        """Announce a change in MongoDB: should the writer die on the way, Redis forgets soon.

        Raises Unavailable if Redis does not answer: its copy would outlive the change.
        """
        await self._copies.expire_soon(name, UPDATE_SECONDS)

    async def changed(self, name: str, value: Value | None, version: int) -> None:
        """Publish a change in MongoDB to Redis and every process; `value` None: it is gone."""
        self.forget(name)
        await self._put(name, value, version)
        await self._copies.publish(name)
        self.forget(name)  # again: a look-up meanwhile may have found the old value in Redis

    def forget(self, name: str) -> None:
        """Drop `name` from memory; a look-up under way is answered but not kept."""
        for held in (self._entries, self._absent, self._loading, self._loading_shared):
            held.pop(name, None)

    def forget_all(self) -> None:
        """Drop everything from memory."""
        for held in (self._entries, self._absent, self._loading, self._loading_shared):
            held.clear()

    async def close(self) -> None:
        """End the look-ups under way, and close the connection to MongoDB.

        To be called before Redis is closed: a look-up that goes on would connect to it again.
        """
        for task in [*self._loading.values(), *self._loading_shared.values()]:
            await cancel_and_wait(task)
        await self._source.close()

    def _held(self, name: str) -> Known[Value] | None:
        """Return what memory has of it, however old."""
        return self._entries.get(name) or self._absent.get(name)

    def _task(self, name: str, client: str) -> asyncio.Task[Value | None]:
        """Return the look-up under way, or start one."""
        task = self._loading.get(name)
        if task is not None:
            return task
        if not client or not self._misses.is_spent(client):
            return self._start_loading(name, client)
        return self._loading_shared.get(name) or self._start_loading(name, client, shared=True)

    def _start_loading(
        self, name: str, client: str = "", shared: bool = False
    ) -> asyncio.Task[Value | None]:
        # Others will wait for it too: it carries nobody's request id.
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
            # What is still good is not asked for again by every request. A full share says nothing
            # of the stores.
            if loading is self._loading:
                self._refresh_at = time.monotonic() + REFRESH_PAUSE_SECONDS
        elif not forgotten:
            self._remember(name, task.result())

    def _remember(self, name: str, value: Value | None) -> None:
        self._entries.pop(name, None)
        self._absent.pop(name, None)
        held, bound, lives = self._entries, self._bound, MEMORY_SECONDS
        if value is None:
            held, bound, lives = self._absent, self._bound // 10 + 1, MISS_MEMORY_SECONDS
        held[name] = Known(value, time.monotonic(), lives)
        if len(held) > bound:
            del held[next(iter(held))]

    async def _read(self, name: str, client: str, shared: bool) -> Value | None:
        held = await self._copies.read(name)
        if held is not None:
            with contextlib.suppress(msgspec.DecodeError):  # another release wrote it
                return self._decoder.decode(held) if held else None
        try:
            found = await self._submit(name, shared)
        except Unavailable:
            return await self._stale_copy(name)
        value = None if found is None else self._source.value_of(found)
        if value is None and client:
            self._misses.spend(client)
        if value is not None or not shared:  # Redis has no room for what a stranger makes up
            await self._copy(name, value)
        return value

    async def _copy(self, name: str, value: Value | None) -> None:
        """Have Redis keep what MongoDB told, if it has room; a change is written in any case."""
        kind = OptionalWrite.MISS if value is None else OptionalWrite.COPY
        if self._budget.allows(kind):
            await self._put(name, value, 0 if value is None else value.version)

    async def _submit(self, name: str, shared: bool) -> Any:
        """Ask MongoDB. Raises Unavailable or RateLimited."""
        if not shared:
            return await self._found.submit(name)
        try:
            waiting = self._found_shared.submit(name)
        except Unavailable:
            LOOK_UPS_SHARED.labels("refused").inc()
            raise RateLimited("too many unknown names from this address", 1) from None
        LOOK_UPS_SHARED.labels("answered").inc()
        return await waiting

    async def _from_share(self, names: list[str]) -> Sequence[Any]:
        found = await self._from_mongodb(names)
        await asyncio.sleep(SHARED_REST_SECONDS)
        return found

    async def _from_mongodb(self, names: list[str]) -> Sequence[Any]:
        async with self._asking:
            if self._mongodb.is_open:
                raise Unavailable("storage is unavailable; try again")
            try:
                found = await answer_within(LOAD_SECONDS, self._found_in_mongodb(names))
            except (PyMongoError, TimeoutError) as error:
                self._mongodb.failed(error)
                raise Unavailable("storage is unavailable; try again") from error
        return [found.get(name) for name in names]

    async def _found_in_mongodb(self, names: list[str]) -> Mapping[str, Any]:
        return await self._source.find(names)

    async def _stale_copy(self, name: str) -> Value:
        """Return the stale copy that Redis has. Raises Unavailable if it has none."""
        stale = await self._copies.read_stale(name)
        if stale is not None:
            with contextlib.suppress(msgspec.DecodeError):
                return self._decoder.decode(stale)
        raise Unavailable("storage is unavailable; try again")

    async def _put(self, name: str, value: Value | None, version: int) -> None:
        lives = MISS_REDIS_SECONDS if value is None else REDIS_SECONDS
        encoded = b"" if value is None else self._encoder.encode(value)
        await self._copies.store(Copy(name, version, encoded, lives))
