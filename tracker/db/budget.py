"""The memory that everything in Redis but the journal may take, and what is left out beyond it.

Strangers make keys: visitors' marks, copies of misses, claims of transaction ids, counters. So that
they never take the room of the journal, all of it together has a share of Redis, `SHARE`. As that
fills, optional writes are skipped in the order of `OptionalWrite`. Each caller guarantees that what
it counts stays right without its write.

`Budget` is pure; the process's `BudgetMeter` keeps telling it what is used.
"""

import asyncio
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker import metrics
from tracker.db.keys import DEAD_LETTERS, JOURNAL

log = structlog.get_logger(__name__)

SHARE: Final = 0.5
"""The share of Redis's memory; the journal has the rest, and may take more."""

_MEASURE_EVERY: Final = 1.0
"""Seconds. Ten thousand new keys of 130 bytes, of a flood in that time, are 1.3 MB."""

_SAMPLES: Final = 1000
"""Nodes of a stream that Redis measures, in 46 µs: of 48 MB in entries of 0.3 to 25 KB it is wrong
by 0.3 % then, by 6 % with a hundred and by 46 % with its default of five."""

_TELL_EVERY: Final = 60.0
"""Seconds between two lines of the log, should what is used go up and down."""

_OF_CONNECTIONS: Final = (
    "used_memory_startup",
    "mem_clients_normal",
    "mem_clients_slaves",
    "mem_replication_backlog",
    "mem_aof_buffer",
)
"""Fields of INFO that tell of memory which holds no key."""


class OptionalWrite(StrEnum):
    """Writes that are skipped when there is no room for them, the first to be skipped first."""

    MISS = "miss"
    """That a name is not there: each process asks MongoDB for itself."""
    CLAIM_OF_NOBODY = "claim_of_nobody"
    """The transaction id of an event without an account: a repeated one may be answered with an id
    of its own until it is drained, and is counted once."""
    VISITOR = "visitor"
    """Marks of visitors: without one a new visitor counts as a click, not as a unique visitor."""
    CLAIM = "claim"
    """Any other transaction id: MongoDB decides who was first."""
    CLICK_CAP = "click_cap"
    """How many conversions of a click are under way: the drain alone decides which count."""
    COPY = "copy"
    """Copies of links, domains and event configurations: MongoDB is asked more often."""
    RATE_LIMIT = "rate_limit"
    """Requests are not counted: being available comes first."""


SKIPPED_FROM: Final[Mapping[OptionalWrite, float]] = {
    OptionalWrite.MISS: 0.6,
    OptionalWrite.CLAIM_OF_NOBODY: 0.7,
    OptionalWrite.VISITOR: 0.8,
    OptionalWrite.CLAIM: 0.9,
    OptionalWrite.CLICK_CAP: 0.9,
    OptionalWrite.COPY: 1.0,
    OptionalWrite.RATE_LIMIT: 1.0,
}
"""The part of the budget that is used when a write is skipped. First what strangers make and
nobody misses; last what only accounts and operators make, or what keeps strangers off."""


class Budget:
    """The used part of the budget, from 0; nothing until it was measured."""

    def __init__(self) -> None:
        self.used = 0.0

    def has_room(self, kind: OptionalWrite) -> bool:
        """Return whether a write of this kind is to be made now."""
        return self.used < SKIPPED_FROM[kind]

    def allows(self, kind: OptionalWrite) -> bool:
        """Return whether a write of this kind is to be made now, and count it as skipped if not."""
        if self.has_room(kind):
            return True
        self.count_skipped(kind, 1)
        return False

    def count_skipped(self, kind: OptionalWrite, writes: int) -> None:
        """Count so many writes of this kind as skipped."""
        metrics.REDIS_SKIPPED.labels(kind.value).inc(writes)

    def skipped(self) -> list[OptionalWrite]:
        """Return the kinds of writes that are skipped now."""
        return [kind for kind in OptionalWrite if not self.has_room(kind)]


class BudgetMeter:
    """A meter that measures how much of `budget` is used.

    `memory` is what Redis may use, in bytes, where it has no maxmemory.
    """

    def __init__(self, redis: Redis, budget: Budget, memory: int) -> None:
        self._redis = redis
        self._budget = budget
        self._memory = memory
        self._told: list[OptionalWrite] = []
        self._tell_at = 0.0

    async def keep_measuring(self) -> None:
        """Measure every second, until cancelled. While Redis is unavailable, nothing changes."""
        while True:
            try:
                await self.measure()
            except RedisError as error:
                log.debug("memory not measured", error=type(error).__name__)
            await asyncio.sleep(_MEASURE_EVERY)

    async def measure(self) -> None:
        """Measure once. Raises RedisError if Redis fails.

        A Redis that does not tell the size of a stream has it count as everything else does.
        """
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.info("memory")
        for stream in (JOURNAL, DEAD_LETTERS):
            pipeline.memory_usage(stream, samples=_SAMPLES)
        memory, *streams = await pipeline.execute(raise_on_error=False)
        if isinstance(memory, RedisError):
            raise memory
        self._set(used_bytes(memory, streams), SHARE * (memory.get("maxmemory") or self._memory))

    def _set(self, used: int, limit: float) -> None:
        metrics.REDIS_OPTIONAL_BYTES.set(used)
        metrics.REDIS_OPTIONAL_LIMIT.set(limit)
        self._budget.used = used / limit
        skipped = self._budget.skipped()
        if skipped != self._told and time.monotonic() >= self._tell_at:
            self._told, self._tell_at = skipped, time.monotonic() + _TELL_EVERY
            log.warning(
                "Redis fills: optional writes are skipped" if skipped else "Redis has room again",
                used_bytes=used,
                limit_bytes=int(limit),
                skipped_writes=[kind.value for kind in skipped],
            )


def used_bytes(memory: Mapping[str, Any], streams: list[Any]) -> int:
    """Return what is used by keys other than `streams`, of whose sizes one may be unknown."""
    others = sum(int(memory.get(name, 0)) for name in _OF_CONNECTIONS)
    known = sum(size for size in streams if isinstance(size, int))
    return max(0, int(memory["used_memory"]) - others - known)
