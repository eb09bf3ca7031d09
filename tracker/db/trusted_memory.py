"""Values that a process has read, and trusts as long as it hears of their changes.

What changes a value publishes its name (`publish_change`), and `db/changes` has every process
forget it. While a process does not hear, it trusts nothing. Values live as long as those of
`db/memory`, which bounds what a change can do that could not be published.
"""

import time
from typing import Generic, TypeVar

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.db.keys import CHANGES
from tracker.db.memory import Memory

log = structlog.get_logger(__name__)

Value = TypeVar("Value")


class TrustedMemory(Generic[Value]):
    """A bounded memory of values by name.

    `generation` grows whenever something is forgotten: what was read before may be old.
    """

    def __init__(self, max_values: int) -> None:
        self._memory: Memory[Value] = Memory(max_values)
        self._verified = False
        self.generation = 0

    @property
    def verified(self) -> bool:
        """Return whether the process hears of every change."""
        return self._verified

    @verified.setter
    def verified(self, verified: bool) -> None:
        self._verified = verified
        if not verified:
            self.forget_all()

    def get(self, name: str) -> Value | None:
        """Return the value of a name, or None if it is not known or no longer trusted."""
        entry = self._memory.find(name)
        if entry is None or time.monotonic() - entry.loaded_at >= entry.ttl_seconds:
            return None
        return entry.value

    def put(self, name: str, value: Value, generation: int) -> None:
        """Keep a value that was read in `generation`, unless something was forgotten since."""
        if self._verified and generation == self.generation:
            self._memory.remember(name, value)

    def forget(self, name: str) -> None:
        """Forget the value of this name."""
        self.generation += 1
        self._memory.forget(name)

    def forget_all(self) -> None:
        """Forget everything."""
        self.generation += 1
        self._memory.forget_all()


async def publish_change(redis: Redis, name: str) -> None:
    """Have every process forget the value of this name. An error of Redis is only logged."""
    try:
        await redis.publish(CHANGES, name)
    except (RedisError, OSError, TimeoutError) as error:
        log.warning("change not published", error=type(error).__name__)
