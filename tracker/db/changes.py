"""The subscription to changes: each process's memory drops the cached values that have changed.

There is one for all caches of a process. When it is lost the caches trust what they hold for a
short time only; when it is back they start empty, for what was published meanwhile is unknown.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from tracker.db.cache import Cache
from tracker.db.keys import CHANGES

log = structlog.get_logger(__name__)

SILENCE = 2.0
"""Seconds without a sign of life (we ping every half second) after which it counts as lost."""
PING_EVERY = 0.5
RETRY_EVERY = 0.2


class Changes:
    """The subscription of one process. `caches` are by the prefix of names, such as `link`."""

    def __init__(self, redis: Redis, caches: Mapping[str, Cache[Any]]) -> None:
        self._redis = redis
        self._caches = caches
        self.heard = asyncio.Event()

    async def listen(self) -> None:
        """Follow the changes until cancelled, through any loss of Redis."""
        while True:
            try:
                async with self._redis.pubsub() as subscription:
                    await subscription.subscribe(CHANGES)
                    await self._follow(subscription)
            except (RedisError, OSError, TimeoutError) as error:
                if self.heard.is_set():
                    log.warning("subscription lost", error=type(error).__name__)
                self._trust(False)
                await asyncio.sleep(RETRY_EVERY)

    async def _follow(self, subscription: PubSub) -> None:
        alive = time.monotonic()
        while time.monotonic() - alive < SILENCE:
            connection: Any = subscription.connection
            if connection.is_outdated:
                raise RedisConnectionError("the server is no primary any more")
            # The client connects anew before it reports a loss, which may take much longer.
            async with asyncio.timeout(SILENCE):
                message = await subscription.get_message(timeout=PING_EVERY)
            if message is None:
                async with asyncio.timeout(SILENCE):
                    await subscription.ping()
                continue
            alive = time.monotonic()
            if message["type"] == "subscribe":
                self._trust(True)
            elif message["type"] == "message":
                self._drop(message["data"].decode(errors="replace"))
        raise TimeoutError

    def _trust(self, verified: bool) -> None:
        for cache in self._caches.values():
            if verified:
                cache.forget_all()
            cache.verified = verified
        if verified:
            self.heard.set()
        else:
            self.heard.clear()

    def _drop(self, name: str) -> None:
        cache = self._caches.get(name.partition(":")[0])
        if cache is not None:
            cache.forget(name)
