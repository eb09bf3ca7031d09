"""A delivery reaches no private address, however it is written and whatever DNS answers."""

import pytest

from config.settings import Settings
from tests.dns.dns_server import DnsServer
from tests.dns.networks import INSIDE, INSIDE_6, mapped
from tests.webhooks.receiver import receiving
from tests.webhooks.sending.posting import request
from tracker.dns.addresses import Address
from tracker.links.own_hosts import OwnHosts, ServedHosts
from tracker.service.services import Services
from tracker.webhooks.delivery import Outcome
from tracker.webhooks.sending import resolver as module
from tracker.webhooks.sending.client import WebhookClient, WebhookRequest
from tracker.webhooks.sending.resolver import CheckedResolver, RefusedHost

NAME = "hooks.example"


def at(dns: DnsServer) -> tuple[str, int] | None:
    return Settings(dns_resolver=dns.address).dns_address


async def resolved(dns: DnsServer, host: str, allow_private: bool = False) -> list[str]:
    resolver = CheckedResolver(allow_private=allow_private, dns_address=at(dns))
    return [address for _, (address, port) in await resolver.resolve(host, 443) if port == 443]


async def sent(url: str, dns: DnsServer) -> Outcome:
    """Send a request without the check that a target passes when it is written."""
    client = WebhookClient(allow_private=False, dns_address=at(dns))
    return await client.send(WebhookRequest(method="POST", url=url, headers={}, body=b"{}"))


@pytest.mark.parametrize("address", [*INSIDE, *INSIDE_6, *mapped("127.0.0.1"), *mapped("10.0.0.1")])
async def test_no_private_address_is_connected_to(dns: DnsServer, address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    assert (await sent(f"http://{host}:1/", dns)).failure == "private"
    dns.has(NAME, "AAAA" if ":" in address else "A", address)
    assert (await sent(f"http://{NAME}:1/", dns)).failure == "private"


async def test_the_address_that_was_checked_is_the_one_connected_to(
    dns: DnsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here 127.0.0.2 stands for an address outside, and DNS turns around right after the check."""
    checked: list[str] = []

    def is_public(address: Address) -> bool:
        checked.append(str(address))
        return str(address) == "127.0.0.2"

    monkeypatch.setattr(module, "is_public", is_public)
    dns.turns(NAME, "A", "127.0.0.2", "127.0.0.1")
    client = WebhookClient(allow_private=False, dns_address=at(dns))
    async with receiving(host="127.0.0.2") as outside:
        first = await client.send(request(f"http://{NAME}:{outside.port}/"))
        assert dns.asked.count((NAME, "A")) == 1
        second = await client.send(request(f"http://{NAME}:{outside.port}/"))
    assert (first.code, second.failure) == (200, "private")
    assert checked == ["127.0.0.2", "127.0.0.1"]
    assert len(outside.received) == 1
    assert outside.received[0].headers["host"] == f"{NAME}:{outside.port}"


async def test_cnames_are_followed_and_one_private_address_is_enough_to_refuse(
    dns: DnsServer,
) -> None:
    dns.has("alias.example", "CNAME", f"{NAME}.")
    dns.has(NAME, "A", "8.8.8.8")
    assert await resolved(dns, "alias.example") == ["8.8.8.8"]
    dns.has("two.example", "A", "8.8.8.8", "10.0.0.1")
    dns.has("six.example", "A", "8.8.8.8")
    dns.has("six.example", "AAAA", "fd00::1")
    dns.has("inner.example", "CNAME", "two.example.")
    for name in ("two.example", "six.example", "inner.example"):
        with pytest.raises(RefusedHost, match="private: "):
            await resolved(dns, name)
        assert len(await resolved(dns, name, allow_private=True)) == 2


async def test_an_answer_is_cached_for_its_ttl(dns: DnsServer) -> None:
    dns.has(NAME, "A", "8.8.8.8")
    dns.has(NAME, "AAAA", "2606:4700:4700::1111")
    dns.turns("turning.example", "A", "8.8.8.8", "8.8.4.4")
    resolver = CheckedResolver(allow_private=False, dns_address=at(dns))
    kept = [await resolver.resolve(NAME, 443) for _ in range(3)]
    assert kept[0] == kept[1] == kept[2]
    assert [name for name, _ in dns.asked] == [NAME, NAME]
    turning = [await resolver.resolve("turning.example", 443) for _ in range(2)]
    assert [found[0][1][0] for found in turning] == ["8.8.8.8", "8.8.4.4"]


async def test_localhost_is_resolved_without_dns(dns: DnsServer) -> None:
    dns.has("localhost", "A", "8.8.8.8")
    for name in ("localhost", "a.localhost"):
        with pytest.raises(RefusedHost, match="private: "):
            await resolved(dns, name)
        assert await resolved(dns, name, allow_private=True) == ["127.0.0.1", "::1"]
    assert dns.asked == []


async def test_the_services_own_port_is_not_connected_to(
    services: Services, dns: DnsServer
) -> None:
    dns.has(NAME, "A", "127.0.0.1")
    async with receiving() as receiver:
        own = OwnHosts("tracker.test", 443, receiver.port)
        served = ServedHosts(own, services.links.domains)
        client = WebhookClient(allow_private=True, dns_address=at(dns), served_hosts=served)
        for host in (NAME, "127.0.0.1", "localhost"):
            outcome = await client.send(request(f"http://{host}:{receiver.port}/"))
            assert outcome.failure == "own"
    assert receiver.received == []
