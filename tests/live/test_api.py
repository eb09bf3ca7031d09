"""Streams of what lands: exact, bounded, and ended with the access that opened them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from tests.console.scene import HOSTILE
from tests.conversions.scene import applied
from tests.factories import (
    create_event_config,
    create_link,
    make_click,
    make_conversion,
)
from tests.live.watching import Watcher, begun, connected, telling
from tests.waiting import eventually
from tests.web.world import World
from tracker.clock import now_ms
from tracker.conversions.document import Attribution
from tracker.conversions.new_document import document
from tracker.live import stream
from tracker.live.hub import MAX_OF_ACCOUNT, LiveHub
from tracker.stores.redis import keys

BOT = "Googlebot/2.1 (+http://www.google.com/bot.html)"


def opened(world: World) -> AbstractAsyncContextManager[Watcher]:
    """Return the reader of a stream that a key opens."""
    bearer = f"Authorization: Bearer {world.secret}"
    return connected(world.client.port, world.account.id, bearer)


@contextlib.asynccontextmanager
async def watched(world: World) -> AsyncIterator[Watcher]:
    """Yield the reader of a key's stream that has begun."""
    async with telling(world.services), begun(opened(world)) as watcher:
        yield watcher


async def test_what_lands_is_told_exactly_with_the_last_rows(world: World) -> None:
    link = await create_link(world.services, world.account.id, "spring", internal_name=HOSTILE)
    config = await create_event_config(world.services, world.account.id, name="Purchase")
    own: Any = {"link_id": link.id.bytes, "at": now_ms()}
    clicks = [make_click(world.account.id, address=f"203.0.113.{n}", **own) for n in range(40)]
    bots = [make_click(world.account.id, user_agent=BOT, **own) for _ in range(5)]
    foreign = [make_click(world.other_account.id, at=now_ms())]
    event = make_conversion(
        7,
        clicks[0].id,
        at=now_ms(),
        account_id=world.account.id.bytes,
        event_config_id=config.id.bytes,
        value="12.50",
        payout="2.50",
    )
    async with watched(world) as watcher:
        await applied(world.services, [*clicks, *bots, *foreign, event])
        told = await watcher.next("clicks")
        assert (told["count"], told["bots"], len(told["rows"])) == (45, 5, 20)
        last = told["rows"][-1]
        assert last["link"] == {"id": str(link.id), "internal_name": HOSTILE, "slug": "spring"}
        assert (last["bot"], last["domain"]) == ("crawler", "go.example.com")
        assert "address" not in last
        converted = await watcher.next("conversions")
        assert converted["count"] == 1
        [row] = converted["rows"]
        assert (row["event_id"], row["value"]) == (7, 12.5)
        assert (row["status"], row["attribution"]) == ("approved", "attributed")
        assert row["event_config"] == {"id": str(config.id), "name": "Purchase"}
        assert row["link"]["id"] == str(link.id)
        state = await watcher.next("state")
        assert (state["clicks"], state["bots"], state["conversions"]) == (40, 5, 1)
        assert (state["minutes"], state["behindSeconds"]) == (5, 0)


async def test_a_stream_begins_with_the_last_minutes_and_how_far_the_journal_is_behind(
    world: World,
) -> None:
    minutes_ago = [1, 4, 6, 60]
    clicks = [make_click(world.account.id, at=now_ms() - ago * 60_000) for ago in minutes_ago]
    await applied(world.services, clicks)
    await world.services.stores.redis.xadd(keys.JOURNAL, {"x": "y"}, id=f"{now_ms() - 90_000}-0")
    async with telling(world.services), opened(world) as watcher:
        state = await watcher.next("state")
        assert state["clicks"] == 2
        assert 90 <= state["behindSeconds"] < 100


async def test_a_claimed_conversion_is_told_when_it_counts(world: World) -> None:
    event = make_conversion(7, None, at=now_ms(), account_id=world.account.id.bytes)
    await world.services.stores.mongodb["events"].insert_one(
        {**document(event), "status": Attribution.CLAIMED}
    )
    async with watched(world) as watcher:
        await applied(world.services, [event])
        converted = await watcher.next("conversions")
        assert [row["event_id"] for row in converted["rows"]] == [7]


async def test_a_stream_ends_with_its_key(world: World) -> None:
    async with watched(world) as watcher:
        [key] = await world.services.access.api_keys.list(world.account.id)
        await world.services.access.api_keys.revoke(key.id)
        assert await watcher.next("end") == {"reason": "access_ended"}
        assert await watcher.rest() == b""


async def test_streams_end_first_at_a_stop(world: World) -> None:
    async with watched(world) as watcher:
        world.services.live.live.stop()
        assert await watcher.next("end") == {"reason": "stopping"}
        assert await watcher.rest() == b""
        async with opened(world) as another:
            assert b" 503 " in await another.head()


@pytest.mark.parametrize(("bound", "status"), [("MAX_OF_ACCOUNT", 429), ("MAX_STREAMS", 503)])
async def test_streams_are_bounded(
    world: World, monkeypatch: pytest.MonkeyPatch, bound: str, status: int
) -> None:
    monkeypatch.setattr(f"tracker.live.hub.{bound}", 2)
    services = world.services
    hub = LiveHub(
        *(services.stores.mongodb.reads, services.journal.backlog, services.access.open_answers),
        "",
    )
    world.services.live = world.services.live._replace(live=hub)
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(2):
            one = await stack.enter_async_context(opened(world))
            assert b" 200 " in await one.head()
        third = await stack.enter_async_context(opened(world))
        head = await third.head()
        assert f" {status} ".encode() in head
        assert b"Retry-After: 30" in head
    await eventually(lambda: not [*world.services.live.live.streams()])


async def test_a_client_that_leaves_while_its_stream_opens_leaves_nothing_behind(
    world: World,
) -> None:
    async def is_opened() -> bool:
        """Return whether an account with a stream less than it may have gets another."""
        async with opened(world) as last:
            if b" 200 " not in await last.head():
                return False
            await last.next("state")
            await eventually(lambda: len([*world.services.live.live.streams()]) == 1)
            return True

    async with telling(world.services):
        for _ in range(MAX_OF_ACCOUNT):
            async with opened(world):
                pass
        await eventually(is_opened)
        await eventually(lambda: not [*world.services.live.live.streams()])


async def test_a_client_that_reads_nothing_at_all_loses_its_connection(world: World) -> None:
    long: Any = stream.LiveEvent("clicks", stream.StreamEnd("x" * 200_000))  # type: ignore[arg-type]
    async with opened(world) as watcher:
        await watcher.head()
        [one] = world.services.live.live.streams()
        for _ in range(2 * stream.MAX_WAITING):
            one.put(long)
            await asyncio.sleep(0)
        assert one.ended.is_set()
        await eventually(lambda: not [*world.services.live.live.streams()])
        with contextlib.suppress(ConnectionError):
            assert b"event: end" not in await watcher.rest()
