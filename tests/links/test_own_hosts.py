"""The service's own hosts, by name and by the port on this machine."""

import pytest

from tests.web.each import each_case
from tracker.ids import new_id
from tracker.links.hostnames import canonical_hostname
from tracker.links.own_hosts import OwnHosts, ServedHosts
from tracker.service.services import Services

LOCAL = ("localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:7f00:1", "0.0.0.0")


@each_case(
    "base, host, port, own",
    [
        (("go.example", 443), "go.example", 443, True),
        (("go.example", 443), "go.example", 9000, True),
        (("go.example", 443), "x.go.example", 443, False),
        (("go.example", 443), "example", 443, False),
        *((("go.example", 443), host, 8080, True) for host in LOCAL),
        *((("go.example", 443), host, 443, False) for host in LOCAL),
        *((("localhost", 80), host, 80, True) for host in LOCAL),
        *((("localhost", 80), host, 9000, False) for host in LOCAL),
        (("192.168.1.5", 80), "192.168.1.5", 80, True),
        (("192.168.1.5", 80), "192.168.1.5", 8080, True),
        (("192.168.1.5", 80), "192.168.1.5", 9000, False),
        (("192.168.1.5", 80), "192.168.1.6", 80, False),
    ],
)
async def test_own_hosts_are_recognized(
    services: Services, base: tuple[str, int], host: str, port: int, own: bool
) -> None:
    hosts = OwnHosts(*base, port=8080)
    assert hosts.has(host, port) is own
    assert await ServedHosts(hosts, services.links.domains).has(host, port) is own


ACCOUNTS = new_id(), new_id()


def test_each_account_has_a_hostname_of_its_own_that_stays() -> None:
    hosts = OwnHosts("go.example", 443, 8080)
    targets = [hosts.cname_target(one) for one in (*ACCOUNTS, *ACCOUNTS)]
    assert targets[:2] == targets[2:]
    assert len(set(targets)) == 2
    for target in targets:
        assert target is not None
        assert target.removesuffix(".go.example").isascii()
        assert canonical_hostname(target) == target
        assert hosts.has(target, 443)
        assert hosts.is_reserved(target)


@pytest.mark.parametrize("base", ["127.0.0.1", "::1"])
def test_a_service_without_a_hostname_has_none_for_accounts(base: str) -> None:
    hosts = OwnHosts(base, 443, 8080)
    assert hosts.cname_target(ACCOUNTS[0]) is None
    assert not hosts.is_reserved("example.com")


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("go.example", True),
        ("cname.example", True),
        ("www.example", True),
        ("x.www.example", False),
        ("a.inner.example", True),
        ("notinner.example", False),
        ("a-0123456789abcdef01234567.cname.example", True),
        ("a-0123456789abcdef01234567.go.example", False),
    ],
)
def test_reserved_names_cannot_be_claimed(name: str, reserved: bool) -> None:
    names = ("www.example", "*.inner.example")
    hosts = OwnHosts("go.example", 443, 8080, "cname.example", names)
    assert hosts.is_reserved(name) is reserved
