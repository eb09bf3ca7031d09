"""Requests for the list of short links."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from tests.links.api.short_links import PATH
from tests.web.client import Response
from tests.web.world import World

Query = Mapping[str, Any] | Sequence[tuple[str, Any]] | str


async def listed(world: World, query: Query = "") -> Response:
    """Return the answer to a query of the account."""
    return await world.api.get(f"{PATH}?accountId={world.account.id}&{encoded(query)}")


def encoded(query: Query) -> str:
    return query if isinstance(query, str) else urlencode(query)


async def slugs(world: World, query: Query = "") -> list[str]:
    """Return the slugs of the links on the page, in order."""
    response = await listed(world, query)
    assert response.status == 200, response.body
    return [row["slug"] for row in response.json()["rows"]]
