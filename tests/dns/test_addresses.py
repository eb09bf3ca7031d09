"""An IPv6 address that carries a private IPv4 address is not public."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from hypothesis import given
from hypothesis import strategies as st

from tests.dns.networks import OUTSIDE, mapped
from tracker.dns.addresses import is_public

OUTSIDE += ["100.63.255.255", "100.128.0.1", "169.253.255.255", "168.63.129.15", "223.255.255.255"]


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
