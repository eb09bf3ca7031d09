"""Rate limits: requests of an address and of an account, counted in Redis.

A window begins with its first request. Counting is atomic in one script, so that of any number of
simultaneous requests, on any number of processes, exactly the allowed number pass. With Redis away
nothing is enforced (being available comes first), and the metric says so.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.clock import now_ms
from tracker.db import keys
from tracker.db.breaker import Breaker
from tracker.metrics import RATE_LIMIT_UNENFORCED

log = structlog.get_logger(__name__)

_SCRIPT = (Path(__file__).parent / "rate_limit.lua").read_text(encoding="utf-8")


class Scope(NamedTuple):
    """Allows `limit` requests in `window` seconds; a limit of 0 is none."""

    name: str
    limit: int
    window: int


class Usage(NamedTuple):
    """One scope after this request. `reset` is in milliseconds since the epoch."""

    scope: Scope
    requests: int
    reset: int

    @property
    def remaining(self) -> int:
        return max(0, self.scope.limit - self.requests)

    @property
    def exceeded(self) -> bool:
        return self.requests > self.scope.limit


class RateLimiter:
    def __init__(self, redis: Redis, breaker: Breaker, per_minute: int, per_hour: int) -> None:
        self._breaker = breaker
        self._ip = Scope("ip", per_minute, 60)
        self._account = Scope("account", per_hour, 3600)
        self._script = redis.register_script(_SCRIPT)

    @property
    def scopes(self) -> Sequence[Scope]:
        """Those that are enforced."""
        return [scope for scope in (self._ip, self._account) if scope.limit]

    async def count(self, address: str | None, account_id: UUID | None) -> list[Usage]:
        """Count one request of an address, an account or both, in one round trip.

        The answer ends with the first scope that is exceeded; empty if nothing is enforced.
        """
        wanted = [
            (keys.rate_limit(scope.name, str(owner)), scope)
            for scope, owner in ((self._ip, address), (self._account, account_id))
            if owner is not None and scope.limit
        ]
        if not wanted:
            return []
        if self._breaker.is_open:
            RATE_LIMIT_UNENFORCED.inc()
            return []
        try:
            answer = await self._script(
                keys=[name for name, _ in wanted],
                args=[number for _, s in wanted for number in (s.limit, s.window * 1000)],
            )
        except RedisError as error:
            self._breaker.failed()
            RATE_LIMIT_UNENFORCED.inc()
            log.warning("rate limits are not enforced", error=type(error).__name__)
            return []
        now = now_ms()
        pairs = zip(answer[::2], answer[1::2], strict=True)
        return [
            Usage(scope, int(count), now + int(left))
            for (_, scope), (count, left) in zip(wanted, pairs, strict=False)
        ]
