"""`/internal/tls-ask`: the answers to a proxy with on-demand certificates."""

import asyncio
import itertools

import pytest

from tests.web.client import Client
from tests.web.each import each_case
from tests.web.world import World

PATH = "/internal/tls-ask"


@pytest.mark.parametrize(
    "host", ["go.example", "GO.Example", "go.example.", "%67o.example", "go.example&domain=x"]
)
async def test_a_verified_domain_may_have_a_certificate(world: World, host: str) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    assert (await world.client.get(f"{PATH}?domain={host}")).status == 404
    await world.services.links.domains.verify(domain.id)
    response = await world.client.get(f"{PATH}?domain={host}")
    assert (response.status, response.json()) == (200, {"ok": True})
    assert (await world.client.request("HEAD", f"{PATH}?domain={host}")).status == 200
    await world.services.links.domains.delete(domain.id)
    assert (await world.client.get(f"{PATH}?domain={host}")).status == 404


async def test_an_international_name_is_accepted_in_either_form(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, "xn--bcher-kva.example")
    await world.services.links.domains.verify(domain.id)
    for host in ("xn--bcher-kva.example", "b%C3%BCcher.example"):
        assert (await world.client.get(f"{PATH}?domain={host}")).status == 200


@each_case(
    "host",
    [
        "nobody.example",
        "tracker.test",
        "127.0.0.1",
        "go.example:443",
        "*.example",
        "%00",
        "%FF",
        "a" * 5000,
    ],
)
async def test_any_other_host_may_not_have_a_certificate(world: World, host: str) -> None:
    response = await world.client.get(f"{PATH}?domain={host}")
    assert (response.status, response.error) == (404, "domain: not a verified custom domain")


@pytest.mark.parametrize("query", ["", "?", "?domain", "?domain=", "?host=go.example"])
async def test_the_host_is_required(client: Client, query: str) -> None:
    response = await client.get(f"{PATH}{query}")
    assert response.status == 400
    assert response.error.startswith("domain: required")


async def test_unknown_hosts_count_towards_the_limit_of_unknown_names(world: World) -> None:
    await world.services.links.domains.verify(
        (await world.services.links.domains.create(world.account.id, "go.example")).id
    )
    numbers = itertools.count()
    while not world.services.links.domain_cache._misses.is_used_up("127.0.0.1"):
        paths = [f"{PATH}?domain=x{number}.example" for number in itertools.islice(numbers, 50)]
        answers = await asyncio.gather(*map(world.client.get, paths))
        assert {answer.status for answer in answers} == {404}
    world.services.links.domain_cache.forget_all()
    assert (await world.client.get(f"{PATH}?domain=go.example")).status == 200
