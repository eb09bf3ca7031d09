"""Where a webhook may point: a public address, unless the operator allows private ones.

A request from the service must not reach what its visitors cannot: loopback, private networks,
link-local and metadata addresses. Checked here when a webhook is written; the name may resolve
differently later, so a delivery has to check the address that it connects to. Pure but for the
question to DNS, which is asked by the service itself (`addresses.Dns`) and only of those who have
access: the system's resolver takes a thread for as long as a name server is slow, of the few that
connections to Redis need too.
"""

from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from tracker.errors import BadRequest
from tracker.links.own_hosts import is_localhost
from tracker.syntax.url import check_url

FIELD: Final = "target_url"
PRIVATE: Final = f"{FIELD}: must not be in a private network"
OWN_HOST: Final = f"{FIELD}: must not be a host of this service"

Address = IPv4Address | IPv6Address
Resolve = Callable[[str], Awaitable[list[str]]]

# RFC 6052: the last 32 bits are an IPv4 address that a gateway connects to.
_NAT64: Final = IPv6Network("64:ff9b::/96")
# All that is assigned to hosts of the Internet; beside it are local, mapped and reserved ones.
_UNICAST: Final = IPv6Network("2000::/3")
# What some releases of Python call global: IETF protocols and, there, the metadata of Oracle's
# cloud; the end of the 6to4 relays; documentation. And the metadata of Azure, which is no range.
_LOCAL: Final = (
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("168.63.129.16/32"),
    IPv6Network("3fff::/20"),
)


def is_public(address: Address) -> bool:
    """Whether anyone on the Internet could connect to `address` themselves."""
    if isinstance(address, IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return is_public(inner)
        if address not in _UNICAST:
            return False
    if any(address in network for network in _LOCAL if network.version == address.version):
        return False
    return address.is_global and not address.is_multicast


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that packets to `address` end up at."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def check_target(url: str, allow_private: bool) -> tuple[str, int]:
    """Check what the URL alone tells and return its (host, port), in canonical form.

    Raises BadRequest naming the rule.
    """
    host, port = check_url(FIELD, url).address
    if not allow_private and (is_localhost(host) or not all(map(is_public, literal(host)))):
        raise BadRequest(PRIVATE)
    return host, port


async def check_addresses(host: str, resolve: Resolve) -> None:
    """Check what `host` resolves to now.

    Raises BadRequest if one of its addresses is private, or if it has none: a target that cannot be
    checked is not accepted.
    """
    addresses = literal(host) or [ip_address(text) for text in await resolve(host)]
    if not addresses:
        raise BadRequest(f"{FIELD}: the host must resolve; DNS has no address of {host}, or failed")
    if not all(map(is_public, addresses)):
        raise BadRequest(PRIVATE)


def check_encrypted(url: str, allow_http: bool) -> None:
    """Raises BadRequest if `url` is plain http and that is not allowed."""
    if not allow_http and check_url(FIELD, url).scheme.lower() != "https":
        raise BadRequest(f"{FIELD}: must be https (the operator can allow http)")


def literal(host: str) -> list[Address]:
    """Return the address that `host` is; empty for a name."""
    try:
        return [ip_address(host)]
    except ValueError:
        return []
