"""The copies in Redis of cached values (`stores/cache/cache`).

A copy is one string: the version of the value, the id of the server that it was stored on, and the
encoded value, empty for a miss. It stays as long as the value, and is replaced only by a newer
version.

A copy is trusted only on the server that it was stored on: after a failover or a restart, Redis may
lack the last changes. From the beginning of a change it has no server, so that MongoDB answers, and
expires after UPDATE_SECONDS, whether the writer lives or dies. Readers store none meanwhile.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from struct import Struct
from typing import Final, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from tracker.errors import Unavailable
from tracker.stores.batch import Batch, Waiter
from tracker.stores.breaker import Breaker
from tracker.stores.mongodb.drivers import MONGODB_TIMEOUT_SECONDS
from tracker.stores.redis import keys
from tracker.stores.redis.clients import known_server_id
from tracker.stores.redis.cluster import in_one_slot, is_cluster
from tracker.stores.redis.command_connection import RedisCommandConnection
from tracker.stores.redis.memory_budget import Budget, OptionalWrite
from tracker.stores.redis.server_id import UNKNOWN_SERVER

UPDATE_SECONDS: Final = MONGODB_TIMEOUT_SECONDS + 5
"""How long a copy lives after an announced change. A change takes less time."""

_HEADER: Final = Struct(">q4s")

_NO_COPY: Final = _HEADER.pack(-1, UNKNOWN_SERVER)
"""The placeholder of `begin_update` for a missing copy, so that no reader stores an old value."""

_COPIES_PER_SCRIPT: Final = 100
"""Redis answers no other client until a script ends."""

# Stores copies unless Redis holds newer or the same ones: of one version a reader replaces what it
# could not decode. During a change only its writer stores one, which expires as soon as the change
# would. A hash was left by 1.0.0, and is replaced. Where a full Redis takes none, the old one goes.
# KEYS: names. ARGV: whether a change stores them, milliseconds of a change; then copy and
# milliseconds to live, for each.
_STORE_NEWER: Final = """
local unknown, update = string.rep('\\0', 4), tonumber(ARGV[2])
for i, name in ipairs(KEYS) do
  local copy, ttl = ARGV[2 * i + 1], tonumber(ARGV[2 * i + 2])
  local version = struct.unpack('>i8', copy)
  local left, keeps = redis.call('PTTL', name), false
  local held = redis.call('MGET', name)[1]
  if held then
    local held_version, held_server = struct.unpack('>i8c4', held)
    local is_updating = held_server == unknown and left <= update
    keeps = held_version > version or is_updating and ARGV[1] == '0' or held == copy
  end
  if not keeps then
    if left > 0 and left <= update then ttl = math.min(ttl, left) end
    local stored = redis.pcall('SET', name, copy, 'PX', ttl)
    if stored.err then redis.call('DEL', name) end
  end
end
"""

# Works without a copy too: a reader may yet store the old value. Nothing is left of a copy that a
# full Redis would keep trusted, nor of a hash. KEYS: name. ARGV: milliseconds to live, the copy of
# nothing, no server.
_BEGIN_UPDATE: Final = """
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 1 then
  local marked = redis.pcall('SETRANGE', KEYS[1], 8, ARGV[3])
  if type(marked) == 'number' then return end
  redis.call('DEL', KEYS[1])
end
redis.pcall('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
"""


class Copy(NamedTuple):
    """An encoded value to store for `seconds`, empty for a miss.

    `server` held the name before the value was read from MongoDB. A copy of no server is not
    trusted, but better than none while MongoDB is unavailable.
    """

    name: str
    version: int
    value: bytes
    seconds: float
    server: bytes = UNKNOWN_SERVER


class Found(NamedTuple):
    """The copy of a name in Redis: None if there is none, empty for a miss, else encoded.

    `server` holds the name now. A value that is not `current` may be older than an answered change.
    Unless `settled`, a change may be under way. `version` is that of the value.
    """

    value: bytes | None
    server: bytes = UNKNOWN_SERVER
    current: bool = False
    settled: bool = False
    version: int = 0


_UNKNOWN: Final = Found(None)


class Copies:
    """The copies of one process's caches; concurrent reads and writes share round trips."""

    def __init__(self, redis: Redis, breaker: Breaker, budget: Budget) -> None:
        self._redis = redis
        self._breaker = breaker
        self._budget = budget
        self._store_newer = redis.register_script(_STORE_NEWER)
        self._begin_update = redis.register_script(_BEGIN_UPDATE)
        self._reads = Batch[str, Found](self._read_all)
        self._reading = RedisCommandConnection(redis)
        store, store_changed = (partial(self._store_all, is_change=one) for one in (False, True))
        self._writes = Batch[Copy, None](store, _COPIES_PER_SCRIPT)
        self._changes = Batch[Copy, None](store_changed, _COPIES_PER_SCRIPT)
        self._notices = Batch[str, None](self._publish_all)
        self._publishing = RedisCommandConnection(redis, keys.CHANGES)

    def read(self, name: str, waiter: Waiter[Found]) -> None:
        """Hand the copy to `waiter`, at once if Redis is unavailable. Raises Unavailable."""
        if self._breaker.is_open:
            waiter.set_result(_UNKNOWN)
        else:
            self._reads.add(name, waiter)

    async def find(self, name: str) -> Found:
        waiter: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self.read(name, waiter)
        return await waiter

    async def server_of(self, name: str) -> bytes:
        """Return the id of the server that holds the name, by a connection if there was none."""
        try:
            server = await known_server_id(self._redis, name)
            if server == UNKNOWN_SERVER:
                await self._redis.exists(name)
                server = await known_server_id(self._redis, name)
        except RedisError:
            return UNKNOWN_SERVER
        return server

    async def store(self, copy: Copy) -> None:
        """Store what a reader found, if there is room. Errors are only recorded."""
        kind = OptionalWrite.COPY if copy.value else OptionalWrite.MISS
        if copy.server == UNKNOWN_SERVER or not self._budget.allows(kind):
            return
        with contextlib.suppress(Unavailable):
            await self._submit(self._writes.submit, copy)

    async def begin_update(self, name: str) -> None:
        """Let nobody trust a copy, and have every process forget the value.

        Raises Unavailable if Redis does not answer.
        """
        arguments = [_milliseconds(UPDATE_SECONDS), _NO_COPY, UNKNOWN_SERVER]
        await self._submit(self._begin_update, [name], arguments)
        await self._submit(self._notices.submit, name)

    async def publish(self, copy: Copy) -> None:
        """Store what a change has made of a value, and have every process forget the old one.

        Raises Unavailable if Redis does not answer.
        """
        await self._submit(self._changes.submit, copy)
        await self._submit(self._notices.submit, copy.name)

    async def _submit(self, write: Callable[..., Awaitable[object]], *arguments: object) -> None:
        """Write to Redis. Raises Unavailable if it does not answer, or takes no writes."""
        try:
            await write(*arguments)
        except RedisError as error:
            if not isinstance(error, ResponseError):
                self._breaker.record_failure(error)
            raise Unavailable("storage is unavailable; try again") from error

    async def _read_all(self, names: list[str]) -> list[Found]:
        if self._breaker.is_open:  # opened meanwhile; each waiting group would find out by waiting
            return [_UNKNOWN] * len(names)
        try:
            found = await self._find_all(names)
        except RedisError as error:
            self._breaker.record_failure(error)
            return [_UNKNOWN] * len(names)
        self._breaker.record_success()
        return found

    async def _find_all(self, names: list[str]) -> list[Found]:
        # MGET finds None for a hash of 1.0.0. The id of a server is asked for after its answer,
        # which may come from a server that is new.
        if not is_cluster(self._redis):
            held = await self._reading.execute("MGET", *names)
            servers = [await known_server_id(self._redis, names[0])] * len(names)
        else:
            pipeline = self._redis.pipeline(transaction=False)
            for name in names:
                pipeline.mget(name)
            held = [answer[0] for answer in await pipeline.execute()]
            servers = [await known_server_id(self._redis, name) for name in names]
        return list(map(_found, held, servers))

    async def _publish_all(self, names: list[str]) -> list[None]:
        notices = [("PUBLISH", keys.CHANGES, name) for name in names]
        await self._publishing.execute_all(*notices)
        return [None] * len(names)

    async def _store_all(self, copies: list[Copy], is_change: bool) -> list[None]:
        groups = in_one_slot(self._redis, [copy.name for copy in copies])
        stored = (self._store_group([copies[one] for one in group], is_change) for group in groups)
        await asyncio.gather(*stored)
        return [None] * len(copies)

    async def _store_group(self, copies: list[Copy], is_change: bool) -> None:
        arguments: list[int | bytes] = [int(is_change), _milliseconds(UPDATE_SECONDS)]
        for copy in copies:
            header = _HEADER.pack(copy.version, copy.server)
            arguments += header + copy.value, _milliseconds(copy.seconds)
        await self._store_newer(keys=[copy.name for copy in copies], args=arguments)


def _found(held: bytes | None, server: bytes) -> Found:
    trusts = server != UNKNOWN_SERVER
    if held is None or len(held) < _HEADER.size:
        return Found(None, server, settled=trusts)
    version, stored_on = _HEADER.unpack_from(held)
    value = held[_HEADER.size :] if version >= 0 else None
    settled = trusts and stored_on != UNKNOWN_SERVER
    return Found(value, server, settled and stored_on == server, settled, version)


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
