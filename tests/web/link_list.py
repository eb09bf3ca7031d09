"""Requests for the list of short links."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from tests.links.api.short_links import PATH
from tests.web.client import Client, Response
from tracker.accounts.accounts import Account

Query = Mapping[str, Any] | Sequence[tuple[str, Any]] | str


async def listed(client: Client, secret: str, query: Query = "") -> Response:
    return await client.get(f"{PATH}?{encoded(query)}", Authorization=f"Bearer {secret}")


def encoded(query: Query) -> str:
    return query if isinstance(query, str) else urlencode(query)


async def slugs(client: Client, secret: str, account: Account, query: Query = "") -> list[str]:
    """Return the slugs of the links on the page, in order."""
    response = await listed(client, secret, f"accountId={account.id}&{encoded(query)}")
    assert response.status == 200, response.body
    return [row["slug"] for row in response.json()["rows"]]
