"""The copies in Redis of cached values (`stores/cache/cache`).

A copy is a hash of a version and the encoded value. A stale copy lives for a week, for when MongoDB
is unavailable. An older version never replaces a newer one.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError

from tracker.errors import Unavailable
from tracker.stores.batch import Batch
from tracker.stores.breaker import Breaker
from tracker.stores.redis import keys
from tracker.stores.redis.cluster import in_one_slot

STALE_SECONDS: Final = 7 * 86400.0

_COPIES_PER_SCRIPT: Final = 100
"""Redis answers no other client until a script ends."""

# Stores values unless Redis holds newer ones. A newer value never extends the time to live, which
# `expire_soon` may have shortened. KEYS: name and its stale copy, for each. ARGV: milliseconds of
# stale copies; then version, value and milliseconds to live, for each.
_STORE_NEWER: Final = """
for i = 1, #KEYS, 2 do
  local name, at = KEYS[i], 1 + (i - 1) / 2 * 3
  local version, value, ttl = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local stored = redis.call('HGET', name, 'version')
  if not stored or tonumber(stored) < tonumber(version) then
    redis.call('HSET', name, 'version', version, 'value', value)
    if redis.call('PTTL', name) < 0 then redis.call('PEXPIRE', name, ttl) end
    if value == '' then redis.call('DEL', KEYS[i + 1])
    else redis.call('SET', KEYS[i + 1], value, 'PX', ARGV[1]) end
  end
end
"""

# Works without a value too: a reader may yet store the old one. A full Redis refuses both (hence
# pcall). KEYS: name. ARGV: milliseconds to live.
_EXPIRE_SOON: Final = """
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then
  redis.pcall('HSET', KEYS[1], 'version', -1)
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
"""


class Copy(NamedTuple):
    """An encoded value, empty for a miss, and how long its copy lives."""

    name: str
    version: int
    value: bytes
    ttl_seconds: float


class Copies:
    """The copies in one Redis; concurrent reads and writes share round trips."""

    def __init__(self, redis: Redis, breaker: Breaker) -> None:
        self._redis = redis
        self._breaker = breaker
        self._store_newer = redis.register_script(_STORE_NEWER)
        self._expire_soon = redis.register_script(_EXPIRE_SOON)
        self._reads = Batch[str, bytes | None](self._read_all)
        self._stale_reads = Batch[str, bytes | None](self._read_all_stale)
        self._writes = Batch[Copy, None](self._store_all, _COPIES_PER_SCRIPT)

    async def read(self, name: str) -> bytes | None:
        """Return the copy, empty for a miss; None if Redis has none or is unavailable."""
        if self._breaker.is_open:
            return None
        try:
            value = await self._reads.submit(name)
        except RedisError as error:
            self._breaker.record_failure(error)
            return None
        self._breaker.record_success()
        return value

    async def read_stale(self, name: str) -> bytes | None:
        with contextlib.suppress(RedisError):
            return await self._stale_reads.submit(name)
        return None

    async def store(self, copy: Copy) -> None:
        """Store a copy if Redis takes it; otherwise the next reader tries again."""
        try:
            await self._writes.submit(copy)
        except (ResponseError, Unavailable):  # Redis works but is full, or too many wait
            return
        except RedisError as error:
            self._breaker.record_failure(error)

    async def expire_soon(self, name: str, seconds: float) -> None:
        """Let a copy expire in `seconds`. Raises Unavailable if Redis does not answer."""
        try:
            await self._expire_soon(keys=[name], args=[int(seconds * 1000)])
        except RedisError as error:
            self._breaker.record_failure(error)
            raise Unavailable("storage is unavailable; try again") from error

    async def publish(self, name: str) -> None:
        try:
            await self._redis.publish(keys.CHANGES, name)
        except RedisError as error:
            self._breaker.record_failure(error)

    async def _read_all(self, names: list[str]) -> Sequence[bytes | None]:
        if self._breaker.is_open:  # opened meanwhile; each waiting group would find out by waiting
            raise RedisConnectionError("Redis is unavailable")
        pipeline = self._redis.pipeline(transaction=False)
        for name in names:
            pipeline.hget(name, "value")
        return await pipeline.execute()

    async def _read_all_stale(self, names: list[str]) -> Sequence[bytes | None]:
        if self._breaker.is_open:
            raise RedisConnectionError("Redis is unavailable")
        pipeline = self._redis.pipeline(transaction=False)
        for name in names:
            pipeline.get(keys.stale_copy(name))
        return await pipeline.execute()

    async def _store_all(self, copies: list[Copy]) -> list[None]:
        groups = in_one_slot(self._redis, [copy.name for copy in copies])
        stored = (self._store_group([copies[one] for one in group]) for group in groups)
        await asyncio.gather(*stored)
        return [None] * len(copies)

    async def _store_group(self, copies: list[Copy]) -> None:
        names = [key for copy in copies for key in (copy.name, keys.stale_copy(copy.name))]
        values: list[int | bytes] = [int(STALE_SECONDS * 1000)]
        for copy in copies:
            values += copy.version, copy.value, int(copy.ttl_seconds * 1000)
        await self._store_newer(keys=names, args=values)
