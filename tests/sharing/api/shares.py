"""Shares, and requests of those who open them."""

from typing import Any

import orjson

from tests.web.client import Client, Response
from tests.web.keyed_client import KeyedClient
from tracker.accounts.accounts import Account

FROM_PAGE = {"Sec_Fetch_Site": "same-origin", "Content_Type": "application/json"}


REPORT = {"lastDays": 7, "panels": [{"groupBy": "link"}, {"groupBy": "country"}]}


PASSWORD = "a few unrelated words"


async def create(api: KeyedClient, account: Account, **fields: Any) -> Response:
    given = {"accountId": str(account.id), "name": "Spring", "report": REPORT} | fields
    return await api.post("/api/shares", **given)


async def share(api: KeyedClient, account: Account, **fields: Any) -> tuple[str, str]:
    """Create a share; return its id and token."""
    response = await create(api, account, **fields)
    assert response.status == 200, response.body
    made = response.json()
    url, _, token = made["url"].partition("#")
    assert url == "http://tracker.test/console/shared"
    return made["id"], token


async def opened(client: Client, token: str, **fields: Any) -> Response:
    """Open a share, as its page does."""

    body = orjson.dumps({"token": token, **fields})
    return await client.post("/api/shared", body, **FROM_PAGE)
