"""An IPv6 address that carries a private IPv4 address is not public."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from hypothesis import given
from hypothesis import strategies as st

from tracker.dns.addresses import is_public

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
    """Return every IPv6 address whose packets end up at the IPv4 `address`."""
    number = int(IPv4Address(address))
    return [
        str(IPv6Address(0xFFFF << 32 | number)),
        str(IPv6Address(0x2002 << 112 | number << 80 | 1)),
        str(IPv6Address(0x64FF9B << 96 | number)),
    ]


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
