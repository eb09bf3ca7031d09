"""`/metrics`: its counters and labels, also while stores are unavailable."""

import asyncio
import math
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.conversions import scene
from tests.factories import create_event_config, create_link
from tests.journal.moving import move_journal
from tests.service.api.silence import DEAD, silence
from tests.waiting import PATIENCE_SECONDS
from tests.web.client import Client
from tests.web.world import World
from tests.webhooks.receiver import answer
from tests.webhooks.sending.scene import converted, listening, sending
from tracker.access.rate_limit import RateLimiter
from tracker.clock import now
from tracker.ingest.drain_counters import CounterPublisher
from tracker.service.api import metrics
from tracker.service.services import Services
from tracker.stores.redis import clients
from tracker.stores.redis.keys import DEAD_LETTERS, JOURNAL, journal

Values = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def scraped(client: Client) -> Values:
    response = await client.get("/metrics")
    assert response.status == 200
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.body.decode())
        for sample in family.samples
    }


def value(values: Values, name: str, **labels: str) -> float:
    return values.get((f"tracker_{name}", frozenset(labels.items())), 0.0)


async def requests(client: Client, **labels: str) -> float:
    return value(await scraped(client), "requests_total", **labels)


@pytest.mark.parametrize(
    ("method", "path", "route", "status"),
    [
        ("GET", "/healthz", "/healthz", "200"),
        ("HEAD", "/healthz", "/healthz", "200"),
        ("GET", "/c/never-there", "/c/{slug}", "404"),
        ("GET", "/c/a/b?d=x", "/c/{slug}", "404"),
        ("GET", "/api/click", "/api/click", "400"),
        ("GET", "/api/short-links", "/api/short-links", "401"),
        ("PATCH", "/api/short-links/1", "/api/short-links/{id}", "401"),
        ("PUT", "/api/event", "/api/event", "405"),
        ("GET", "/docs/docs.js", "/docs/{file}", "200"),
        ("GET", "/wp-login.php", "unknown", "404"),
    ],
)
async def test_a_request_is_counted_once_under_its_path_in_the_endpoint_table(
    client: Client, method: str, path: str, route: str, status: str
) -> None:
    labels = {"route": route, "method": method, "status": status}
    before = await requests(client, **labels)
    await client.request(method, path)
    assert await requests(client, **labels) == before + 1


async def test_an_unknown_method_is_counted_as_other(client: Client) -> None:
    labels = {"route": "/healthz", "method": "other", "status": "405"}
    before = await requests(client, **labels)
    for method in ("BREW", "WHEN"):
        await client.request(method, "/healthz")
    assert await requests(client, **labels) == before + 2


async def test_no_label_has_text_from_a_client(client: Client) -> None:
    for path in ("/c/hidden-slug", "/hidden-path", "/api/short-links/hidden-id"):
        await client.get(path)
    body = (await client.get("/metrics")).body
    assert b"hidden" not in body


async def test_the_backlog_and_the_drained_records_are_counted(world: World) -> None:
    await create_link(world.services, world.account.id, "abc")
    config = await create_event_config(world.services, world.account.id)
    empty = await scraped(world.client)
    assert value(empty, "journal_entries") == value(empty, "journal_oldest_seconds") == 0
    await world.client.get("/c/abc")
    await world.client.get("/c/abc")
    await world.client.get(f"/api/event?pbk={config.pbk}")
    waiting = await scraped(world.client)
    assert value(waiting, "journal_entries") == 3
    assert 0 <= value(waiting, "journal_oldest_seconds") < PATIENCE_SECONDS
    await scene.drained(world.services)
    drained = await scraped(world.client)
    assert value(drained, "journal_entries") == 0
    for kind, number in (("click", 2), ("event", 1)):
        done = value(drained, "drained_total", kind=kind)
        assert done == value(empty, "drained_total", kind=kind) + number


async def test_the_age_is_that_of_the_oldest_entry(services: Services, client: Client) -> None:
    await services.stores.redis.xadd(JOURNAL, {b"1": b"\x90"}, id="1000-0")
    left_of_more_partitions = journal(7)
    await services.stores.redis.xadd(left_of_more_partitions, {b"1": b"\x90"})
    values = await scraped(client)
    assert value(values, "journal_entries") == 2
    assert value(values, "journal_oldest_seconds") > 365 * 24 * 3600


async def test_the_dead_letters_of_all_processes_are_counted(
    services: Services, client: Client
) -> None:
    assert value(await scraped(client), "dead_letter_entries") == 0
    for _ in range(2):
        await services.stores.redis.xadd(DEAD_LETTERS, {b"1": b"\x90", b"reason": b"unknown"})
    assert value(await scraped(client), "dead_letter_entries") == 2


async def test_a_rate_limited_request_is_counted_under_its_scope(
    services: Services, client: Client
) -> None:
    services.web = services.web._replace(
        rate_limiter=RateLimiter(services.stores.redis, services.stores.breaker, 1, 0)
    )
    before = value(await scraped(client), "rate_limited_total", scope="ip")
    statuses = [(await client.get("/api/short-links")).status for _ in range(3)]
    assert statuses == [401, 429, 429]
    assert value(await scraped(client), "rate_limited_total", scope="ip") == before + 2


def moved_redis(services: Services, monkeypatch: pytest.MonkeyPatch, address: str) -> Any:
    """Replace the Redis client of `services` with one of `address`, and return it."""
    redis = clients.redis_for_requests(f"redis://{address}")
    monkeypatch.setattr(services, "stores", services.stores._replace(redis=redis))
    return redis


async def test_a_click_that_is_spooled_is_counted_and_a_scrape_still_answers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_link(world.services, world.account.id, "abc")
    before = value(await scraped(world.client), "journal_spooled_total")
    redis = moved_redis(world.services, monkeypatch, DEAD)
    move_journal(world.services.journal.journal, redis, monkeypatch)
    assert (await world.client.get("/c/abc")).status == 302
    values = await scraped(world.client)
    await redis.aclose()
    assert value(values, "journal_spooled_total") == before + 1
    assert math.isnan(value(values, "journal_entries"))
    assert math.isnan(value(values, "journal_oldest_seconds"))
    assert math.isnan(value(values, "dead_letter_entries"))


async def test_a_redis_that_never_answers_does_not_delay_a_scrape(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "_PROBE_TIMEOUT_SECONDS", 0.1)
    async with silence() as address:
        redis = moved_redis(services, monkeypatch, address)
        values = await scraped(client)
        await redis.aclose()
    assert math.isnan(value(values, "journal_entries"))


async def test_requests_without_enforced_limits_are_counted(
    services: Services, client: Client
) -> None:
    before = value(await scraped(client), "rate_limit_unenforced_total")
    services.stores.breaker.record_failure()
    assert (await client.get("/api/short-links")).status == 401
    assert value(await scraped(client), "rate_limit_unenforced_total") == before + 1


async def test_webhook_requests_are_counted_by_outcome(world: World) -> None:
    before = await scraped(world.client)
    codes = (200, 404, 503)
    async with (
        listening(world.services, world.account.id) as (receiver, _),
        sending(world.services) as one,
    ):
        for code in codes:
            receiver.behaviour = answer(code)
            await converted(world.services, world.account.id)
            await one.burst()
    values = await scraped(world.client)
    for outcome in ("delivered", "4xx", "5xx"):
        labels = {"outcome": outcome}
        earlier = value(before, "webhook_attempts_total", **labels)
        assert value(values, "webhook_attempts_total", **labels) == earlier + 1
    assert value(values, "webhook_attempts_in_flight") == 0


async def test_due_deliveries_are_counted_with_the_age_of_the_oldest(world: World) -> None:
    assert value(await scraped(world.client), "webhook_deliveries_due") == 0
    assert value(await scraped(world.client), "webhook_deliveries_oldest_due_seconds") == 0
    async with listening(world.services, world.account.id):
        await converted(world.services, world.account.id, 3)
    earlier = {"$set": {"due_at": now() - timedelta(seconds=100)}}
    await world.services.stores.mongodb["deliveries"].update_one({}, earlier)
    values = await scraped(world.client)
    assert value(values, "webhook_deliveries_due") == 3
    assert 100 <= value(values, "webhook_deliveries_oldest_due_seconds") < 100 + PATIENCE_SECONDS


async def test_a_mongodb_that_never_answers_does_not_delay_a_scrape(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(at: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(metrics, "_PROBE_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(services.webhooks.deliveries, "backlog", never)
    values = await scraped(client)
    assert math.isnan(value(values, "webhook_deliveries_due"))
    assert math.isnan(value(values, "webhook_deliveries_oldest_due_seconds"))


async def test_counters_of_drains_are_shown_by_all_processes(world: World) -> None:
    await create_link(world.services, world.account.id, "abc")
    drain = CounterPublisher(world.services.stores.redis)
    await world.client.get("/c/abc")
    await world.services.stores.redis.xadd(JOURNAL, {b"1": b"not MessagePack"})
    await scene.drained(world.services)
    assert value(await scraped(world.client), "fleet_drained_total", kind="click") == 0
    await drain.publish()
    values = await scraped(world.client)
    assert value(values, "fleet_drained_total", kind="click") == 1
    assert value(values, "fleet_dead_letters_total") == 1
