"""Values that a process has read, and trusts as long as it hears of their changes.

What changes a value publishes its name (`publish_change`), and `db/changes` has every process
forget it. While a process does not hear, it trusts nothing. TRUST_SECONDS bounds what a change can
do that could not be published.
"""

import time
from collections import OrderedDict
from typing import Final, Generic, NamedTuple, TypeVar

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.db.keys import CHANGES

log = structlog.get_logger(__name__)

TRUST_SECONDS: Final = 30.0

Value = TypeVar("Value")


class _Trusted(NamedTuple, Generic[Value]):
    name: str
    value: Value
    until: float


class TrustedMemory(Generic[Value]):
    """A memory of up to `max_values` values by a digest; the least recently used goes first.

    `verified` is true while the process hears of every change.
    """

    def __init__(self, max_values: int) -> None:
        self._max_values = max_values
        self._by_digest: OrderedDict[bytes, _Trusted[Value]] = OrderedDict()
        self._digests: dict[str, bytes] = {}
        self._verified = False
        self.generation = 0
        """A number that grows whenever something is forgotten. What was read before may be old."""

    @property
    def verified(self) -> bool:
        """Return whether the process hears of every change."""
        return self._verified

    @verified.setter
    def verified(self, verified: bool) -> None:
        self._verified = verified
        if not verified:
            self.forget_all()

    def get(self, digest: bytes) -> Value | None:
        """Return the value of a digest, or None if it is not known or no longer trusted."""
        found = self._by_digest.get(digest)
        if found is None:
            return None
        if found.until <= time.monotonic():
            self.forget(found.name)
            return None
        self._by_digest.move_to_end(digest)
        return found.value

    def put(self, digest: bytes, name: str, value: Value, generation: int) -> None:
        """Keep a value that was read in `generation`, unless something was forgotten since."""
        if not self._verified or generation != self.generation:
            return
        self._by_digest[digest] = _Trusted(name, value, time.monotonic() + TRUST_SECONDS)
        self._by_digest.move_to_end(digest)
        self._digests[name] = digest
        if len(self._by_digest) > self._max_values:
            _, oldest = self._by_digest.popitem(last=False)
            self._digests.pop(oldest.name, None)

    def forget(self, name: str) -> None:
        """Forget the value of this name."""
        self.generation += 1
        digest = self._digests.pop(name, None)
        if digest is not None:
            self._by_digest.pop(digest, None)

    def forget_all(self) -> None:
        """Forget everything."""
        self.generation += 1
        self._by_digest.clear()
        self._digests.clear()


async def publish_change(redis: Redis, name: str) -> None:
    """Have every process forget the value of this name. An error of Redis is only logged."""
    try:
        await redis.publish(CHANGES, name)
    except (RedisError, OSError, TimeoutError) as error:
        log.warning("change not published", error=type(error).__name__)
