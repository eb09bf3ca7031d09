"""No spelling of an address inside gets past: as numbers, as names, within other addresses."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.errors import BadRequest
from tracker.webhooks.target import Resolve, check_addresses, check_target, is_public

PRIVATE = "target_url: must not be in a private network"
HOST_RULE = "target_url: the host must be a hostname"

INSIDE = [
    *("0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1"),
    *("172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200", "169.254.0.1"),
    *("169.254.169.254", "168.63.129.16", "192.0.0.8", "192.0.0.192", "192.0.2.1", "192.88.99.1"),
    *("198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"),
    "255.255.255.255",
]
INSIDE_6 = [
    *("::", "::1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fdff::1", "fd00:ec2::254"),
    *("ff02::1", "ff0e::1", "100::1", "2001:db8::1", "3fff::1", "2001::1", "2001:10::1"),
    *("64:ff9b:1::1", "::7f00:1", "::808:808", "::ffff:0:7f00:1", "4000::1", "5f00::1"),
]
OUTSIDE = ["8.8.8.8", "1.1.1.1", "11.0.0.1", "172.32.0.1", "172.15.255.255", "192.167.255.255"]
OUTSIDE += ["100.63.255.255", "100.128.0.1", "169.253.255.255", "168.63.129.15", "223.255.255.255"]
OUTSIDE_6 = ["2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888"]


def mapped(address: str) -> list[str]:
    """Every IPv6 address whose packets end up at the IPv4 `address`."""
    number = int(IPv4Address(address))
    return [
        str(IPv6Address(0xFFFF << 32 | number)),
        str(IPv6Address(0x2002 << 112 | number << 80 | 1)),
        str(IPv6Address(0x64FF9B << 96 | number)),
    ]


def resolves_to(*addresses: str) -> Resolve:
    async def answer(host: str) -> list[str]:
        return list(addresses)

    return answer


async def unasked(host: str) -> list[str]:
    raise AssertionError(f"asked for {host}")


async def check(url: str, resolve: Resolve = unasked) -> None:
    host, _ = check_target(url, allow_private=False)
    await check_addresses(host, resolve)


async def refused(url: str, resolve: Resolve = unasked) -> str:
    with pytest.raises(BadRequest) as error:
        await check(url, resolve)
    return error.value.message


@pytest.mark.parametrize("address", [*INSIDE, *INSIDE_6])
async def test_an_address_inside_is_refused(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    for url in (f"https://{host}", f"http://{host}:8080/hook?a=1"):
        assert await refused(url) == PRIVATE
    assert await refused("https://hooks.example", resolves_to(address)) == PRIVATE


@pytest.mark.parametrize("address", INSIDE)
async def test_an_address_inside_is_refused_within_an_ipv6_address(address: str) -> None:
    for outer in mapped(address):
        assert await refused(f"https://[{outer}]/") == PRIVATE
        assert await refused("https://hooks.example", resolves_to(outer)) == PRIVATE


@pytest.mark.parametrize(
    "host",
    [
        *("[::ffff:127.0.0.1]", "[::FFFF:7F00:1]", "[0:0:0:0:0:ffff:169.254.169.254]"),
        *("[::127.0.0.1]", "[64:ff9b::169.254.169.254]", "[2002:a9fe:a9fe::]", "[0::0]"),
        *("127.0.0.1.", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "①②⑦.0.0.1"),
        *("localhost", "LOCALHOST.", "a.localhost", "a.b.Localhost.", "\u24dbocalhost"),
    ],
)
async def test_another_spelling_of_it_is_refused(host: str) -> None:
    assert await refused(f"http://{host}/") == PRIVATE


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "017700000001", "0x7f.0.0.1", "0177.0.0.1", "127.1"),
        *("127.0.1", "0", "00", "0x0", "127.0.0.01", "256.256.256.256", "1.2.3.4.5", "3232235521"),
        *("[fe80::1%25eth0]", "[fe80::1%eth0]", "[127.0.0.1]", "[::1", "", "a..b", "%31"),
    ],
)
async def test_what_only_some_read_as_an_address_is_no_host(host: str) -> None:
    assert (await refused(f"http://{host}/")).startswith(HOST_RULE)
    with pytest.raises(BadRequest):
        check_target(f"http://{host}/", allow_private=True)


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.com", "http://::1/", "ftp://8.8.8.8", "file:///etc/passwd"),
        *("gopher://8.8.8.8", "https://user@8.8.8.8", "http://8.8.8.8@127.0.0.1"),
        *("http://8.8.8.8\\@127.0.0.1/", "http://8.8.8.8/\r\nHost: x", "http://8.8.8.8:0"),
        *("http://8.8.8.8#@127.0.0.1 ", "https://8.8.8.8/" + "a" * 2048),
    ],
)
async def test_what_is_no_plain_url_is_refused_also_where_private_ones_are_allowed(
    url: str,
) -> None:
    for allow_private in (True, False):
        with pytest.raises(BadRequest, match=r"^target_url: "):
            check_target(url, allow_private)


@pytest.mark.parametrize("address", [*OUTSIDE, *OUTSIDE_6, *mapped("8.8.8.8")])
async def test_an_address_outside_is_accepted(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    await check(f"https://{host}:8443/hook")
    await check("https://hooks.example/", resolves_to(address, "8.8.4.4"))


async def test_one_address_inside_among_others_is_enough() -> None:
    for addresses in (["8.8.8.8", "10.0.0.1"], ["::1", "8.8.8.8"]):
        assert await refused("https://hooks.example", resolves_to(*addresses)) == PRIVATE


async def test_a_name_without_an_address_is_refused() -> None:
    told = await refused("https://hooks.example/", resolves_to())
    assert told.startswith("target_url: the host must resolve")


async def test_a_name_is_asked_for_in_its_canonical_form() -> None:
    asked = []

    async def note(host: str) -> list[str]:
        asked.append(host)
        return ["8.8.8.8"]

    await check("https://B\u00fccher.Example.:8443/", note)
    assert asked == ["xn--bcher-kva.example"]


async def test_the_operator_may_allow_private_networks() -> None:
    for host in ("127.0.0.1", "[::1]", "localhost", "hooks.internal", "169.254.169.254"):
        assert check_target(f"http://{host}:9000/", allow_private=True)[1] == 9000


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_public_or_not_however_it_is_wrapped(address: IPv4Address) -> None:
    wrapped = {is_public(ip_address(outer)) for outer in mapped(str(address))}
    assert wrapped == {is_public(address)}


@given(st.ip_addresses(v=6))
def test_a_public_ipv6_address_is_global(address: IPv6Address) -> None:
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_link_local
