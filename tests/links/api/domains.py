"""Requests for domains."""

from typing import Any

import orjson

from tests.web.client import Client, Response
from tracker.accounts.accounts import Account

PATH, NAME = "/api/domains", "go.example"


async def send(
    client: Client, secret: str, method: str, path: str = PATH, **fields: Any
) -> Response:
    body = orjson.dumps(fields) if fields else b""
    return await client.request(method, path, {"Authorization": f"Bearer {secret}"}, body)


async def add(client: Client, secret: str, account: Account, name: str = NAME) -> dict[str, Any]:
    response = await send(client, secret, "POST", accountId=str(account.id), domain_name=name)
    assert response.status == 200
    added: dict[str, Any] = response.json()
    return added
