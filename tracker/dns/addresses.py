"""Addresses of hosts: which are public, and which are this machine's. Pure.

Guarantee: anyone on the Internet could connect to a public address, and to one embedded in it.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address

# RFC 6052: the last 32 bits are an IPv4 address that a gateway connects to.
_NAT64: Final = IPv6Network("64:ff9b::/96")
# Addresses of hosts on the Internet; the rest is local, mapped or reserved.
_UNICAST: Final = IPv6Network("2000::/3")
# Some releases of Python call these global: IETF protocols, with the metadata of Oracle's cloud;
# 6to4 relays; the metadata of Azure; documentation.
_LOCAL: Final = (
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("168.63.129.16/32"),
    IPv6Network("3fff::/20"),
)


def is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return is_public(inner)
        if address not in _UNICAST:
            return False
    if any(address in network for network in _LOCAL if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast


def literal(host: str) -> list[Address]:
    """Return `host` as an address, in a list; an empty list if it is a name."""
    try:
        return [ip_address(host)]
    except ValueError:
        return []


def is_localhost(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def is_local(host: str) -> bool:
    return is_localhost(host) or any(map(_is_this_machine, literal(host)))


def _inner(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that packets to `address` reach in the end."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def _is_this_machine(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return address.is_loopback or address.is_unspecified
