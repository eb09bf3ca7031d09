"""Approximate LRU eviction of copies in Redis, before other writes are skipped.

One process evicts, by a lease, at a bounded rate. Redis knows the idle time of each key. A scan
returns keys in the order of their hashes. From each page of it the longest unused are evicted, so
no process sorts all keys.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.metrics import COPIES_EVICTED
from tracker.stores.redis import keys
from tracker.stores.redis.cluster import in_one_slot, servers
from tracker.stores.redis.lease import Lease
from tracker.stores.redis.memory_budget import EVICT_FROM, EVICT_UNTIL, Budget

log = structlog.get_logger(__name__)

UNUSED_SECONDS: Final = 600
"""Copies used since then stay. A process reads a copy in steady use again before memory forgets
it. Longer than a change takes, in which a copy keeps readers from storing an old value."""

EVICTED_SHARE: Final = 8
"""One of so many copies of a page goes. A smaller share is slower, and closer to exact LRU."""

KEYS_AT_ONCE: Final = 200
PAUSE_SECONDS: Final = 0.05
"""The pause after so many keys: at most 4,000 a second are looked at, and 500 evicted."""

LOOK_SECONDS: Final = 5.0
_LEASE_SECONDS: Final = 60.0

# In a script, because a change may begin meanwhile. KEYS: names. ARGV: seconds.
_EVICT: Final = """
local evicted = 0
for _, name in ipairs(KEYS) do
  local unused = redis.call('OBJECT', 'IDLETIME', name)
  if unused and unused >= tonumber(ARGV[1]) then
    evicted = evicted + redis.call('UNLINK', name)
  end
end
return evicted
"""


class CopyEviction:
    """The loop of a process that evicts copies from a Redis that fills up.

    `prefixes` begin the names of copies, such as `link`.
    """

    def __init__(self, redis: Redis, budget: Budget, prefixes: Sequence[str]) -> None:
        self._redis = redis
        self._budget = budget
        self._prefixes = tuple(f"{prefix}:".encode() for prefix in prefixes)
        self._lease = Lease(redis, keys.COPIES_LEASE, _LEASE_SECONDS)
        self._evict = redis.register_script(_EVICT)
        self._cursors: dict[Redis, int] = {}

    async def run(self) -> None:
        """Look until cancelled whether room is needed."""
        while True:
            try:
                await self.make_room()
            except (RedisError, OSError, TimeoutError) as error:
                log.warning("copies not evicted", error=type(error).__name__)
            await asyncio.sleep(LOOK_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311

    async def make_room(self) -> int:
        """Evict until there is room, or all keys have been looked at; return how many went."""
        if self._budget.used < EVICT_FROM or not await self._lease.acquire():
            return 0
        evicted = 0
        for server in await servers(self._redis):
            evicted += await self._make_room_on(server)
        await self._lease.release()
        if evicted:
            log.warning("Redis has no room for all copies: the longest unused went", copies=evicted)
        return evicted

    async def _make_room_on(self, server: Redis) -> int:
        """Go on from where the last call ended, until all keys have been looked at."""
        evicted, left = 0, await server.dbsize()
        while self._budget.used >= EVICT_UNTIL and left > 0 and await self._lease.acquire():
            cursor = self._cursors.get(server, 0)
            found: Any = await server.scan(cursor, count=KEYS_AT_ONCE)
            self._cursors[server], names = found
            evicted += await self._evict_some(server, names)
            left -= KEYS_AT_ONCE
            await asyncio.sleep(PAUSE_SECONDS)
        return evicted

    async def _evict_some(self, server: Redis, names: Sequence[bytes]) -> int:
        copies = [name for name in names if name.startswith(self._prefixes)]
        pipeline = server.pipeline(transaction=False)
        for name in copies:
            pipeline.object("IDLETIME", name)
        unused = await pipeline.execute(raise_on_error=False)
        found = [
            (seconds, name.decode())
            for seconds, name in zip(unused, copies, strict=True)
            if isinstance(seconds, int) and seconds >= UNUSED_SECONDS
        ]
        found.sort(reverse=True)
        longest = [name for _, name in found[: -(-len(copies) // EVICTED_SHARE)]]
        evicted = 0
        for group in in_one_slot(self._redis, longest) if longest else ():
            evicted += await self._evict([longest[one] for one in group], [UNUSED_SECONDS])
        COPIES_EVICTED.inc(evicted)
        return evicted
