"""The way of what landed from drains to the processes with streams: a channel of Redis.

Nothing is kept for those who do not listen. A message that is lost is missing from the rows that
people see, and from nothing else: counts are read from MongoDB.
"""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.clicks.document import ClickDocument
from tracker.clock import now_ms
from tracker.conversions.document import EventDocument
from tracker.db import keys
from tracker.live.landed import encoded, landed_of

log = structlog.get_logger(__name__)

WATCH_SECONDS: Final = 30.0
"""How long an account stays watched after the last process said so."""


async def watch(redis: Redis, accounts: Sequence[UUID]) -> None:
    """Say that streams of these accounts are open. Raises RedisError if Redis does not answer."""
    until = now_ms() + WATCH_SECONDS * 1000
    pipeline = redis.pipeline(transaction=False)
    pipeline.zremrangebyscore(keys.LIVE_WATCHED, "-inf", now_ms())
    pipeline.zadd(keys.LIVE_WATCHED, {account.bytes: until for account in accounts})
    pipeline.expire(keys.LIVE_WATCHED, int(2 * WATCH_SECONDS))
    await pipeline.execute()


class Publisher:
    """The publisher of a drain."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def publish(
        self, clicks: Sequence[ClickDocument], events: Sequence[EventDocument]
    ) -> None:
        """Publish what a committed batch has brought to accounts that are watched.

        While nobody watches this costs one command. An error of Redis is only logged: what landed
        is stored.
        """
        if not clicks and not events:
            return
        try:
            found: Any = await self._redis.zrangebyscore(keys.LIVE_WATCHED, now_ms(), "+inf")
            for landed in landed_of(clicks, events, frozenset(found)):
                await self._redis.publish(keys.LIVE, encoded(landed))
        except (RedisError, OSError, TimeoutError) as error:
            log.debug("live messages lost", error=type(error).__name__)
