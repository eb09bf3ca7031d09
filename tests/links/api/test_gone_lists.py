"""A list of links that is searched for long ends with its client."""

import asyncio
from typing import Any

import pytest

from tests.http.serving import client_of
from tests.waiting import eventually
from tests.web.client import HOST
from tests.web.world import World


async def test_a_list_of_links_ends_with_its_client(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def page(*_: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(world.services.links.lists, "page", page)
    path = f"/api/short-links?accountId={world.account.id}"
    head = [f"GET {path} HTTP/1.1", f"Host: {HOST}", f"Authorization: Bearer {world.secret}"]
    async with client_of(world.client.port) as connection:
        connection.send("\r\n".join([*head, "", ""]).encode())
        await eventually(begun.is_set)
        assert not ended.is_set()
    await eventually(ended.is_set)
