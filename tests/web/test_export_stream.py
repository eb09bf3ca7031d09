"""A file goes to its reader as fast as it reads, and a part is never taken for the whole."""

import asyncio
from asyncio import IncompleteReadError
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest
from pymongo.errors import ServerSelectionTimeoutError

from tests.factories import create_link
from tests.http.serving import client_of
from tests.waiting import PATIENCE_SECONDS, eventually
from tests.web.fixtures import Logged
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.links.link import Link
from tracker.links.lists.link_lists import LinkLists
from tracker.metrics import EXPORTS_CUT
from tracker.service.services import Services
from tracker.web import export_stream

RECEIVE_BYTES = 16_384
PIECES = 25
"""Pieces of an export that no buffer takes: 20 MB."""


class Source:
    """Links in pieces of 100, 8 KB each, that counts what was fetched."""

    def __init__(self, link: Link, fail_at: int = PIECES) -> None:
        self._piece = [msgspec.structs.replace(link, destination_url="https://e/" + "x" * 8000)]
        self._fail_at = fail_at
        self.fetched = 0
        self.closed = asyncio.Event()

    async def all_of(self, *_: Any) -> AsyncGenerator[list[Link], None]:
        try:
            for number in range(PIECES):
                if number == self._fail_at:
                    raise ServerSelectionTimeoutError("no primary")
                self.fetched += 1
                await asyncio.sleep(0)
                yield self._piece * 100
        finally:
            self.closed.set()


async def source(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch, fail_at: int = PIECES
) -> Source:
    made = Source(await create_link(services, account.id, "abc"), fail_at)
    monkeypatch.setattr(LinkLists, "all_of", lambda self, *wanted: made.all_of(*wanted))
    return made


def request_of(account: Account, secret: str) -> bytes:
    return (
        f"GET /api/short-links?accountId={account.id}&format=csv HTTP/1.1\r\n"
        f"Host: tracker.test\r\nAuthorization: Bearer {secret}\r\n\r\n"
    ).encode()


def failures(logged: Logged) -> list[dict[str, Any]]:
    """Return what was logged besides the requests."""
    return [record for record in logged() if record["event"] != "request"]


async def paused(made: Source) -> int:
    """Wait until no more is fetched, and return how much was."""
    await eventually(lambda: made.fetched > 0)
    before = -1
    while before != made.fetched:
        before = made.fetched
        await asyncio.sleep(0.2)
    return before


async def test_rows_are_fetched_as_fast_as_they_are_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await source(world.services, world.account, monkeypatch)
    async with client_of(world.client.port, receive_bytes=RECEIVE_BYTES) as reader:
        reader.send(request_of(world.account, world.secret))
        # As much as the kernel takes, and one piece.
        assert await paused(made) < PIECES / 2
        assert len((await reader.answer()).body.splitlines()) == PIECES * 100 + 1
    assert made.fetched == PIECES


async def test_a_reader_that_leaves_ends_the_export(
    world: World, monkeypatch: pytest.MonkeyPatch, logged: Logged
) -> None:
    made = await source(world.services, world.account, monkeypatch)
    async with client_of(world.client.port, receive_bytes=RECEIVE_BYTES) as reader:
        reader.send(request_of(world.account, world.secret))
        await eventually(lambda: made.fetched > 0)
    await asyncio.wait_for(made.closed.wait(), PATIENCE_SECONDS)
    assert made.fetched < PIECES
    await world.services.web.exports.finish(10)
    assert failures(logged) == []


async def test_a_reader_that_leaves_while_rows_are_fetched_ends_the_export(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetching, ended = asyncio.Event(), asyncio.Event()

    async def never(self: LinkLists, *_: Any) -> AsyncGenerator[list[Link], None]:
        try:
            fetching.set()
            await asyncio.Event().wait()
            yield []
        finally:
            ended.set()

    monkeypatch.setattr(LinkLists, "all_of", never)
    async with client_of(world.client.port) as reader:
        reader.send(request_of(world.account, world.secret))
        await asyncio.wait_for(fetching.wait(), PATIENCE_SECONDS)
    await asyncio.wait_for(ended.wait(), PATIENCE_SECONDS)


async def test_an_error_in_the_middle_cuts_the_connection(
    world: World, monkeypatch: pytest.MonkeyPatch, logged: Logged
) -> None:
    before = EXPORTS_CUT._value.get()
    await source(world.services, world.account, monkeypatch, fail_at=2)
    async with client_of(world.client.port) as reader:
        reader.send(request_of(world.account, world.secret))
        with pytest.raises((IncompleteReadError, ConnectionResetError)):
            await reader.answer()
    assert EXPORTS_CUT._value.get() == before + 1
    [record] = failures(logged)
    assert (record["event"], record["export"]) == ("export cut", "links")
    assert record["reason"] == "ServerSelectionTimeoutError"


async def test_an_error_before_the_first_row_is_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await source(world.services, world.account, monkeypatch, fail_at=0)
    response = await world.api.get(f"/api/short-links?accountId={world.account.id}&format=csv")
    assert (response.status, response.error) == (503, "storage is unavailable; try again")
    assert "Content-Disposition" not in response.headers


@pytest.mark.parametrize("seconds", [2.0, 900.0], ids=["too long", "a stop of the service"])
async def test_an_export_that_does_not_end_is_cut(
    world: World, monkeypatch: pytest.MonkeyPatch, logged: Logged, seconds: float
) -> None:
    monkeypatch.setattr(export_stream, "EXPORT_SECONDS", seconds)
    made = await source(world.services, world.account, monkeypatch)
    async with client_of(world.client.port, receive_bytes=RECEIVE_BYTES) as reader:
        reader.send(request_of(world.account, world.secret))
        await eventually(lambda: made.fetched > 0)
        if seconds == 900.0:
            await world.services.web.exports.finish(0)
        await eventually(lambda: not world.services.web.exports.count)
        with pytest.raises((IncompleteReadError, ConnectionResetError)):
            await reader.answer()
    reason = "not done after 2 seconds" if seconds == 2.0 else "the service stops"
    assert [one["reason"] for one in failures(logged)] == [f"export: {reason}; try again"]


async def test_few_exports_run_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    exports = type(world.services.web.exports)(per_account=1, total=2)
    world.services.web = world.services.web._replace(exports=exports)
    await source(world.services, world.account, monkeypatch)
    _, other = await world.services.access.api_keys.create(world.other_account.id, "a key")
    target = f"/api/short-links?accountId={world.account.id}&format=csv"
    async with (
        client_of(world.client.port, receive_bytes=RECEIVE_BYTES) as first,
        client_of(world.client.port, receive_bytes=RECEIVE_BYTES) as second,
    ):
        first.send(request_of(world.account, world.secret))
        await eventually(lambda: world.services.web.exports.count == 1)
        response = await world.api.get(target)
        assert (response.status, response.headers["Retry-After"]) == (429, "30")
        assert response.error == "export: 1 exports of the account are under way; try again"
        second.send(request_of(world.other_account, other))
        await eventually(lambda: world.services.web.exports.count == 2)
        third = await world.services.accounts.accounts.create("Third")
        _, third_secret = await world.services.access.api_keys.create(third.id, "a key")
        answer = await KeyedClient(world.client, third_secret).get(
            f"/api/short-links?accountId={third.id}&format=csv"
        )
        assert (answer.status, answer.headers["Retry-After"]) == (503, "30")
    await eventually(lambda: not world.services.web.exports.count)


async def test_no_export_begins_once_the_service_stops(world: World) -> None:
    await world.services.web.exports.finish(0)
    response = await world.api.get(f"/api/short-links?accountId={world.account.id}&format=csv")
    assert response.status == 503
    assert response.headers["Retry-After"] == "30"
