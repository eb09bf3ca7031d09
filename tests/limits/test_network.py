"""The network by which an address is limited."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.limits.network import address_number, network_of, truncated


@pytest.mark.parametrize(
    ("address", "prefix", "network"),
    [
        ("203.0.113.7", 64, "203.0.113.7"),
        ("203.0.113.7", 1, "203.0.113.7"),
        ("::ffff:203.0.113.7", 64, "203.0.113.7"),
        ("::ffff:cb00:7107", 128, "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", 64, "2001:db8:1:2::/64"),
        ("2001:db8:1:2:3:4:5:6", 48, "2001:db8:1::/48"),
        ("2001:db8:1:2ff:3:4:5:6", 56, "2001:db8:1:200::/56"),
        ("2001:db8:0:0::1", 128, "2001:db8::1"),
        ("fe80::1%eth0", 64, "fe80::/64"),
        ("::1", 64, "::/64"),
        ("", 64, ""),
        ("unix", 64, "unix"),
        ("not:an:address", 64, "not:an:address"),
    ],
)
def test_an_ipv6_address_becomes_its_network_and_an_ipv4_address_is_unchanged(
    address: str, prefix: int, network: str
) -> None:
    assert network_of(address, prefix) == network


@given(st.integers(0, 2**128 - 1).map(IPv6Address), st.integers(1, 127))
def test_networks_equal_those_of_the_standard_library(address: IPv6Address, prefix: int) -> None:
    if address.ipv4_mapped is None:
        expected = str(ip_network((address, prefix), strict=False))
        assert network_of(str(address), prefix) == expected


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("8.8.4.4", "8.8.4.0/24"),
        ("::ffff:8.8.4.4", "8.8.4.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/48"),
        ("", ""),
        ("unix:", ""),
    ],
)
def test_a_truncated_address_names_a_network_of_many(address: str, shown: str) -> None:
    assert truncated(address) == shown


_addresses = st.integers(0, 2**128 - 1).map(IPv6Address) | st.integers(0, 2**32 - 1).map(
    IPv4Address
)
_texts = st.text("0123456789abcfF:.%/ x\0", max_size=20) | _addresses.map(str)


@given(_texts | _addresses.map("::ffff:{}".format) | _addresses.map("{}%eth0".format))
def test_the_number_of_an_address_is_that_of_the_standard_library(text: str) -> None:
    try:
        parsed = ip_address(text.partition("%")[0] if ":" in text else text)
    except ValueError:
        assert address_number(text) is None
    else:
        mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
        shown = mapped or parsed
        assert address_number(text) == (shown.version, int(shown))
