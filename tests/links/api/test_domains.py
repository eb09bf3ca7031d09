"""Custom domains over HTTP: adding, listing, serving links, deleting and access."""

from typing import Any

import msgspec
import pytest

from config.settings import Settings
from tests.dns.dns_server import DnsServer
from tests.factories import LANDING, create_link
from tests.links.api.domains import NAME, PATH, add, send
from tests.web.world import World


@pytest.fixture
def settings(settings: Settings, dns: DnsServer) -> Settings:
    return msgspec.structs.replace(
        settings, dns_resolver=dns.address, reserved_hosts="WWW.tracker.test, *.inner.test"
    )


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"domain_name": "https://go.example"}, "domain_name: must be a hostname"),
        ({"domain_name": "go.example:80"}, "domain_name: must be a hostname"),
        ({"domain_name": "*.go.example"}, "domain_name: must be a hostname"),
        ({"domain_name": "192.0.2.1"}, "domain_name: must be a hostname"),
        ({"domain_name": "example"}, "domain_name: at least two labels"),
        ({"domain_name": "tracker.test"}, "domain_name: must not be the host of this service"),
        ({"domain_name": "TRACKER.test."}, "domain_name: must not be the host of this service"),
        ({"domain_name": "www.tracker.test"}, "domain_name: reserved by the operator"),
        ({"domain_name": "x.inner.test"}, "domain_name: reserved by the operator"),
        ({"domain_name": f"a-{'0' * 24}.tracker.test"}, "domain_name: reserved by the operator"),
        ({"domain_name": "taken.example"}, "domain_name: already taken"),
        ({"domain_name": "Taken.Example."}, "domain_name: already taken"),
        ({"domain_name": None}, "domain_name: must be text"),
        ({}, "domain_name: required"),
        ({"domain_name": NAME, "verified": True}, "verified: unknown field"),
    ],
)
async def test_a_broken_rule_is_named_with_its_field(
    world: World,
    fields: dict[str, Any],
    error: str,
) -> None:
    taken = await world.services.links.domains.create(world.other_account.id, "taken.example")
    await world.services.links.domains.verify(taken.id)
    response = await send(
        world.client, world.secret, "POST", accountId=str(world.account.id), **fields
    )
    assert response.status == 400
    assert response.error.startswith(error)
    assert await world.services.stores.mongodb["domains"].count_documents({}) == 1


async def test_links_of_the_default_domain_do_not_replace_those_of_a_deleted_domain(
    world: World,
) -> None:
    domain = await world.services.links.domains.create(world.account.id, NAME)
    await world.services.links.domains.verify(domain.id)
    await create_link(world.services, world.other_account.id, "spring")
    assert (await world.client.get("/c/spring")).status == 302
    assert (await world.client.get("/c/spring", Host=NAME)).status == 404
    await world.services.links.domains.delete(domain.id)
    assert (await world.client.get("/c/spring", Host=NAME)).status == 404
    assert (await world.client.get(f"/c/spring?d={NAME}")).status == 404


async def test_a_link_on_a_custom_domain_is_opened_by_host_and_by_d(world: World) -> None:
    domain = await add(world.client, world.secret, world.account)
    response = await send(
        world.client,
        world.secret,
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
    refused = await send(world.client, world.secret, "DELETE", path)
    assert refused.status == 400
    assert refused.error == "domain_name: short links use it; archive them first"
    assert await statuses() == [302] * 4 + [404] * 3
    assert (
        await send(world.client, world.secret, "DELETE", f"/api/short-links/{link['id']}")
    ).status == 200
    deleted = await send(world.client, world.secret, "DELETE", path)
    assert (deleted.status, deleted.json()) == (200, {"success": True})
    assert await statuses() == [404] * 7
    assert (await send(world.client, world.secret, "DELETE", path)).status == 404


async def test_a_deleted_name_starts_empty_with_another_account(world: World) -> None:
    first = await world.services.links.domains.create(world.account.id, NAME)
    old = await create_link(world.services, world.account.id, "spring", domain=first)
    await world.services.links.links.change(old.id, {"archived": True})
    assert (await send(world.client, world.secret, "DELETE", f"{PATH}/{first.id}")).status == 200
    _, other_secret = await world.services.access.api_keys.create(world.other_account.id, "a key")
    second = await add(world.client, other_secret, world.other_account)
    assert (await world.client.get("/c/spring", Host=NAME)).status == 404
    response = await send(
        world.client,
        other_secret,
        "POST",
        "/api/short-links",
        accountId=str(world.other_account.id),
        destination_url="https://new.example/",
        slug="spring",
        domain_id=second["id"],
    )
    assert response.status == 200
    location = (await world.client.get("/c/spring", Host=NAME)).headers["Location"]
    assert location.startswith("https://new.example/?click_id=")
    assert (
        await send(world.client, world.secret, "DELETE", f"{PATH}/{second['id']}")
    ).status == 403
