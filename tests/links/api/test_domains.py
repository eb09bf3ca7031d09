"""Custom domains over HTTP: adding, listing, serving links, deleting and access."""

import msgspec
import pytest

from config.settings import Settings
from tests.dns.dns_server import DnsServer
from tests.factories import LANDING
from tests.links.api.domains import NAME, PATH, add, send
from tests.web.world import World


@pytest.fixture
def settings(settings: Settings, dns: DnsServer) -> Settings:
    return msgspec.structs.replace(
        settings, dns_resolver=dns.address, reserved_hosts="WWW.tracker.test, *.inner.test"
    )


async def test_a_name_that_nobody_may_claim_is_refused_with_the_rule(world: World) -> None:
    taken = await world.services.links.domains.create(world.other_account.id, "taken.example")
    await world.services.links.domains.verify(taken.id)
    for name, rule in (
        ("https://go.example", "must be a hostname"),
        ("example", "at least two labels"),
        ("TRACKER.test.", "must not be the host of this service"),
        ("www.tracker.test", "reserved by the operator"),
        ("x.inner.test", "reserved by the operator"),
        (f"a-{'0' * 24}.tracker.test", "reserved by the operator"),
        ("Taken.Example.", "already taken"),
    ):
        response = await send(world.api, "POST", accountId=str(world.account.id), domain_name=name)
        assert response.status == 400
        assert response.error.startswith(f"domain_name: {rule}")
    assert await world.services.stores.mongodb["domains"].count_documents({}) == 1


async def test_a_link_on_a_custom_domain_is_opened_by_host_and_by_d(world: World) -> None:
    domain = await add(world.api, world.account)
    response = await send(
        world.api,
        "POST",
        "/api/short-links",
        accountId=str(world.account.id),
        destination_url=LANDING,
        slug="spring",
        domain_id=domain["id"],
    )
    link = response.json()
    assert (link["domain_name"], link["short_url"]) == (NAME, f"http://{NAME}/c/spring")

    async def statuses() -> list[int]:
        opened = [
            await world.client.get("/c/spring", Host=NAME),
            await world.client.get("/c/spring", Host=f"{NAME.upper()}:8080"),
            await world.client.get(f"/c/spring?d={NAME}"),
            await world.client.get(f"/api/click?s=spring&d={NAME}"),
            await world.client.get("/c/spring"),
            await world.client.get("/api/click?s=spring", Host=NAME),
            await world.client.get(f"/c/spring?d=other.{NAME}"),
        ]
        for one in opened[:4]:
            if one.status == 302:
                assert one.headers["Location"].startswith(f"{LANDING}?click_id=")
        return [one.status for one in opened]

    assert await statuses() == [302] * 4 + [404] * 3
    path = f"{PATH}/{domain['id']}"
    refused = await send(world.api, "DELETE", path)
    assert refused.status == 400
    assert refused.error == "domain_name: short links use it; archive them first"
    assert await statuses() == [302] * 4 + [404] * 3
    assert (await send(world.api, "DELETE", f"/api/short-links/{link['id']}")).status == 200
    deleted = await send(world.api, "DELETE", path)
    assert (deleted.status, deleted.json()) == (200, {"success": True})
    assert await statuses() == [404] * 7
    assert (await send(world.api, "DELETE", path)).status == 404
