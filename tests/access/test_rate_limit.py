"""Counting requests: windows, two scopes in one call, exactness, and an unavailable Redis."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest
from redis.asyncio import Redis

from tests.stores.counted_breaker import CountedBreaker
from tests.stores.redis.own_redis import hanging_redis, own_redis, unavailable_redis
from tests.waiting import becomes
from tracker.access import rate_limit
from tracker.access.rate_limit import LimitScope, RateLimiter, Usage
from tracker.clock import now_ms
from tracker.ids import new_id
from tracker.metrics import RATE_LIMIT_UNENFORCED
from tracker.service.services import Services
from tracker.stores.breaker import Breaker
from tracker.stores.redis import keys
from tracker.stores.redis.clients import redis_for_requests
from tracker.stores.redis.memory_budget import SKIPPED_FROM, Budget, OptionalWrite

pytestmark = pytest.mark.redis

ADDRESS = "203.0.113.7"
ACCOUNT = new_id()
IP, OWNER = keys.rate_limit("ip", ADDRESS), keys.rate_limit("account", str(ACCOUNT))


def limiter(services: Services, per_minute: int = 3, per_hour: int = 5) -> RateLimiter:
    return RateLimiter(services.stores.redis, Breaker(), per_minute, per_hour)


@asynccontextmanager
async def limiter_at(url: str, breaker: Breaker) -> AsyncIterator[RateLimiter]:
    redis: Redis = redis_for_requests(url)
    yield RateLimiter(redis, breaker, 3, 5)
    await redis.aclose()


def unenforced() -> float:
    value: float = RATE_LIMIT_UNENFORCED._value.get()
    return value


async def numbers(limits: RateLimiter, address: str | None, account: UUID | None) -> list[int]:
    return [usage.requests for usage in await limits.count(address, account)]


async def test_each_request_is_counted_in_both_scopes(services: Services) -> None:
    limits = limiter(services)
    before = now_ms()
    for number in (1, 2, 3):
        ip, account = await limits.count(ADDRESS, ACCOUNT)
        assert ip[:2] == (LimitScope("ip", 3, 60), number)
        assert account[:2] == (LimitScope("account", 5, 3600), number)
        assert before + 59_000 < ip.reset_ms <= now_ms() + 60_000
        assert before + 3_599_000 < account.reset_ms <= now_ms() + 3_600_000


def test_remaining_requests_are_never_negative() -> None:
    scope = LimitScope("ip", 3, 60)
    usages = [Usage(scope, number, 0) for number in range(6)]
    assert [usage.remaining for usage in usages] == [3, 2, 1, 0, 0, 0]
    assert [usage.exceeded for usage in usages] == [False] * 4 + [True] * 2


async def test_a_request_beyond_the_limit_of_its_address_does_not_count_for_the_account(
    services: Services,
) -> None:
    limits = limiter(services)
    for _ in range(3):
        await limits.count(ADDRESS, ACCOUNT)
    assert await numbers(limits, ADDRESS, ACCOUNT) == [4]
    assert await numbers(limits, "203.0.113.8", ACCOUNT) == [1, 4]


@pytest.mark.parametrize(("left_ms", "seconds"), [(60_000, 60), (1001, 2), (1000, 1), (0, 1)])
def test_the_seconds_left_are_rounded_up(
    monkeypatch: pytest.MonkeyPatch, left_ms: int, seconds: int
) -> None:
    monkeypatch.setattr(rate_limit, "now_ms", lambda: 1000)
    assert Usage(LimitScope("ip", 3, 60), 4, 1000 + left_ms).seconds_left == seconds


async def test_the_addresses_of_one_ipv6_network_share_a_counter(services: Services) -> None:
    limits = limiter(services)
    assert await numbers(limits, "2001:db8:1:2::1", None) == [1]
    assert await numbers(limits, "2001:db8:1:2:ffff::1", None) == [2]
    assert await numbers(limits, "2001:db8:1:3::1", None) == [1]
    whole = RateLimiter(services.stores.redis, Breaker(), 3, 5, ipv6_prefix=128)
    assert await numbers(whole, "2001:db8:1:2::1", None) == [1]


@pytest.mark.parametrize(
    ("per_minute", "per_hour", "scopes"),
    [(0, 5, ["account"]), (3, 0, ["ip"]), (0, 0, [])],
)
async def test_a_limit_of_zero_is_no_limit(
    services: Services, per_minute: int, per_hour: int, scopes: list[str]
) -> None:
    limits = limiter(services, per_minute, per_hour)
    for _ in range(8):
        usages = await limits.count(ADDRESS, ACCOUNT)
    assert [usage.scope.name for usage in usages] == scopes
    assert await services.stores.redis.exists(IP, OWNER) == len(scopes)


async def test_a_window_begins_with_its_first_request_and_again_after_its_end(
    services: Services,
) -> None:
    limits = limiter(services)
    for _ in range(4):
        [first] = await limits.count(ADDRESS, None)
    assert first.exceeded
    await services.stores.redis.pexpire(IP, 30_000)
    [shortened] = await limits.count(ADDRESS, None)
    assert shortened.reset_ms <= now_ms() + 30_000
    await services.stores.redis.pexpire(IP, 1)
    await becomes(lambda: services.stores.redis.exists(IP), 0)
    before = now_ms()
    [second] = await limits.count(ADDRESS, None)
    assert second.requests == 1
    assert before + 59_000 < second.reset_ms <= now_ms() + 60_000


async def test_a_counter_without_an_expiry_gets_one_again(services: Services) -> None:
    await services.stores.redis.set(IP, 2)
    before = now_ms()
    assert await numbers(limiter(services), ADDRESS, None) == [3]
    left_ms = await services.stores.redis.pttl(IP)
    assert before + 60_000 - now_ms() - 1 <= left_ms <= 60_000


async def test_exactly_the_allowed_number_of_simultaneous_requests_pass(services: Services) -> None:
    async with limiter_at(services.settings.redis_url, Breaker()) as other:
        both = RateLimiter(services.stores.redis, Breaker(), 3, 5), other
        outcomes = await asyncio.gather(
            *(both[number % 2].count(ADDRESS, None) for number in range(60)),
        )
    assert sum(not usage.exceeded for [usage] in outcomes) == 3
    assert sorted(usage.requests for [usage] in outcomes) == list(range(1, 61))


async def test_simultaneous_requests_are_counted_together_each_in_its_own_scopes(
    services: Services,
) -> None:
    limits, others = limiter(services), [new_id() for _ in range(4)]
    await limits.count(ADDRESS, None)
    await services.stores.redis.config_resetstat()
    outcomes = await asyncio.gather(*(limits.count(ADDRESS, other) for other in others))
    found = [[usage.requests for usage in usages] for usages in outcomes]
    # The address is over its limit with the third of them, which counts for no account any more.
    assert found == [[2, 1], [3, 1], [4], [5]]
    assert (await services.stores.redis.info("commandstats"))["cmdstat_evalsha"]["calls"] == 1


@pytest.mark.usefixtures("short_patience")
@pytest.mark.parametrize("kind", ["dead", "hanging"])
async def test_without_redis_nothing_is_enforced_and_the_metric_says_so(kind: str) -> None:
    with hanging_redis() as hanging:
        breaker = CountedBreaker()
        async with limiter_at(
            hanging if kind == "hanging" else unavailable_redis(), breaker
        ) as limits:
            before = unenforced()
            for _ in range(10):
                began = now_ms()
                usages = await limits.count(ADDRESS, ACCOUNT)
                assert [usage.remaining for usage in usages] == [3, 5]
                assert not any(usage.exceeded for usage in usages)
                assert began + 60_000 <= usages[0].reset_ms <= now_ms() + 60_000
            assert unenforced() == before + 10
            assert breaker.failures == 1


async def test_redis_is_not_asked_while_the_breaker_is_open_or_its_memory_is_full(
    services: Services,
) -> None:
    breaker, budget = CountedBreaker(), Budget()
    limits = RateLimiter(services.stores.redis, breaker, 3, 5, budget=budget)
    before = unenforced()
    breaker.record_failure()
    assert await numbers(limits, ADDRESS, ACCOUNT) == [0, 0]
    breaker.record_success()
    budget.used = SKIPPED_FROM[OptionalWrite.RATE_LIMIT]
    assert await numbers(limits, ADDRESS, ACCOUNT) == [0, 0]
    assert unenforced() == before + 2
    assert not await services.stores.redis.exists(IP)
    budget.used = 0.0
    assert await numbers(limits, ADDRESS, ACCOUNT) == [1, 1]


async def test_limits_are_enforced_again_when_redis_is_back(tmp_path: Path) -> None:
    with own_redis(tmp_path) as server:
        breaker = Breaker()
        async with limiter_at(server.url, breaker) as limits:
            assert await numbers(limits, ADDRESS, None) == [1]
            server.kill()
            assert await numbers(limits, ADDRESS, None) == [0]
            server.start()  # without the script
            breaker.record_success()
            await limits.count(ADDRESS, None)
            assert (await numbers(limits, ADDRESS, None))[0] >= 2
