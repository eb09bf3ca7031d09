"""Requests for domains."""

from typing import Any

import orjson

from tests.web.client import Response
from tests.web.keyed_client import KeyedClient
from tracker.accounts.accounts import Account

PATH, NAME = "/api/domains", "go.example"


async def send(api: KeyedClient, method: str, path: str = PATH, **fields: Any) -> Response:
    return await api.send(method, path, orjson.dumps(fields) if fields else b"")


async def add(api: KeyedClient, account: Account, name: str = NAME) -> dict[str, Any]:
    response = await send(api, "POST", accountId=str(account.id), domain_name=name)
    assert response.status == 200
    added: dict[str, Any] = response.json()
    return added
