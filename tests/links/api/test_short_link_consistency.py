"""Changes of short links reach every process, and survive crashes, races and unavailable stores."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.factories import create_link
from tests.links.api.short_links import NEW, send, stored
from tests.links.processes import process, visited
from tests.stores.redis.own_redis import unavailable_redis
from tests.waiting import becomes
from tests.web.world import World
from tracker.links.link import cached_link
from tracker.service.services import Services


@pytest.mark.parametrize(
    ("method", "body", "is_found"),
    [
        ("PATCH", {"destination_url": NEW}, True),
        ("PATCH", {"active": False}, False),
        ("DELETE", None, False),
    ],
)
@pytest.mark.usefixtures("long_memory")
async def test_a_change_reaches_every_process(
    world: World, method: str, body: Any, is_found: bool
) -> None:
    async with process(world.services.settings) as other:
        link = await create_link(world.services, world.account.id, "abc")
        assert await visited(other, "abc") is not None
        assert (await world.client.get("/c/abc")).status == 302
        assert (await send(world, method, link.id, body)).status == 200
        opened = await world.client.get("/c/abc")
        assert opened.status == (302 if is_found else 404)
        if is_found:
            assert opened.headers["Location"].startswith(NEW)
        changed = await world.services.links.links.find(link.id)
        assert changed is not None
        await becomes(lambda: visited(other, "abc"), cached_link(changed))
        assert (cached_link(changed) is not None) is is_found


async def test_while_redis_is_unavailable_links_are_shown_but_not_changed(world: World) -> None:
    link = await create_link(world.services, world.account.id, "abc")
    before = await stored(world.services, link.id)
    cut_off = Services(
        msgspec.structs.replace(world.services.settings, redis_url=unavailable_redis())
    )
    world.services.links = world.services.links._replace(
        link_cache=cut_off.links.link_cache, links=cut_off.links.links
    )
    assert (await send(world, "GET", link.id)).status == 200
    bulk = {"accountId": str(world.account.id), "ids": [str(link.id)], "active": False}
    for method, path, body in (
        ("PATCH", link.id, {"active": False}),
        ("DELETE", link.id, None),
        ("PATCH", "bulk", bulk),
    ):
        response = await send(world, method, path, body)
        assert (response.status, response.error) == (503, "storage is unavailable; try again")
        assert "Retry-After" not in response.headers
    assert await stored(world.services, link.id) == before
    await cut_off.stop()
    await cut_off.close()


async def test_a_change_and_a_deletion_at_once_both_take_effect(world: World) -> None:
    link = await create_link(world.services, world.account.id, "abc")
    bodies = [{"internal_name": f"name {number}"} for number in range(5)]
    await asyncio.gather(
        *(send(world, "PATCH", link.id, body) for body in bodies), send(world, "DELETE", link.id)
    )
    assert (await stored(world.services, link.id))["archived"]
    assert (await world.client.get("/c/abc")).status == 404
