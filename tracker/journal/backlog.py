"""The backlog: the entries of the journal that are not stored yet, in all of its streams."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.asyncio import Redis

from tracker.journal.partitions import MAX_PARTITIONS
from tracker.stores.redis import keys


class BacklogSize(NamedTuple):
    """The number of waiting entries, and the age of the oldest in milliseconds (0 without one)."""

    entries: int
    oldest_ms: int


class Backlog:
    """The backlog of `partitions` and the overflow; by default of all possible partitions."""

    def __init__(self, redis: Redis, partitions: int = MAX_PARTITIONS) -> None:
        self._redis = redis
        self.streams: Sequence[str] = keys.streams(partitions)

    async def measure(self) -> BacklogSize:
        each = await self.measure_each()
        return BacklogSize(sum(one.entries for one in each), max(one.oldest_ms for one in each))

    async def measure_each(self) -> list[BacklogSize]:
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.time()  # the ids of entries are times of its clock
        for stream in self.streams:
            pipeline.xlen(stream)
            pipeline.xrange(stream, count=1)
        now, *answers = await pipeline.execute()
        now_ms = now[0] * 1000 + now[1] // 1000
        return [
            BacklogSize(entries, _age_ms(now_ms, oldest))
            for entries, oldest in zip(answers[::2], answers[1::2], strict=True)
        ]


def _age_ms(now_ms: int, oldest: Sequence[Any]) -> int:
    return max(0, now_ms - int(oldest[0][0].partition(b"-")[0])) if oldest else 0
