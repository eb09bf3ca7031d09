"""Changes of short links survive races and unavailable stores."""

import asyncio

import msgspec

from tests.factories import create_link
from tests.links.api.short_links import send, stored
from tests.stores.redis.own_redis import unavailable_redis
from tests.web.world import World
from tracker.service.services import Services


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
