"""The memory budget of everything in Redis but the journal.

Anyone can make the service write keys. All together they may use BUDGET_SHARE of Redis, so that the
journal has room. As the budget fills, writes are skipped in the order of `OptionalWrite`. Each
caller guarantees that its counts stay right without its write.
"""

import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker import metrics
from tracker.loops import sleep_in_step
from tracker.stores.redis.cluster import server_of, servers
from tracker.stores.redis.keys import DEAD_LETTERS, JOURNAL

log = structlog.get_logger(__name__)

BUDGET_SHARE: Final = 0.5
"""The share of Redis's memory. The journal has the rest, and may use this share too."""

_MEASURE_INTERVAL_SECONDS: Final = 1.0
"""A flood makes ten thousand keys of 130 bytes in this time, or 1.3 MB."""

_SAMPLED_NODES: Final = 1000
"""Nodes of a stream that Redis measures, in 46 µs. For 48 MB in entries of 0.3 to 25 KB the error
was 0.3 %; with 100 nodes it was 6 %, with the default of 5 46 %."""

_LOG_INTERVAL_SECONDS: Final = 60.0

_KEYLESS_FIELDS: Final = (
    "used_memory_startup",
    "mem_clients_normal",
    "mem_clients_slaves",
    "mem_replication_backlog",
    "mem_aof_buffer",
)

_REWRITE_BLOCK_BYTES: Final = 10 * 1024 * 1024
"""Redis 6.2 allocates a block of this size for writes while it rewrites its file."""


class OptionalWrite(StrEnum):
    """The writes that are skipped when the budget fills; the first is skipped first."""

    MISS = "miss"
    """Without copies of misses each process asks MongoDB for itself."""
    CLAIM_WITHOUT_ACCOUNT = "claim_of_nobody"
    """Without one, a repeated event may get another id. It is counted once all the same."""
    PAGE_CLICK = "page_click"
    """Without one, a visitor's next click of a page is a new one."""
    COPY = "copy"
    """Without copies of values MongoDB gets more queries."""
    CLAIM = "claim"
    """Without the other claims MongoDB decides which event was first."""
    VISITOR = "visitor"
    """Without one, a new visitor counts as a click, not as a unique visitor."""
    RATE_LIMIT = "rate_limit"
    """Without counters no rate limit is enforced: availability comes first."""


SKIPPED_FROM: Final[Mapping[OptionalWrite, float]] = {
    OptionalWrite.MISS: 0.6,
    OptionalWrite.CLAIM_WITHOUT_ACCOUNT: 0.7,
    OptionalWrite.PAGE_CLICK: 0.78,
    OptionalWrite.COPY: 0.8,
    OptionalWrite.CLAIM: 0.85,
    OptionalWrite.VISITOR: 0.9,
    OptionalWrite.RATE_LIMIT: 1.0,
}
"""The used share of the budget from which a write is skipped: strangers' writes first, then writes
without which all counts stay exact."""

EVICT_FROM: Final = 0.75
EVICT_UNTIL: Final = 0.7
"""The used shares between which existing copies make room (`stores/cache/eviction`), before any
write is skipped without which a count is wrong."""


for _kind in OptionalWrite:
    metrics.REDIS_SKIPPED.labels(_kind.value)


class Budget:
    """The used share of the budget: 0 until it is measured, 1 when it is full."""

    def __init__(self) -> None:
        self.used = 0.0

    def has_room(self, kind: OptionalWrite) -> bool:
        return self.used < SKIPPED_FROM[kind]

    def allows(self, kind: OptionalWrite) -> bool:
        """Return whether there is room for a write of this kind; if not, count it as skipped."""
        if self.has_room(kind):
            return True
        self.count_skipped(kind, 1)
        return False

    def count_skipped(self, kind: OptionalWrite, writes: int) -> None:
        metrics.REDIS_SKIPPED.labels(kind.value).inc(writes)

    def skipped(self) -> list[OptionalWrite]:
        return [kind for kind in OptionalWrite if not self.has_room(kind)]


class BudgetMeter:
    """A meter of the used `budget`. `default_bytes` counts for a Redis without maxmemory."""

    def __init__(
        self,
        redis: Redis,
        budget: Budget,
        default_bytes: int,
        streams: Sequence[str] = (JOURNAL, DEAD_LETTERS),
    ) -> None:
        self._redis = redis
        self._streams = streams
        self._budget = budget
        self._default_bytes = default_bytes
        self._logged: list[OptionalWrite] = []
        self._log_at = 0.0

    async def keep_measuring(self) -> None:
        """Measure every second, until cancelled. While Redis is unavailable, nothing changes."""
        while True:
            try:
                await self.measure()
            except RedisError as error:
                log.debug("memory not measured", error=type(error).__name__)
            await sleep_in_step(_MEASURE_INTERVAL_SECONDS)

    async def measure(self) -> None:
        """Measure once. In a Redis Cluster the fullest server counts."""
        streams: dict[Redis, list[str]] = {one: [] for one in await servers(self._redis)}
        for stream in self._streams:
            streams.setdefault(await server_of(self._redis, stream), []).append(stream)
        measured = [await self._measure_server(*one) for one in streams.items()]
        self._set(max(measured, key=lambda one: one.used / one.limit))

    async def _measure_server(self, server: Redis, streams: Sequence[str]) -> "_Measurement":
        pipeline = server.pipeline(transaction=False)
        pipeline.info("memory")
        pipeline.info("persistence")
        for stream in streams:
            pipeline.memory_usage(stream, samples=_SAMPLED_NODES)
        memory, persistence, *sizes = await pipeline.execute(raise_on_error=False)
        for answer in (memory, persistence):
            if isinstance(answer, RedisError):
                raise answer
        limit = BUDGET_SHARE * (memory.get("maxmemory") or self._default_bytes)
        return _Measurement(used_bytes(memory | persistence, sizes), limit)

    def _set(self, measured: "_Measurement") -> None:
        used, limit = measured
        metrics.REDIS_OPTIONAL_BYTES.set(used)
        metrics.REDIS_OPTIONAL_LIMIT.set(limit)
        self._budget.used = used / limit
        skipped = self._budget.skipped()
        if skipped != self._logged and time.monotonic() >= self._log_at:
            self._logged, self._log_at = skipped, time.monotonic() + _LOG_INTERVAL_SECONDS
            log.warning(
                "Redis fills: optional writes are skipped" if skipped else "Redis has room again",
                used_bytes=used,
                limit_bytes=int(limit),
                skipped_writes=[kind.value for kind in skipped],
            )


class _Measurement(NamedTuple):
    used: int
    limit: float


def used_bytes(information: Mapping[str, Any], streams: list[Any]) -> int:
    """Return the bytes of keys, without the `streams`. A stream of unknown size counts too."""
    keyless = sum(int(information.get(name, 0)) for name in _KEYLESS_FIELDS)
    # `mem_aof_buffer` has what is in the blocks, and not what is free in the last of them.
    keyless += -int(information.get("aof_rewrite_buffer_length", 0)) % _REWRITE_BLOCK_BYTES
    streamed = sum(size for size in streams if isinstance(size, int))
    return max(0, int(information["used_memory"]) - keyless - streamed)
