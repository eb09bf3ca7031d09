"""A lease in Redis, for work that only one drain does at a time."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, Final
from uuid import uuid4

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.loops import run_until
from tracker.stores.redis import keys

# KEYS: the lease, an unused key. ARGV: holder, milliseconds of the lease.
_ACQUIRE: Final = """
redis.call('DEL', KEYS[2])
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""

# KEYS: the lease. ARGV: holder.
_RELEASE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""


class Lease:
    """The lease of one kind of work, by its key, for `seconds` since it was last renewed."""

    def __init__(self, redis: Redis, key: str, seconds: float) -> None:
        self._key = key
        self._milliseconds = int(seconds * 1000)
        self._acquire = redis.register_script(_ACQUIRE)
        self._release = redis.register_script(_RELEASE)
        self._holder = uuid4().hex
        self._is_held = False

    async def acquire(self) -> bool:
        """Take or renew the lease. Return False if another holder has it."""
        arguments: list[str | int] = [self._holder, self._milliseconds]
        names = [self._key, keys.never_set(self._key)]
        self._is_held = bool(await self._acquire(keys=names, args=arguments))
        return self._is_held

    async def run_until(self, stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` until `stop` is set, then end the lease. Raises the errors of `work`."""
        try:
            await run_until(stop, work)
        finally:
            with contextlib.suppress(RedisError):
                await self.release()

    async def release(self) -> None:
        if self._is_held:
            self._is_held = False
            await self._release(keys=[self._key], args=[self._holder])
