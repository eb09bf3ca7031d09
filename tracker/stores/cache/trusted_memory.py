"""Values that decide about access: a process trusts them for a short time after reading them.

A writer publishes the value's name (`publish_changes`), and every process drops it. Without the
subscription a process trusts nothing. Guarantee: a change that could not be published takes effect
everywhere after TRUST_SECONDS.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from time import monotonic
from typing import Final, Generic, NamedTuple, TypeVar

import structlog
from pymongo.errors import PyMongoError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.errors import TrackerError
from tracker.limits.oldest import drop_oldest
from tracker.stores.redis.keys import CHANGES

log = structlog.get_logger(__name__)

TRUST_SECONDS: Final = 2.0
"""How long a value is trusted, from before it was read."""

REFRESH_SECONDS: Final = 1.4
"""The age from which a requested value is read again, so that nobody waits."""

Value = TypeVar("Value")
ReadValue = Callable[[], Awaitable[Value]]


class _Entry(NamedTuple, Generic[Value]):
    value: Value
    read_at: float


class TrustedMemory(Generic[Value]):
    """A bounded memory of values by name, from which the oldest are dropped first."""

    def __init__(self, max_values: int) -> None:
        self._max_values = max_values
        self._entries: dict[str, _Entry[Value]] = {}
        self._refreshing: dict[str, asyncio.Task[None]] = {}
        self._verified = False
        # Grows with every `forget`: a value read before that may be old.
        self._generation = 0

    @property
    def verified(self) -> bool:
        """Return whether the process receives every change."""
        return self._verified

    @verified.setter
    def verified(self, verified: bool) -> None:
        self._verified = verified
        if not verified:
            self.forget_all()

    def peek(self, name: str) -> Value | None:
        entry = self._entries.get(name)
        if entry is None or monotonic() - entry.read_at >= TRUST_SECONDS:
            return None
        return entry.value

    async def get(self, name: str, read: ReadValue[Value]) -> Value:
        """Return a value, by `read` unless it is cached and trusted. Raises the errors of `read`.

        A TrackerError means that there is no such value any more.
        """
        entry = self._entries.get(name)
        age = TRUST_SECONDS if entry is None else monotonic() - entry.read_at
        if entry is None or age >= TRUST_SECONDS:
            return await self._read(name, read)
        if age >= REFRESH_SECONDS and name not in self._refreshing:
            self._start_refreshing(name, read)
        return entry.value

    def forget(self, name: str) -> None:
        """Forget a value. A look-up in flight is answered but not remembered."""
        self._generation += 1
        self._entries.pop(name, None)

    def forget_all(self) -> None:
        self._generation += 1
        self._entries.clear()

    async def _read(self, name: str, read: ReadValue[Value]) -> Value:
        generation, at = self._generation, monotonic()
        value = await read()
        if self._verified and generation == self._generation:
            self._entries.pop(name, None)
            self._entries[name] = _Entry(value, at)
            drop_oldest(self._entries, self._max_values)
        return value

    def _start_refreshing(self, name: str, read: ReadValue[Value]) -> None:
        # Several requests may need the value, so the task carries no request's id.
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._refresh(name, read), context=Context())
        self._refreshing[name] = task
        task.add_done_callback(lambda _: self._refreshing.pop(name))

    async def _refresh(self, name: str, read: ReadValue[Value]) -> None:
        try:
            await self._read(name, read)
        except TrackerError:
            self.forget(name)
        except (PyMongoError, OSError, TimeoutError) as error:
            log.warning("value not read again", error=type(error).__name__)


async def publish_changes(redis: Redis, *names: str) -> None:
    """Have every process forget these values. An error of Redis is only logged."""
    try:
        for name in names:
            await redis.publish(CHANGES, name)
    except (RedisError, OSError, TimeoutError) as error:
        log.warning("changes not published", error=type(error).__name__)
