"""Counts the conversions of a click while they are answered, for accounts that bound them.

Redis counts those under way, MongoDB has those that are stored: a counter begins with these. So of
any number of simultaneous conversions, on any number of processes, all beyond the cap are refused.
The drain decides what counts (`ingest/batch_writer`): a counter that is lost or wrong only has a
conversion answered that does not count. Counters exist for clicks that are stored, and for an
hour.
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

_SECONDS: Final = 3600
"""Lifetime of a counter after its last conversion: longer than the journal holds one back."""

_LOOK_UP_SECONDS: Final = 1.0

# KEYS: counter. ARGV: conversions that are stored, the cap, seconds to live.
_TAKE: Final = """
local count = tonumber(redis.call('GET', KEYS[1]) or ARGV[1])
if count < tonumber(ARGV[1]) then count = tonumber(ARGV[1]) end
if count >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], count + 1, 'EX', ARGV[3])
return 1
"""

# Not from one that has expired meanwhile. KEYS: counter.
_GIVE_BACK: Final = "if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DECR', KEYS[1]) end"


class Caps:
    def __init__(self, redis: Redis, breaker: Breaker, events: Events, budget: Budget) -> None:
        self._breaker = breaker
        self._budget = budget
        self._events = events
        self._take = redis.register_script(_TAKE)
        self._give_back = redis.register_script(_GIVE_BACK)

    async def take(self, click_id: UUID, config_id: UUID | None, cap: int) -> bool:
        """Take one of the `cap` conversions of a click and configuration; False: none is left.

        True too if a store cannot tell: the drain decides.
        """
        stored = await self._stored(click_id, config_id)
        if stored >= cap:
            return False
        if self._breaker.is_open or not self._budget.allows(OptionalWrite.CLICK_CAP):
            return True
        name = keys.conversions_of(click_id, config_id)
        try:
            return bool(await self._take(keys=[name], args=[stored, cap, _SECONDS]))
        except RedisError as error:
            self._breaker.failed(error)
            return True

    async def give_back(self, click_id: UUID, config_id: UUID | None) -> None:
        """Take one back that was not recorded."""
        if not self._breaker.is_open:
            with contextlib.suppress(RedisError):
                await self._give_back(keys=[keys.conversions_of(click_id, config_id)])

    async def _stored(self, click_id: UUID, config_id: UUID | None) -> int:
        pair = (click_id, config_id)
        try:
            found = await answer_within(_LOOK_UP_SECONDS, self._events.counted([pair]))
        except (PyMongoError, TimeoutError):
            return 0
        return found.get(pair, 0)
