"""The hub of streams when a store is slow, silent or gone."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import UUID

import pytest
from pymongo.errors import NetworkTimeout

from tests.db.relay import Relay, relay
from tests.live.watching import guarded, telling
from tracker.access.accounts import Account
from tracker.access.open_answers import Access
from tracker.db import connect, keys
from tracker.db.connect import Database
from tracker.live import hub, publisher
from tracker.live.recent import Recent
from tracker.live.stream import LiveEvent, LiveStream
from tracker.service.services import Services

NOTHING = Recent(clicks=0, bots=0, conversions=0)


async def access(services: Services, account_id: UUID) -> Access:
    key, _ = await services.api_keys.create(account_id, "watcher")
    return Access(key.id, account_id, None, is_key=True)


@contextmanager
def opened(services: Services, own: Access) -> Iterator[LiveStream]:
    live, answers = services.live.open(own.account_id), services.open_answers
    with live as stream, answers.open(own, lambda: stream.end("access_ended")):
        yield stream


async def heard(stream: LiveStream, name: str) -> LiveEvent:
    """Return the next event of this name."""
    async with asyncio.timeout(10):
        async for event in stream:
            if event.name == name:
                return event
    raise AssertionError(name)


async def test_an_account_that_cannot_be_counted_holds_up_no_other_and_no_end(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await services.accounts.create("Other")
    stuck = asyncio.Event()

    async def recent(_: Database, account_id: UUID) -> Recent:
        if account_id == account.id:
            await stuck.wait()
            raise NetworkTimeout
        return NOTHING

    monkeypatch.setattr(hub, "recent", recent)
    first, second = [await access(services, one.id) for one in (account, other)]
    with opened(services, first) as slow, opened(services, second) as fast:
        async with telling(services), guarded(services):
            await heard(fast, "state")
            await services.api_keys.revoke(first.id)
            await heard(slow, "end")
            stuck.set()


async def test_an_account_is_watched_though_it_opens_while_others_are_named(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await services.accounts.create("Other")
    own = await access(services, account.id)
    named: list[frozenset[UUID]] = []
    opening = services.live.open(other.id)

    async def watch(redis: Any, accounts: Sequence[UUID]) -> None:
        named.append(frozenset(accounts))
        if len(named) == 1:
            opening.__enter__()
        await publisher.watch(redis, accounts)

    monkeypatch.setattr(hub, "watch", watch)
    with opened(services, own) as one:
        async with telling(services), guarded(services):
            await heard(one, "state")
            async with asyncio.timeout(10):
                while len(named) < 2:
                    await asyncio.sleep(0.01)
        opening.__exit__(None, None, None)
    assert named == [{account.id}, {account.id, other.id}]


@asynccontextmanager
async def relayed(services: Services) -> AsyncIterator[Relay]:
    """Yield the relay through which streams hear what drains publish."""
    port = int(services.settings.redis_url.rpartition(":")[2].partition("/")[0])
    async with relay(port) as way:
        url = services.settings.redis_url.replace(f":{port}", f":{way.port}")
        waiting = connect.redis_for_waiting(url)
        stores = services.database, services.redis, waiting
        services.live = hub.LiveHub(*stores, services.open_answers, "")
        yield way
        await waiting.aclose()


async def test_a_subscription_that_fell_silent_is_made_again(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_CHECK_SECONDS", 0.05)
    monkeypatch.setattr(hub, "_SILENCE_SECONDS", 0.5)
    own = await access(services, account.id)
    async with relayed(services) as way, telling(services), guarded(services):
        with opened(services, own):
            await asyncio.wait_for(services.live.heard(), 10)
            way.hold_answers()
            async with asyncio.timeout(10):
                while services.live._hears.is_set():
                    await asyncio.sleep(0.01)
            way.answer_again()
            await asyncio.wait_for(services.live.heard(), 10)
            assert await services.redis.publish(keys.LIVE, b"x") >= 1
