"""Proving custom domains over HTTP: the DNS records, the owner, and other claims to the name."""

import re
from typing import Any

import msgspec
import pytest

from config.settings import Settings
from tests.dns.dns_server import DnsServer
from tests.factories import create_link
from tests.links.api.domains import NAME, PATH, add, send
from tests.web.client import Response
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.access.audit import AuditFilter
from tracker.clock import iso, now


@pytest.fixture
def settings(settings: Settings, dns: DnsServer) -> Settings:
    return msgspec.structs.replace(
        settings, dns_resolver=dns.address, reserved_hosts="www.tracker.test"
    )


async def verify(api: KeyedClient, domain: dict[str, Any]) -> Response:
    return await api.post(f"{PATH}/{domain['id']}/verify")


async def test_an_added_domain_shows_the_records_that_prove_it(world: World) -> None:
    before = now()
    domain = await add(world.api, world.account, "B\u00fccher.Example.")
    name = "xn--bcher-kva.example"
    assert (domain["links"], domain["last_check"]) == (0, None)
    assert (domain["account_id"], domain["domain_name"]) == (str(world.account.id), name)
    assert domain["verified"] is False
    assert iso(before) <= domain["created_at"] <= iso(now())
    txt = domain["verification"]["txt"]
    assert txt["name"] == f"_tracker.{name}"
    assert txt["value"].startswith("tracker-verification=")
    cname = domain["verification"]["cname"]
    assert cname["name"] == name
    assert re.fullmatch(r"a-[0-9a-f]{24}\.tracker\.test", cname["value"])


@pytest.mark.parametrize("kind", ["txt", "cname"])
async def test_a_domain_is_verified_by_either_record_and_stays_verified(
    world: World, dns: DnsServer, kind: str
) -> None:
    domain = await add(world.api, world.account)
    response = await verify(world.api, domain)
    assert response.status == 400
    for record in domain["verification"].values():
        assert record["name"] in response.error
        assert record["value"] in response.error
    record = domain["verification"][kind]
    point_here(dns, domain, kind)
    for proven in (True, False):
        response = await verify(world.api, domain)
        assert response.status == 200
        check = response.json()["last_check"]
        assert response.json() == {**domain, "verified": True, "last_check": check}
        assert (check["proven"], check[kind]) == (proven, [record["value"]] if proven else [])
        dns.fails(record["name"], "SERVFAIL")
    listed = await send(world.api, "GET", f"{PATH}?accountId={world.account.id}")
    assert listed.json()["rows"] == [response.json()]
    assert (await world.client.get(f"/internal/tls-ask?domain={NAME}")).status == 200
    [entry], _ = await world.services.access.audit.page(
        world.account.id, 1, 10, AuditFilter(action="domain.verified")
    )
    assert (str(entry.target.id), entry.target.name) == (domain["id"], NAME)


async def test_a_name_that_was_reserved_after_its_claim_cannot_be_proven(
    world: World, dns: DnsServer
) -> None:
    claim = await world.services.links.domains.create(world.account.id, "www.tracker.test")
    listed = await send(world.api, "GET", f"{PATH}?accountId={world.account.id}")
    [domain] = listed.json()["rows"]
    point_here(dns, domain, "txt")
    response = await verify(world.api, domain)
    assert response.status == 400
    assert response.error == "domain_name: reserved by the operator of this service"
    assert await world.services.links.domains.find(claim.id) == claim
    await create_link(world.services, world.account.id, "spring", domain=claim)
    assert (await world.client.get("/c/spring?d=www.tracker.test")).status == 404
    assert (await send(world.api, "GET", f"{PATH}?accountId={world.account.id}")).status == 200


def point_here(dns: DnsServer, domain: dict[str, Any], kind: str) -> None:
    record = domain["verification"][kind]
    form = {"txt": '"{}"', "cname": "{}."}[kind]
    dns.has(record["name"], kind.upper(), form.format(record["value"]))


async def test_a_dns_server_that_does_not_answer_is_reported(world: World, dns: DnsServer) -> None:
    domain = await add(world.api, world.account)
    dns.fails(NAME, "SERVFAIL")
    response = await verify(world.api, domain)
    assert (response.status, "Retry-After" in response.headers) == (503, False)
    assert response.error == f"DNS: no answer for {NAME}; try again"
    listed = await send(world.api, "GET", f"{PATH}?accountId={world.account.id}")
    [shown] = listed.json()["rows"]
    check = shown["last_check"]
    assert shown == {**domain, "last_check": check}
    assert (check["proven"], check["error"]) == (False, f"no answer for {NAME}")


async def test_a_domain_shows_how_many_links_it_has_without_archived_ones(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, NAME)
    await world.services.links.domains.create(world.account.id, "empty.example")
    for slug in "abc":
        link = await create_link(world.services, world.account.id, slug, domain=domain)
    await world.services.links.links.change(link.id, {"archived": True})
    await create_link(world.services, world.account.id, "default")
    listed = await send(world.api, "GET", f"{PATH}?accountId={world.account.id}")
    assert [row["links"] for row in listed.json()["rows"]] == [0, 2]
