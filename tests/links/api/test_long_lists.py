"""Lists that search or count links have few permits, and end with their client."""

import asyncio

import pytest

from tests.http.serving import client_of
from tests.waiting import eventually
from tests.web.client import HOST
from tests.web.world import World
from tracker.ids import new_id
from tracker.limits.permits import PermitLimits, Permits

LINKS = "/api/short-links"


@pytest.fixture
def permits(world: World) -> Permits:
    """Return the permits of long lists: one at once, and one of each account may wait."""
    permits = Permits("links", "long lists", PermitLimits(1, 1, 1, 5), 60)
    world.services.links = world.services.links._replace(long_lists=permits)
    return permits


async def test_a_list_that_searches_or_counts_links_waits_for_its_turn(
    world: World, permits: Permits
) -> None:
    account_id = world.account.id
    paths = {
        f"{LINKS}?accountId={account_id}&search=spring": 429,
        f"{LINKS}?accountId={account_id}&utm_source=news": 429,
        f"{LINKS}?accountId={account_id}&selectedTags={new_id()},{new_id()}": 429,
        f"{LINKS}?accountId={account_id}&page=12&pageSize=100": 429,  # read piece by piece
        f"/api/domains?accountId={account_id}": 429,
        f"{LINKS}?accountId={account_id}": 200,
        f"{LINKS}?accountId={account_id}&active=true&selectedTags={new_id()}": 200,
        f"{LINKS}?accountId={account_id}&slug=spring": 200,
        f"/api/tags?accountId={account_id}": 200,
    }
    async with permits.permit(world.other_account.id):
        waiting = asyncio.create_task(world.api.get(next(iter(paths))))
        await eventually(lambda: permits._waiting._in_flight[account_id] == 1)
        for path, status in paths.items():
            response = await world.api.get(path)
            assert response.status == status, path
            if status == 429:
                assert (
                    response.error == "links: 1 long lists of the account are under way; try again"
                )
                assert response.headers["Retry-After"] == "60"
    assert (await waiting).status == 200


async def test_a_list_ends_with_its_client(world: World, permits: Permits) -> None:
    path = f"{LINKS}?accountId={world.account.id}&search=spring"
    head = [f"GET {path} HTTP/1.1", f"Host: {HOST}", f"Authorization: Bearer {world.secret}"]
    async with permits.permit(world.other_account.id):
        async with client_of(world.client.port) as connection:
            connection.send("\r\n".join([*head, "", ""]).encode())
            await eventually(lambda: permits._waiting._in_flight[world.account.id] == 1)
        await eventually(lambda: permits._waiting._in_flight[world.account.id] == 0)
