"""All keys but the journal stay within their share of Redis, and counts stay right."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.conversions import scene
from tests.factories import CHROME, make_click, make_parameters
from tests.ingest import ledger
from tests.stores.redis.own_redis import unavailable_redis
from tests.stores.redis.skipped_writes import skipped_writes
from tests.waiting import eventually
from tracker import metrics
from tracker.clicks.click import Click
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.redis import clients, keys
from tracker.stores.redis.memory_budget import (
    BUDGET_SHARE,
    Budget,
    BudgetMeter,
    OptionalWrite,
    used_bytes,
)

pytestmark = pytest.mark.redis

MB = 1 << 20


ORDER = ["miss", "claim_of_nobody", "page_click", "copy", "claim", "visitor", "rate_limit"]


@pytest.mark.parametrize(
    ("used", "skipped"),
    [(0.0, 0), (0.59, 0), (0.6, 1), (0.7, 2), (0.78, 3), (0.8, 4), (0.85, 5), (0.9, 6), (9, 7)],
)
def test_the_fuller_the_budget_the_more_is_skipped_and_counted(used: float, skipped: int) -> None:
    budget = Budget()
    budget.used = used
    assert budget.skipped() == ORDER[:skipped]
    before = [skipped_writes(kind) for kind in ORDER]
    assert [budget.allows(kind) for kind in OptionalWrite] == [n >= skipped for n in range(7)]
    counted = [skipped_writes(kind) - count for kind, count in zip(ORDER, before, strict=True)]
    assert counted == [n < skipped for n in range(7)]


INFO = {"used_memory": 100, "used_memory_startup": 10, "mem_clients_normal": 5, "maxmemory": 0}


@pytest.mark.parametrize(
    ("streams", "used"),
    [
        ([None, None], 85),
        ([40, None], 45),
        ([40, 20], 25),
        ([90, None], 0),
        ([RedisError("unknown command"), 20], 65),
    ],
)
def test_streams_and_connections_do_not_use_the_budget(streams: list[Any], used: int) -> None:
    assert used_bytes(INFO, streams) == used


async def used(services: Services) -> int:
    """Return the used bytes of the budget, measured now."""
    await services.journal.budget_meter.measure()
    return int(metrics.REGISTRY.get_sample_value("tracker_redis_optional_bytes") or 0)


@pytest.mark.parametrize("stream", ["journal", "journal:dead"])
async def test_the_journal_does_not_count(services: Services, stream: str) -> None:
    before = await used(services)
    for _ in range(80):
        await services.stores.redis.xadd(stream, {"1": b"x" * 100_000})
    assert abs(await used(services) - before) < MB
    await fill(services.stores.redis, 4)
    assert await used(services) - before > 3 * MB


@contextlib.asynccontextmanager
async def rewriting(redis: Redis) -> AsyncIterator[None]:
    """Have Redis rewrite its file, and take a tenth of a second for each key."""
    by_itself: Any = await redis.config_get("auto-aof-rewrite-percentage")
    await redis.config_set("auto-aof-rewrite-percentage", 0)
    try:
        await eventually(lambda: is_written(redis))
        await redis.config_set("rdb-key-save-delay", 100_000)
        await redis.bgrewriteaof()
        yield
        await eventually(lambda: is_written(redis))
    finally:
        await redis.config_set("rdb-key-save-delay", 0)
        for name, value in by_itself.items():
            await redis.config_set(name, value)


async def is_written(redis: Redis) -> bool:
    about: Any = await redis.info("persistence")
    return not (about["aof_rewrite_in_progress"] or about["aof_rewrite_scheduled"])


async def test_what_is_kept_for_a_rewrite_does_not_count(services: Services) -> None:
    before = await used(services)
    await fill(services.stores.redis, 1)
    async with rewriting(services.stores.redis):
        for _ in range(80):
            await services.stores.redis.xadd("journal", {"1": b"x" * 100_000})
        assert abs(await used(services) - before - MB) < MB


async def fill(redis: Redis, size: int) -> None:
    """Store keys of `size` MB together."""
    for number in range(size * 16):
        await redis.set(f"other:{number}", b"x" * (MB // 16 - 100))


@contextlib.asynccontextmanager
async def maxmemory(redis: Redis, size: int) -> AsyncIterator[None]:
    await redis.config_set("maxmemory", size)
    try:
        yield
    finally:
        await redis.config_set("maxmemory", 0)


async def test_the_budget_is_a_share_of_maxmemory_or_of_the_setting(services: Services) -> None:
    budget = Budget()
    meter = BudgetMeter(services.stores.redis, budget, 64 * MB)
    await fill(services.stores.redis, 8)
    await meter.measure()
    assert budget.used == pytest.approx(8 / (64 * BUDGET_SHARE), rel=0.2)
    async with maxmemory(services.stores.redis, 256 * MB):
        await meter.measure()
    assert budget.used == pytest.approx(8 / (256 * BUDGET_SHARE), rel=0.2)


async def test_while_redis_is_unavailable_nothing_changes() -> None:
    budget = Budget()
    budget.used = 0.75
    async with clients.redis_for_requests(unavailable_redis()) as redis:
        with pytest.raises(RedisError):
            await BudgetMeter(redis, budget, MB).measure()
    assert budget.used == 0.75


async def test_a_flood_of_strangers_does_not_fill_redis(services: Services) -> None:
    """The flood has new visitors, unknown slugs, and transaction ids without an account."""
    account_id, clicks = new_id(), 0
    # A server that has run for long uses more memory before the flood.
    used = used_bytes(await services.stores.redis.info("memory"), [])
    meter = BudgetMeter(
        services.stores.redis, services.stores.budget, int((MB + 1.7 * used) / BUDGET_SHARE)
    )
    await meter.measure()
    while services.stores.budget.used < 0.9 or clicks < 9000:
        numbers = range(clicks, clicks + 750)
        await scene.applied(services, [stranger(account_id, number) for number in numbers])
        await asyncio.gather(*(ask_for_nothing(services, number) for number in numbers[:20]))
        clicks += 750
        assert clicks < 200_000  # the more memory was in use before, the more it takes
        await meter.measure()
    await scene.applied(services, [stranger(account_id, clicks)])

    async def fits() -> bool:
        await meter.measure()
        return services.stores.budget.used < 1.0

    await eventually(fits)  # Redis frees its buffers a moment later
    await scene.drained(services)
    stored = services.stores.mongodb["clicks"]
    assert await stored.count_documents({}) == clicks + 1
    assert 0 < await stored.count_documents({"unique": True}) <= clicks
    assert await services.stores.mongodb["events"].count_documents({}) == clicks // 750 * 20
    await ledger.check(services)


def stranger(account_id: UUID, number: int) -> Click:
    """Return a click of a new visitor."""
    agent = f"{CHROME} {number}"
    return make_click(account_id, user_agent=agent)


async def ask_for_nothing(services: Services, number: int) -> None:
    """Look up an unknown slug, and report an event without an account but with a transaction id."""
    assert await services.links.link_cache.get(keys.link("", f"none{number}")) is None
    await services.conversions.recorder.record(
        make_parameters(click_id=new_id(), transaction_id=str(number))
    )
