"""The subscription to changes: each process's memory drops the values that have changed.

All caches of a process share it. While it is lost, they trust their memory for a short time only.
Afterwards they start empty, because the changes meanwhile are unknown.
"""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any, Protocol

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from tracker.stores.redis.cluster import server_of
from tracker.stores.redis.keys import CHANGES

log = structlog.get_logger(__name__)

SILENCE_SECONDS = 2.0
"""A subscription that does not answer pings for this long counts as lost."""

PING_SECONDS = 0.5
RETRY_SECONDS = 0.2


class ChangeListener(Protocol):
    """A memory that receives changes. `verified` is true while it receives every one."""

    verified: bool

    def forget(self, name: str) -> None: ...

    def forget_all(self) -> None: ...


class Changes:
    """The subscription of one process.

    `caches` are by the prefix of their names, such as `link`. `subscribed` is set while every
    change arrives.
    """

    def __init__(self, redis: Redis, caches: Mapping[str, ChangeListener]) -> None:
        self._redis = redis
        self._caches = caches
        self.subscribed = asyncio.Event()

    async def listen(self) -> None:
        """Follow the changes until cancelled, through any loss of Redis."""
        while True:
            try:
                server = await server_of(self._redis, CHANGES)
                async with server.pubsub() as subscription:
                    await subscription.subscribe(CHANGES)
                    await self._follow(subscription)
            except (RedisError, OSError, TimeoutError) as error:
                if self.subscribed.is_set():
                    log.warning("subscription lost", error=type(error).__name__)
                self._set_verified(False)
                await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self, subscription: PubSub) -> None:
        alive = monotonic()
        while monotonic() - alive < SILENCE_SECONDS:
            connection: Any = subscription.connection
            if connection.is_outdated:
                raise RedisConnectionError("the changes are published elsewhere now")
            # The client reconnects before it reports a loss, which may take much longer.
            async with asyncio.timeout(SILENCE_SECONDS):
                message = await subscription.get_message(timeout=PING_SECONDS)
            if message is None:
                async with asyncio.timeout(SILENCE_SECONDS):
                    await subscription.ping()
                continue
            alive = monotonic()
            if message["type"] == "subscribe":
                self._set_verified(True)
            elif message["type"] == "message":
                self._drop(message["data"].decode(errors="replace"))
        raise TimeoutError

    def _set_verified(self, verified: bool) -> None:
        for cache in self._caches.values():
            if verified:
                cache.forget_all()
            cache.verified = verified
        if verified:
            self.subscribed.set()
        else:
            self.subscribed.clear()

    def _drop(self, name: str) -> None:
        cache = self._caches.get(name.partition(":")[0])
        if cache is not None:
            cache.forget(name)
