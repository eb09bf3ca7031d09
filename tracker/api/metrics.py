"""`/metrics`: what the process has counted, and how far the journal is behind."""

import asyncio
import math
import time

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker import metrics
from tracker.api.handler import Handler
from tracker.db.keys import JOURNAL

_PATIENCE = 0.5


class Metrics(Handler):
    """Answers with Redis away too: that is when it is looked at."""

    methods = ("GET", "HEAD")

    async def get(self) -> None:
        entries, seconds = await _backlog(self.services.redis)
        metrics.JOURNAL_DEPTH.set(entries)
        metrics.JOURNAL_AGE.set(seconds)
        self.set_header("Content-Type", metrics.CONTENT_TYPE)
        self.finish(metrics.exposition())

    head = get


async def _backlog(redis: Redis) -> tuple[float, float]:
    """Entries of the journal, and the age of the oldest in seconds; NaN if Redis is away."""
    pipeline = redis.pipeline(transaction=False)
    pipeline.xlen(JOURNAL)
    pipeline.xrange(JOURNAL, count=1)
    try:
        async with asyncio.timeout(_PATIENCE):
            entries, oldest = await pipeline.execute()
    except (RedisError, TimeoutError):
        return math.nan, math.nan
    return entries, _age(oldest[0][0]) if oldest else 0.0


def _age(entry_id: bytes) -> float:
    """An entry's id begins with the milliseconds at which Redis took it."""
    milliseconds = int(entry_id.partition(b"-")[0])
    return max(0.0, time.time() - milliseconds / 1000)
