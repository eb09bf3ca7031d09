"""A read-through cache in three levels: this process, Redis, MongoDB.

- Every process sees a change within a second. While the subscription is down, it trusts memory for
  UNVERIFIED_SECONDS.
- A crash of the writer leaves the old value of an announced change for UPDATE_SECONDS at most.
- While Redis is unavailable, MongoDB answers. While MongoDB is unavailable, Redis serves what it
  has. Without both, memory serves its values, however old.
- Clients with too many unknown names share a small part of the queries to MongoDB.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from typing import Final, Generic, TypeVar

import msgspec

from tracker.errors import TrackerError, Unavailable
from tracker.limits.allowance import Allowance
from tracker.loops import sleep_in_step
from tracker.stores.batch import Waiter
from tracker.stores.cache.copies import UPDATE_SECONDS, Copies, Copy, Found
from tracker.stores.cache.loading import Loaded, Loading
from tracker.stores.cache.lookup import BatchedLookup, CacheLookup
from tracker.stores.cache.memory import CacheEntry, Memory
from tracker.stores.redis.server_id import UNKNOWN_SERVER

UNVERIFIED_SECONDS: Final = 1.0
"""How long memory is trusted while the subscription is down."""

REFRESH_SHARE: Final = 0.7
"""A requested value is loaded again after this share of its time in memory, so nobody waits."""

REFRESH_PAUSE_SECONDS: Final = 1.0
"""The pause after a failed look-up, before values still in memory are loaded again."""

COPY_SECONDS: Final = 30 * 86400.0
"""The life of a copy in Redis, after which the next reader stores it again."""

MISS_COPY_SECONDS: Final = 30.0


_MAX_CHANGED: Final = 10_000
"""Changed values whose copies are stored again soon. Beyond it, the next reader stores the copy."""


class Versioned(msgspec.Struct, frozen=True, kw_only=True):
    """A value that can be cached; `version` grows with every change of the document."""

    version: int


Value = TypeVar("Value", bound=Versioned)


class Cache(Generic[Value]):
    """A cache of values of one type, by name (their Redis key); `max_values` are in memory.

    `verified` is true while the process receives every change (`stores/cache/changes`). A value
    that may change without a notice has its own `copy_seconds`.
    """

    def __init__(
        self,
        copies: Copies,
        kind: type[Value],
        lookup: CacheLookup[Value],
        max_values: int,
        misses: Allowance | None = None,
        copy_seconds: Callable[[Value], float] = lambda _: COPY_SECONDS,
    ) -> None:
        self._copies = copies
        self._copy_seconds = copy_seconds
        self._batched_lookup = BatchedLookup(lookup)
        self._lookup = lookup
        self._misses = misses or Allowance(0)
        self._loading: dict[str, Loading[Value]] = {}
        self._loading_shared: dict[str, Loading[Value]] = {}
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._encoder = msgspec.msgpack.Encoder()
        self._memory = Memory[Value](max_values, self._encoder.encode, self._decoder.decode)
        self._refresh_at = 0.0
        self._changed_at: dict[str, float] = {}
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
        waiter: asyncio.Future[Value | None] = asyncio.get_running_loop().create_future()
        self.load(name, client, waiter)
        return await waiter

    def load(self, name: str, client: str, waiter: Waiter[Value | None]) -> None:
        """Hand the value to `waiter`, as `get` does. A copy in Redis takes no task of its own."""
        loading = self._loading.get(name)
        if loading is not None:
            loading.add(waiter)
        elif not client or not self._misses.is_used_up(client):
            self._start_loading(name, client, waiter=waiter)
        elif loading := self._loading_shared.get(name):
            loading.add(waiter)
        else:
            self._start_loading(name, client, shared=True, waiter=waiter)

    async def begin_update(self, name: str) -> None:
        """Let MongoDB answer until UPDATE_SECONDS are over. Raises Unavailable without Redis."""
        self.forget(name)
        await self._copies.begin_update(name)

    async def changed(self, name: str, value: Value | None, version: int) -> None:
        """Publish a change that was begun; `value` None means deleted.

        Raises Unavailable if Redis does not answer: the change is stored, but an answer would
        promise that nobody sees the old value.
        """
        await self._publish(self._copy(name, value, version))
        if value is not None and len(self._changed_at) < _MAX_CHANGED:
            self._changed_at[name] = time.monotonic()

    async def created(self, name: str, value: Value) -> None:
        """Publish a value whose name had none, before anybody can change it, if Redis answers."""
        server = await self._copies.server_of(name)
        with contextlib.suppress(Unavailable):
            await self._publish(self._copy(name, value, value.version, server))

    async def restore(self, names: Sequence[str]) -> None:
        """Store a copy of each value that lacks one. Without a store nothing happens."""
        for outcome in await asyncio.gather(*map(self._restore, names), return_exceptions=True):
            if isinstance(outcome, BaseException) and not isinstance(outcome, TrackerError):
                raise outcome

    async def keep_restoring(self) -> None:
        """Store the copies of changed values once they have expired, until cancelled."""
        while True:
            await sleep_in_step(1)
            now = time.monotonic()
            due = [name for name, at in self._changed_at.items() if now >= at + UPDATE_SECONDS + 1]
            for name in due:
                del self._changed_at[name]
            await self.restore(due)

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
        loading = [*self._loading.values(), *self._loading_shared.values()]
        self._loading.clear()
        self._loading_shared.clear()
        for one in loading:
            await one.cancel(Unavailable("the service stops; try again"))

    def _start_loading(
        self,
        name: str,
        client: str = "",
        shared: bool = False,
        waiter: Waiter[Value | None] | None = None,
    ) -> None:
        loading = Loading(name, client, shared, self._read)
        if waiter is not None:
            loading.add(waiter)
        self._in_flight(loading)[name] = loading
        try:
            self._copies.read(name, loading)
        except Unavailable as error:
            self._fail(loading, error)

    def _in_flight(self, loading: Loading[Value]) -> dict[str, Loading[Value]]:
        return self._loading_shared if loading.shared else self._loading

    def _read(self, loading: Loading[Value], copy: Found) -> None:
        """Continue with the copy if it can be trusted, else with MongoDB."""
        loaded = self._decoded(copy)
        if loaded is not None:
            self._finish(loading, loaded)
            return
        # Several requests may wait for the result, so the task carries no request's id.
        query = self._query(loading.name, copy, loading.client, loading.shared)
        loading.task = asyncio.get_running_loop().create_task(query, context=Context())
        loading.task.add_done_callback(partial(self._queried, loading))

    def _queried(self, loading: Loading[Value], task: asyncio.Task[Loaded[Value]]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._finish(loading, task.result())
        elif isinstance(error, Exception):
            self._fail(loading, error)

    def _finish(self, loading: Loading[Value], loaded: Loaded[Value]) -> None:
        in_flight = self._in_flight(loading)
        if in_flight.get(loading.name) is loading:  # unless it was forgotten
            del in_flight[loading.name]
            self._memory.remember(loading.name, *loaded)
        loading.finish(loaded.value)

    def _fail(self, loading: Loading[Value], error: Exception) -> None:
        in_flight = self._in_flight(loading)
        if in_flight.get(loading.name) is loading:
            del in_flight[loading.name]
        # After a failure, requests do not try at once to refresh a value that is still good. A
        # failure in the share may only mean that the share is full.
        if not loading.shared:
            self._refresh_at = time.monotonic() + REFRESH_PAUSE_SECONDS
        entry = self._memory.find(loading.name) if isinstance(error, Unavailable) else None
        if entry is None:
            loading.fail(error)
        else:
            loading.finish(entry.value)

    async def _restore(self, name: str) -> None:
        copy = await self._copies.find(name)
        if self._decoded(copy) is None:
            await self._query(name, copy)

    def _decoded(self, copy: Found) -> Loaded[Value] | None:
        """Return the value of a copy; None if MongoDB has to be asked."""
        if copy.current:
            with contextlib.suppress(msgspec.DecodeError):  # another release wrote it
                return Loaded(
                    self._value_of(copy.value, copy.version) if copy.value else None, True
                )
        return None

    async def _query(
        self, name: str, copy: Found, client: str = "", shared: bool = False
    ) -> Loaded[Value]:
        """Ask MongoDB, and store a copy."""
        try:
            found = await (
                self._batched_lookup.find_in_share if shared else self._batched_lookup.find
            )(name)
        except Unavailable:
            return Loaded(self._outdated(copy), False)
        value = None if found is None else self._lookup.value_of(found)
        if value is None and client:
            self._misses.use(client)
        if value is not None or not shared:  # unknown names that a flood requests get no copy
            version = 0 if value is None else value.version
            await self._copies.store(self._copy(name, value, version, copy.server))
        return Loaded(value, copy.settled)

    def _outdated(self, copy: Found) -> Value:
        """Return the value of a copy that MongoDB cannot confirm, if there is one."""
        if copy.value:
            with contextlib.suppress(msgspec.DecodeError):
                return self._value_of(copy.value, copy.version)
        raise Unavailable("storage is unavailable; try again")

    def _copy(
        self, name: str, value: Value | None, version: int, server: bytes = UNKNOWN_SERVER
    ) -> Copy:
        if value is None:
            return Copy(name, version, b"", MISS_COPY_SECONDS, server)
        # The copy has the version already, in 8 bytes. Another 9 were a twentieth of a link's.
        encoded = self._encoder.encode(msgspec.structs.replace(value, version=0))
        return Copy(name, version, encoded, self._copy_seconds(value), server)

    def _value_of(self, encoded: bytes, version: int) -> Value:
        """Raises DecodeError if another release wrote the copy."""
        return msgspec.structs.replace(self._decoder.decode(encoded), version=version)

    async def _publish(self, copy: Copy) -> None:
        self.forget(copy.name)
        await self._copies.publish(copy)
        self.forget(copy.name)  # again: a look-up meanwhile may have found the old value
