"""The hub of streams: whom it tells what, when, and also if a store is slow or gone."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from uuid import UUID

import pytest
from pymongo.errors import NetworkTimeout

from tests.conversions.scene import applied
from tests.feeds.scene import ids_of, make_clicks
from tests.live.watching import guarded, telling
from tests.waiting import PATIENCE_SECONDS
from tracker.access.open_answers import Access
from tracker.accounts.accounts import Account
from tracker.clock import now_ms
from tracker.live import events, hub
from tracker.live.events import LiveClicks, RowNames
from tracker.live.recent import LiveState
from tracker.live.stream import LiveEvent, LiveStream
from tracker.service.services import Services
from tracker.stores.mongodb.reads import MongoReads

NOTHING = LiveState(clicks=0, bots=0, conversions=0, behind_seconds=0)


async def access(services: Services, account_id: UUID) -> Access:
    key, _ = await services.access.api_keys.create(account_id, "watcher")
    return Access(key.id, account_id, None, is_key=True)


@contextmanager
def opened(services: Services, own: Access) -> Iterator[LiveStream]:
    live, answers = services.live.live.open(own.account_id), services.access.open_answers
    with live as stream, answers.open(own, lambda: stream.end("access_ended")):
        yield stream


async def heard(stream: LiveStream, name: str) -> LiveEvent:
    """Return the next event of this name."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for event in stream:
            if event.name == name:
                return event
    raise AssertionError(name)


def ids_in(event: LiveEvent) -> list[UUID]:
    """Return the ids of the clicks that an event tells."""
    assert isinstance(event.data, LiveClicks)
    return [row.id for row in event.data.rows]


async def test_an_account_that_cannot_be_counted_holds_up_no_other_and_no_end(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await services.accounts.accounts.create("Other")
    stuck = asyncio.Event()

    async def recent(_: MongoReads, account_id: UUID, __: int) -> LiveState:
        if account_id == account.id:
            await stuck.wait()
            raise NetworkTimeout
        return NOTHING

    monkeypatch.setattr(hub, "live_state", recent)
    first, second = [await access(services, one.id) for one in (account, other)]
    with opened(services, first) as slow, opened(services, second) as fast:
        async with telling(services), guarded(services):
            await heard(fast, "state")
            await services.access.api_keys.revoke(first.id)
            await heard(slow, "end")
            stuck.set()


async def stored(services: Services, account_id: UUID, number: int) -> list[UUID]:
    """Store clicks as a drain does, and return their ids."""
    clicks = make_clicks(account_id, number, at=now_ms())
    await applied(services, clicks)
    return ids_of(clicks)


async def test_each_account_gets_the_rows_stored_since_it_is_watched(
    services: Services, account: Account
) -> None:
    other = await services.accounts.accounts.create("Other")
    first, second = [await access(services, one.id) for one in (account, other)]
    await stored(services, account.id, 1)
    async with telling(services), guarded(services):
        with opened(services, first) as one:
            await heard(one, "state")
            own = await stored(services, account.id, 2)
            assert ids_in(await heard(one, "clicks")) == own
            with opened(services, second) as another:
                await heard(another, "state")
                [of_other] = await stored(services, other.id, 1)
                own = await stored(services, account.id, 1)
                assert ids_in(await heard(one, "clicks")) == own
                assert ids_in(await heard(another, "clicks")) == [of_other]


async def test_rows_that_could_not_be_read_are_sent_after_the_next_read(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = asyncio.Event()

    async def names_of(*of: Any) -> RowNames:
        if of[1] and not failed.is_set():
            failed.set()
            raise NetworkTimeout
        return await events.names_of(*of)

    monkeypatch.setattr(hub, "names_of", names_of)
    with opened(services, await access(services, account.id)) as stream:
        async with telling(services), guarded(services):
            await heard(stream, "state")
            own = await stored(services, account.id, 2)
            assert ids_in(await heard(stream, "clicks")) == own
    assert failed.is_set()


class Opened(asyncio.Event):
    """An event that says when somebody waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited = asyncio.Event()

    async def wait(self) -> Literal[True]:
        if not self.is_set():
            self.awaited.set()
        return await super().wait()


async def test_the_loop_rests_while_nobody_watches(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_streams = Opened()
    monkeypatch.setattr(services.live.live, "_opened", has_streams)
    async with telling(services), guarded(services):
        for _ in range(2):
            await asyncio.wait_for(has_streams.awaited.wait(), PATIENCE_SECONDS)
            with opened(services, await access(services, account.id)) as stream:
                await heard(stream, "state")
                has_streams.awaited.clear()
        await asyncio.wait_for(has_streams.awaited.wait(), PATIENCE_SECONDS)
