"""One test of each kind, to copy: a pure table, a store, an endpoint and a fault."""

import pytest
from redis import Redis

from tests.factories import create_link
from tests.suspended import suspended
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.limits.network import network_of
from tracker.service.services import Services


@pytest.mark.parametrize(
    ("address", "network"), [("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::/64")]
)
def test_a_limit_is_for_a_network(address: str, network: str) -> None:
    assert network_of(address) == network


async def test_a_tag_is_found_by_its_id(services: Services, account: Account) -> None:
    tag = await services.links.tags.create(account.id, "Spring")
    assert await services.links.tags.find([tag.id]) == {tag.id: tag}


async def test_a_new_tag_is_listed(world: World) -> None:
    created = (
        await world.api.post("/api/tags", accountId=str(world.account.id), name="Spring")
    ).json()
    listed = (await world.api.get(f"/api/tags?accountId={world.account.id}")).json()
    assert [row["id"] for row in listed["rows"]] == [created["id"]]


@pytest.mark.usefixtures("short_patience")
async def test_a_click_is_answered_while_redis_hangs(world: World) -> None:
    await create_link(world.services, world.account.id, "spring")
    assert (await world.client.get("/c/spring")).status == 302
    with Redis.from_url(world.services.settings.redis_url) as redis:
        pid = redis.info("server")["process_id"]
    with suspended(pid):
        assert (await world.client.get("/c/spring")).status == 302
