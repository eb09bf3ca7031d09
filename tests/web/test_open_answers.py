"""Exports and streams end with the access that opened them, and say nothing while it is unknown."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from uuid import UUID

import pytest
from pymongo.errors import ServerSelectionTimeoutError

from tests.factories import create_link
from tests.http.serving import Client as Connection
from tests.http.serving import client_of
from tests.live.watching import telling
from tests.waiting import eventually
from tests.web.ends import ENDS, End, Holder, a_key, revoke
from tests.web.fixtures import Logged
from tests.web.world import World
from tracker.access import open_answers
from tracker.access.api_keys import ApiKeys
from tracker.access.principal import Principal
from tracker.accounts.accounts import Account
from tracker.links.link import Link
from tracker.links.lists.link_lists import LinkLists
from tracker.service.services import Services
from tracker.web import event_stream


async def endless(services: Services, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an export of links never end."""
    link = await create_link(services, account.id, "abc")

    async def rows(self: LinkLists, *_: Any) -> AsyncGenerator[list[Link], None]:
        while True:
            await asyncio.sleep(0.01)
            yield [link]

    monkeypatch.setattr(LinkLists, "all_of", rows)


def ask(connection: Connection, opener: Holder, path: str) -> None:
    target = f"{path}accountId={opener.world.account.id}"
    fields = [f"{name}: {value}" for name, value in opener.fields.items()]
    lines = [f"GET {target} HTTP/1.1", "Host: tracker.test", "Connection: close", *fields]
    connection.send("\r\n".join([*lines, "", ""]).encode())


@pytest.mark.parametrize("end", ENDS)
async def test_an_export_is_cut_when_the_access_ends_that_opened_it(
    world: World, monkeypatch: pytest.MonkeyPatch, logged: Logged, end: End
) -> None:
    opener = await ENDS[end](world)
    await endless(world.services, world.account, monkeypatch)
    async with client_of(world.client.port) as connection:
        ask(connection, opener, "/api/short-links?format=csv&")
        await connection.read(2_000)
        await end(opener)
        assert not (await connection.rest()).endswith(b"\r\n0\r\n\r\n")  # the last chunk
    await eventually(lambda: not world.services.web.exports.count)
    [cut] = [one for one in logged() if one["event"] == "export cut"]
    reason = "export: the access that opened it has ended"
    assert (cut["level"], cut["reason"]) == ("info", reason)


@pytest.mark.parametrize("end", ENDS)
async def test_a_stream_ends_when_the_access_ends_that_opened_it(world: World, end: End) -> None:
    opener = await ENDS[end](world)
    async with telling(world.services), client_of(world.client.port) as connection:
        ask(connection, opener, "/api/live?")
        await connection.read(100)
        await end(opener)
        assert b'data: {"reason":"access_ended"}' in await connection.rest()


async def test_an_export_whose_access_ends_before_the_first_row_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def rows(self: LinkLists, *_: Any) -> AsyncGenerator[list[Link], None]:
        await asyncio.Event().wait()
        yield []

    monkeypatch.setattr(LinkLists, "all_of", rows)
    opener = await a_key(world)
    async with client_of(world.client.port) as connection:
        ask(connection, opener, "/api/short-links?format=csv&")
        await eventually(lambda: world.services.web.exports.count == 1)
        await revoke(opener)
        assert (await connection.answer()).status == 401


async def test_an_export_says_nothing_while_its_access_is_unknown_and_goes_on_after_that(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_answers, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(open_answers, "UNCHECKED_SECONDS", 0.1)
    failing = asyncio.Event()
    fetched, failed = [], []
    principals_of = ApiKeys.principals_of

    async def unreachable(self: ApiKeys, ids: Sequence[UUID]) -> dict[UUID, Principal]:
        if failing.is_set():
            failed.append(ids)
            raise ServerSelectionTimeoutError("no primary")
        return await principals_of(self, ids)

    async def rows(self: LinkLists, *_: Any) -> AsyncGenerator[list[Link], None]:
        for number in range(100):
            fetched.append(number)
            yield [link]
            if number == 10:
                failing.set()
                await eventually(
                    lambda: failed and not world.services.access.open_answers.are_checked
                )

    link = await create_link(world.services, world.account.id, "abc")
    monkeypatch.setattr(ApiKeys, "principals_of", unreachable)
    monkeypatch.setattr(LinkLists, "all_of", rows)
    opener = await a_key(world)
    async with client_of(world.client.port) as connection:
        ask(connection, opener, "/api/short-links?format=csv&")
        await eventually(lambda: len(failed) >= 20)
        assert fetched[-1] == 11
        failing.clear()
        assert len((await connection.answer()).body.splitlines()) == 101


def test_what_nobody_reads_ends_in_time_too() -> None:
    longest = open_answers.CHECK_SECONDS + event_stream.END_SECONDS
    assert longest < open_answers.UNCHECKED_SECONDS == 2.0
