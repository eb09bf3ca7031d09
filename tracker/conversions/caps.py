"""Caps on the conversions of a click, for accounts that limit them.

Checked before a conversion is answered. The drain decides what counts (`ingest/batch_writer`): if a
counter is lost or wrong, a conversion may be accepted that does not count.

- A counter in Redis starts from the conversions that MongoDB has stored, and adds those that are
  being recorded.
- Counters exist only for clicks that are stored, and for an hour.

Guarantee: of simultaneous conversions on any number of processes, all beyond the cap are refused
while both stores answer.
"""

import contextlib
from typing import Final
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.conversions.store import Events
from tracker.db import keys
from tracker.db.breaker import Breaker, answer_within
from tracker.db.budget import Budget, OptionalWrite
from tracker.db.connect import PyMongoError

_TTL_SECONDS: Final = 3600
"""Lifetime of a counter after its last conversion: longer than the journal holds one back."""

_LOOK_UP_SECONDS: Final = 1.0
"""Time limit of a look-up in MongoDB, which an answer waits for."""

# KEYS: counter. ARGV: conversions that are stored, the cap, seconds to live.
_ACQUIRE: Final = """
local count = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
if count < tonumber(ARGV[1]) then count = tonumber(ARGV[1]) end
if count >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], count + 1, 'EX', ARGV[3])
return 1
"""

# A counter that has expired meanwhile is left alone. KEYS: counter.
_RELEASE: Final = "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DECR', KEYS[1]) end"


class Caps:
    """The counters of conversions by click and event configuration."""

    def __init__(self, redis: Redis, breaker: Breaker, events: Events, budget: Budget) -> None:
        self._breaker = breaker
        self._budget = budget
        self._events = events
        self._acquire = redis.register_script(_ACQUIRE)
        self._release = redis.register_script(_RELEASE)

    async def acquire(self, click_id: UUID, config_id: UUID | None, cap: int) -> bool:
        """Count a conversion of a click and configuration, and return whether the cap allows it.

        Return True if a store does not answer: the drain decides.
        """
        stored = await self._stored(click_id, config_id)
        if stored >= cap:
            return False
        if self._breaker.is_open or not self._budget.allows(OptionalWrite.CLICK_CAP):
            return True
        name = keys.conversions_of(click_id, config_id)
        try:
            return bool(await self._acquire(keys=[name], args=[stored, cap, _TTL_SECONDS]))
        except RedisError as error:
            self._breaker.record_failure(error)
            return True

    async def release(self, click_id: UUID, config_id: UUID | None) -> None:
        """Subtract a conversion that was not recorded."""
        if not self._breaker.is_open:
            with contextlib.suppress(RedisError):
                await self._release(keys=[keys.conversions_of(click_id, config_id)])

    async def _stored(self, click_id: UUID, config_id: UUID | None) -> int:
        pair = (click_id.bytes, None if config_id is None else config_id.bytes)
        try:
            found = await answer_within(_LOOK_UP_SECONDS, self._events.counted([pair]))
        except (PyMongoError, TimeoutError):
            return 0
        return found.get(pair, 0)
