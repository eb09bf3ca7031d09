"""A change in one process reaches the memory of the others, also after a lost subscription."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio.client import PubSub

from config.settings import Settings
from tests.clock import Clock
from tests.stores.cache.cached_thing import NAME, NEW, OLD, Thing, ThingLookup
from tests.stores.cache.listening import listening
from tests.stores.redis.own_redis import own_redis
from tests.waiting import PATIENCE_SECONDS, becomes, eventually
from tracker.service.services import Services
from tracker.stores.breaker import Breaker
from tracker.stores.cache import changes
from tracker.stores.cache.cache import Cache
from tracker.stores.cache.changes import Changes
from tracker.stores.cache.copies import Copies
from tracker.stores.redis.clients import redis_for_blocking, redis_for_requests
from tracker.stores.redis.keys import CHANGES
from tracker.stores.redis.memory_budget import Budget

pytestmark = [pytest.mark.redis, pytest.mark.usefixtures("long_memory")]


class Process:
    """A cache of links with its subscription to changes, as a process has them."""

    def __init__(self, url: str, things: ThingLookup) -> None:
        self.redis = redis_for_requests(url)
        self.waiting = redis_for_blocking(url)
        self.cache: Cache[Thing] = Cache(
            Copies(self.redis, Breaker(), Budget()), Thing, things, 100
        )
        self.changes = Changes(self.waiting, {"link": self.cache})


@contextlib.asynccontextmanager
async def process(url: str, things: ThingLookup) -> AsyncIterator[Process]:
    """Yield a process that listens to changes."""
    built = Process(url, things)
    try:
        async with listening(built.changes):
            yield built
    finally:
        # A look-up in flight would connect to Redis again, and leave that connection open.
        await built.cache.close()
        await built.redis.aclose()
        await built.waiting.aclose()


async def lost(built: Process) -> None:
    await eventually(lambda: not built.cache.verified)


def types_of_messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the type of each message to a subscription."""
    get_message, types = PubSub.get_message, list[str]()

    async def noted(*arguments: Any, **options: Any) -> Any:
        message = await get_message(*arguments, **options)
        types.extend([message["type"]] if message else [])
        return message

    monkeypatch.setattr(PubSub, "get_message", noted)
    return types


async def test_a_change_is_seen_by_another_process_that_has_read_during_it(
    settings: Settings,
) -> None:
    things = ThingLookup(OLD)
    async with (
        process(settings.redis_url, things) as one,
        process(settings.redis_url, things) as other,
    ):
        await other.cache.get(NAME)
        await one.cache.begin_update(NAME)
        await eventually(lambda: NAME not in other.cache._memory.values)
        assert await other.cache.get(NAME) == OLD
        assert NAME in other.cache._memory.values
        things.thing = NEW
        await one.cache.changed(NAME, NEW, NEW.version)
        await becomes(lambda: other.cache.get(NAME), NEW)


async def test_unreadable_messages_hide_no_change_of_another_process(
    settings: Settings,
) -> None:
    things = ThingLookup(OLD)
    async with (
        process(settings.redis_url, things) as one,
        process(settings.redis_url, things) as other,
    ):
        for garbage in (b"", b"\xff\xfe", b"nobody:x", b"link"):
            await one.redis.publish(CHANGES, garbage)
        await other.cache.get(NAME)
        await one.cache.begin_update(NAME)
        things.thing = NEW
        await one.cache.changed(NAME, NEW, NEW.version)
        await becomes(lambda: other.cache.get(NAME), NEW)


async def test_a_closed_subscription_is_renewed_and_memory_emptied(services: Services) -> None:
    things = ThingLookup(OLD)
    async with process(services.settings.redis_url, things) as built:
        await built.cache.get(NAME)
        await services.stores.redis.client_kill_filter(_type="pubsub")
        await lost(built)
        assert not built.changes.subscribed.is_set()
        assert await built.cache.get(NAME) == OLD, "trusted for a second"
        await asyncio.wait_for(built.changes.subscribed.wait(), PATIENCE_SECONDS)
        assert built.cache.verified
        assert not built.cache._memory.values


async def test_a_change_published_while_the_subscription_was_lost_is_seen(tmp_path: Path) -> None:
    things = ThingLookup(OLD)
    with own_redis(tmp_path) as server:
        async with process(server.url, things) as built:
            await built.cache.get(NAME)
            server.kill()
            await lost(built)
            things.thing = NEW
            await becomes(lambda: built.cache.get(NAME), NEW)
            server.start()
            async with redis_for_requests(server.url) as client:
                await client.delete(NAME)
            await asyncio.wait_for(built.changes.subscribed.wait(), PATIENCE_SECONDS)
            assert await built.cache.get(NAME) == NEW


async def test_a_silent_redis_counts_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "SILENCE_SECONDS", 2.0)
    with own_redis(tmp_path) as server:
        async with process(server.url, ThingLookup(OLD)) as built:
            server.freeze()
            await lost(built)
            server.thaw()
            await asyncio.wait_for(built.changes.subscribed.wait(), PATIENCE_SECONDS)


async def test_a_quiet_redis_does_not_count_as_lost(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(changes, "PING_SECONDS", 0.05)
    monkeypatch.setattr(changes, "monotonic", clock)
    types = types_of_messages(monkeypatch)
    async with process(settings.redis_url, ThingLookup(OLD)) as built:
        await built.cache.get(NAME)
        for _ in range(5):
            types.clear()
            await eventually(lambda: "pong" in types)
            clock.seconds += 0.9 * changes.SILENCE_SECONDS
        assert built.cache.verified
        assert NAME in built.cache._memory.values
