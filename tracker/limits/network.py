"""The network that an address counts by. Pure; used by every limit for each client.

A subscriber or a rented server has a whole IPv6 network, usually a /64, and may send each request
from another address of it. Limits by full address would not hold such a client.
"""

from ipaddress import AddressValueError, IPv6Address, ip_address
from typing import Final

_IPV6_BITS: Final = 128


def network_of(address: str, ipv6_prefix: int = 64) -> str:
    """Return what `address` counts by: an IPv4 address itself, an IPv6 one its network.

    An IPv4-mapped address is its IPv4 address. Text that is no address, such as the peer of a Unix
    socket, is returned as it is. `ipv6_prefix` is in bits, 1 to 128; with 128 every address counts
    for itself.
    """
    if ":" not in address:
        return address
    try:
        ipv6 = IPv6Address(address.partition("%")[0])
    except AddressValueError:
        return address
    if ipv6.ipv4_mapped is not None:
        return str(ipv6.ipv4_mapped)
    host_bits = _IPV6_BITS - ipv6_prefix
    network = IPv6Address(int(ipv6) >> host_bits << host_bits)
    return str(network) if not host_bits else f"{network}/{ipv6_prefix}"


def is_loopback(address: str) -> bool:
    """Return whether `address` is of the machine itself."""
    try:
        return ip_address(network_of(address, _IPV6_BITS)).is_loopback
    except ValueError:
        return False
