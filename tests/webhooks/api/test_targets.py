"""Rules of webhook targets that need a look-up: DNS, and the hosts of the service."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from config.settings import Settings
from tests.dns.dns_server import DnsServer
from tests.stores.redis.own_cluster import forget_everything
from tests.stores.redis.own_redis import own_redis
from tests.waiting import eventually
from tests.web.client import Response
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account

PATH, NAME = "/api/webhooks", "hooks.example"
TARGET = f"https://{NAME}/"
OWN = "target_url: must not be a host of this service"


@pytest.fixture(scope="module")
def named_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a Redis that has a name, which needs a look-up."""
    with own_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server.url.replace("127.0.0.1", "localhost")


@pytest.fixture
def settings(settings: Settings, dns: DnsServer, named_redis: str) -> Settings:
    forget_everything(named_redis)
    return msgspec.structs.replace(settings, dns_resolver=dns.address, redis_url=named_redis)


async def create(api: KeyedClient, account: Account, target_url: str = TARGET) -> Response:
    return await api.post(PATH, account_id=str(account.id), target_url=target_url)


async def test_a_target_without_an_address_is_accepted_with_a_warning_until_it_has_one(
    world: World, dns: DnsServer
) -> None:
    elsewhere = (await create(world.api, world.account, "https://8.8.8.8/")).json()
    assert elsewhere["warnings"] == []
    made = (await create(world.api, world.account)).json()
    path = f"{PATH}/{made['id']}"
    for answer in (
        made,
        (await world.api.patch(f"{PATH}/{elsewhere['id']}", target_url=TARGET)).json(),
        (await world.api.get(path)).json(),
        (await world.api.patch(path)).json(),
        (await world.api.post(f"{path}/secret")).json(),
    ):
        [warning] = answer["warnings"]
        assert warning.startswith(f"target_url: DNS has no address of {NAME}; ")
    unsent = await world.api.post(f"{path}/test")
    assert unsent.json()["attempt"]["error"].startswith("dns: ")
    dns.has("published.example", "A", "8.8.8.8")
    moved = await world.api.patch(path, target_url="https://published.example/")
    assert moved.json()["warnings"] == []


@pytest.mark.parametrize("failure", ["SERVFAIL", "silence"])
async def test_a_target_is_accepted_while_dns_fails_and_its_deliveries_are_checked(
    world: World,
    dns: DnsServer,
    failure: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = (await create(world.api, world.account, "https://8.8.8.8/")).json()
    with monkeypatch.context() as failing:
        if failure == "silence":
            failing.setattr("tracker.dns.resolver.LOOKUP_SECONDS", 0.3)
            dns.silent = {NAME}
        else:
            dns.fails(NAME, failure)
        made = await create(world.api, world.account)
        assert made.status == 200, made.body
        changed = await world.api.patch(f"{PATH}/{elsewhere['id']}", target_url=TARGET)
        assert (changed.status, changed.json()["target_url"]) == (200, TARGET)
        unsent = await world.api.post(f"{PATH}/{made.json()['id']}/test")
        assert unsent.json()["attempt"]["error"] == f"dns: {NAME} could not be resolved"
    dns.works_again(NAME)
    dns.has(NAME, "A", "127.0.0.1")
    refused = await world.api.post(f"{PATH}/{made.json()['id']}/test")
    assert refused.json()["attempt"]["error"] == f"private: {NAME} is in a private network"
    assert (await create(world.api, world.account)).status == 400


async def test_names_that_dns_never_answers_delay_neither_redis_nor_other_accounts(
    world: World, dns: DnsServer
) -> None:
    # The system resolves the name of Redis, for each new connection.
    slow = [f"slow{number}.example" for number in range(20)]
    dns.silent = {*slow}
    dns.has(NAME, "A", "8.8.8.8")
    hanging = [
        asyncio.ensure_future(create(world.api, world.account, f"https://{name}/")) for name in slow
    ]
    await eventually(lambda: sum(one.done() for one in hanging) == 10)
    for one in hanging:
        if one.done():
            answer = one.result()
            assert answer.status == 429
            assert 1 <= int(answer.headers["Retry-After"]) <= 5
            assert answer.error == "DNS: 10 look-ups of the account are under way; try again"
    pool: Any = world.services.stores.redis.connection_pool
    pool.reopen_connections()
    assert await world.services.stores.redis.ping()
    _, secret = await world.services.access.api_keys.create(world.other_account.id, "k")
    assert (await create(KeyedClient(world.client, secret), world.other_account)).status == 200
    assert sum(one.done() for one in hanging) == 10
    statuses = {one.status for one in await asyncio.gather(*hanging)}
    assert statuses <= {429, 400, 503, 200}


@pytest.mark.parametrize(
    "target_url",
    ["https://tracker.test/api/event", "http://TRACKER.Test.:9000/", "https://own.example/x?y=1"],
)
async def test_the_hosts_of_the_service_are_rejected_as_targets(
    world: World, dns: DnsServer, target_url: str
) -> None:
    for name in ("own.example", "claimed.example", "tracker.test"):
        dns.has(name, "A", "8.8.8.8")
    domain = await world.services.links.domains.create(world.account.id, "own.example")
    await world.services.links.domains.verify(domain.id)
    await world.services.links.domains.create(world.account.id, "claimed.example")
    made = await create(world.api, world.account, "https://claimed.example/")
    assert made.status == 200
    for response in (
        await create(world.api, world.account, target_url),
        await world.api.patch(f"{PATH}/{made.json()['id']}", target_url=target_url),
    ):
        assert (response.status, response.error) == (400, OWN)


async def test_a_target_that_becomes_a_host_of_the_service_is_not_delivered_to(
    world: World, dns: DnsServer
) -> None:
    dns.has(NAME, "A", "8.8.8.8")
    made = (await create(world.api, world.account)).json()
    domain = await world.services.links.domains.create(world.account.id, NAME)
    await world.services.links.domains.verify(domain.id)
    tested: dict[str, Any] = (await world.api.post(f"{PATH}/{made['id']}/test")).json()
    assert tested["attempt"]["error"] == f"own: {NAME} is a host of this service"
