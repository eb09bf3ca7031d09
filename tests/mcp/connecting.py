"""Clients of `/mcp`: the official one, and one that sends any bytes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp.losing_campaign import ask
from tests.web.client import Response
from tests.web.world import World


@asynccontextmanager
async def connected(world: World, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    """Yield the official client, connected over HTTP with a key."""
    failed: Exception | None = None
    url = f"http://127.0.0.1:{world.client.port}/mcp"
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        try:
            yield client
        except Exception as error:  # the client would wrap it in two groups
            failed = error
    if failed is not None:
        raise failed


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Return the message of a tool that fails."""
    with pytest.raises(ValueError) as raised:
        await ask(client, tool, **arguments)
    return str(raised.value)


async def posted(world: World, body: bytes, **headers: str | bytes) -> Response:
    key: dict[str, str | bytes] = {"Authorization": f"Bearer {world.secret}"}
    return await world.client.request("POST", "/mcp", key | headers, body)


async def sent(world: World, method: str, version: str | None = None, **params: Any) -> Response:
    """Send a request as clients of before 2026 do."""
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    headers = {} if version is None else {"Mcp-Protocol-Version": version}
    return await posted(world, orjson.dumps(body), **headers)
