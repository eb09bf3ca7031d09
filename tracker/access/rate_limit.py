"""Rate limits: requests of an address, an account, or a person in an account, counted in Redis.

A window begins with its first request. A script counts atomically, so exactly the allowed number of
simultaneous requests pass. In a Redis Cluster each counter has a script of its own. Elsewhere
waiting requests share one script: a request takes 64 µs of CPU alone, and 16 among sixteen.

While Redis is unavailable or its budget used up, nothing is enforced: availability comes first.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.clock import now_ms
from tracker.errors import RateLimited
from tracker.limits.network import IPV6_PREFIX_BITS, network_of
from tracker.metrics import RATE_LIMIT_UNENFORCED, RATE_LIMITED
from tracker.stores.batch import Batch
from tracker.stores.breaker import Breaker
from tracker.stores.redis import keys
from tracker.stores.redis.cluster import is_cluster
from tracker.stores.redis.command_connection import RedisCommandConnection
from tracker.stores.redis.memory_budget import Budget, OptionalWrite

log = structlog.get_logger(__name__)

_COUNT: Final = (Path(__file__).parent / "rate_limit.lua").read_text(encoding="utf-8")
_GROUP_REQUESTS: Final = 100
"""Requests that one script counts. It blocks Redis for a fraction of a millisecond."""

_SUBJECTS = {"ip": "IP address", "account": "account", "session": "person in an account"}
_SUBJECTS |= {"link_password": "network", "link_password_total": "link"}
_SUBJECTS |= {"idempotency_key": "caller with a new Idempotency-Key"}
for _name in _SUBJECTS:
    RATE_LIMITED.labels(_name)
_PERIODS = {60: "minute", 600: "10 minutes", 3600: "hour", 86_400: "24 hours"}


class LimitScope(NamedTuple):
    """At most `limit` requests in a window; 0 is no limit."""

    name: str
    limit: int
    window_seconds: int


_Counters = Sequence[tuple[str, LimitScope]]
"""The counters of one request: Redis keys with their scopes."""


class Usage(NamedTuple):
    """The state of one scope after a request. `reset_ms` is in milliseconds since the epoch."""

    scope: LimitScope
    requests: int
    reset_ms: int

    @property
    def remaining(self) -> int:
        return max(0, self.scope.limit - self.requests)

    @property
    def exceeded(self) -> bool:
        return self.requests > self.scope.limit

    @property
    def seconds_left(self) -> int:
        """Return the seconds until the window ends, rounded up: an earlier retry is rejected."""
        return max(1, -(-(self.reset_ms - now_ms()) // 1000))

    def check(self) -> None:
        """Raises RateLimited if this request exceeds the limit."""
        if self.exceeded:
            name, limit, seconds = self.scope
            RATE_LIMITED.labels(name).inc()
            rule = f"{limit} requests per {_PERIODS[seconds]} for each {_SUBJECTS[name]}"
            raise RateLimited(f"rate limit: {rule}", self.seconds_left)


class RateLimiter:
    """The counters of requests. IPv6 addresses count by their network of `ipv6_prefix` bits."""

    def __init__(
        self,
        redis: Redis,
        breaker: Breaker,
        per_minute: int,
        per_hour: int,
        ipv6_prefix: int = IPV6_PREFIX_BITS,
        budget: Budget | None = None,
        per_session: int = 0,
    ) -> None:
        self._redis = redis
        self._breaker = breaker
        self._budget = budget or Budget()
        self._ipv6_prefix = ipv6_prefix
        self._ip = LimitScope("ip", per_minute, 60)
        self._account = LimitScope("account", per_hour, 3600)
        self._session = LimitScope("session", per_session, 60)
        self._counting = RedisCommandConnection(redis, repeats=False)
        self._groups = Batch(self._count_group, _GROUP_REQUESTS)
        self._count_one = redis.register_script(_COUNT)

    def counted_as(self, address: str) -> str:
        """Return an address as limits count it: IPv4 whole, IPv6 by its network."""
        return network_of(address, self._ipv6_prefix)

    async def count(self, address: str | None, account_id: UUID | None) -> list[Usage]:
        """Count a request of an address, an account or both, and return each usage.

        The list ends with the first exceeded scope. Without Redis, every usage shows no requests.
        """
        network = None if address is None else self.counted_as(address)
        return await self.count_scopes(
            [
                (keys.rate_limit(scope.name, str(owner)), scope)
                for scope, owner in ((self._ip, network), (self._account, account_id))
                if owner is not None
            ]
        )

    async def count_person(self, person_id: UUID, account_id: UUID) -> list[Usage]:
        """Count a request of a person in an account, as `count` does, whatever the session."""
        member = f"{account_id}:{person_id}"
        key = keys.rate_limit(self._session.name, member)
        return await self.count_scopes([(key, self._session)])

    async def count_scopes(self, counters: _Counters) -> list[Usage]:
        """Count one request in each of the `counters`, as `count` does."""
        wanted = [(key, scope) for key, scope in counters if scope.limit]
        if not wanted:
            return []
        is_enforced = not self._breaker.is_open and self._budget.allows(OptionalWrite.RATE_LIMIT)
        answer = await self._groups.submit(wanted) if is_enforced else None
        now = now_ms()
        if answer is None:
            RATE_LIMIT_UNENFORCED.inc()
            return [Usage(scope, 0, now + scope.window_seconds * 1000) for _, scope in wanted]
        pairs = zip(answer[::2], answer[1::2], strict=True)
        return [
            Usage(scope, int(count), now + int(left))
            for (_, scope), (count, left) in zip(wanted, pairs, strict=False)
        ]

    async def forget(self, key: str) -> None:
        """Forget the requests counted under `key`. Never raises."""
        if self._breaker.is_open:
            return
        with contextlib.suppress(RedisError):
            await self._redis.delete(key)

    async def _count_group(self, group: Sequence[_Counters]) -> Sequence[Sequence[int] | None]:
        """Return each counter's requests and milliseconds left; None if Redis is unavailable."""
        if self._breaker.is_open:
            return [None] * len(group)
        if is_cluster(self._redis):
            return await asyncio.gather(*map(self._count_in_turn, group))
        try:
            return await self._run_script(group)
        except RedisError as error:
            self._breaker.record_failure(error)
            log.warning("rate limits are not enforced", error=type(error).__name__)
            return [None] * len(group)

    async def _count_in_turn(self, counters: _Counters) -> Sequence[int] | None:
        """Count as the script does, but with counters on different servers."""
        answer: list[int] = []
        try:
            for name, scope in counters:
                arguments = [1, scope.limit, scope.window_seconds * 1000]
                [counted] = await self._count_one(keys=[name], args=arguments)
                answer += counted
                if counted[0] > scope.limit:
                    break
        except RedisError as error:
            self._breaker.record_failure(error)
            return None
        return answer

    async def _run_script(self, group: Sequence[_Counters]) -> Sequence[Sequence[int]]:
        names = [name for counters in group for name, _ in counters]
        arguments = [str(len(names)), *names]
        for counters in group:
            arguments.append(str(len(counters)))
            for _, scope in counters:
                arguments += (str(scope.limit), str(scope.window_seconds * 1000))
        replies = await self._counting.execute_script(_COUNT, *arguments)
        return cast("Sequence[Sequence[int]]", replies)
