"""Where a webhook may point: a public address, unless the operator allows private ones.

A request from the service must not reach what its visitors cannot: loopback, private networks,
link-local and metadata addresses. Checked here when a webhook is written; the name may resolve
differently later, so a delivery has to check the address that it connects to.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from tracker.errors import BadRequest
from tracker.http.url import check_url

FIELD: Final = "target_url"
RESOLVE_SECONDS: Final = 2.0

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


async def resolve(host: str) -> list[str]:
    """The addresses of `host`; empty if it has none or does not answer in time."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        return []
    return [str(address[0]).partition("%")[0] for *_, address in found]


async def check_target(url: str, allow_private: bool, resolve: Resolve = resolve) -> None:
    """Raises BadRequest naming the rule. A name that does not resolve now is accepted."""
    host, _ = check_url(FIELD, url).address
    if allow_private:
        return
    if is_localhost(host) or not all(map(is_public, await _addresses(host, resolve))):
        raise BadRequest(f"{FIELD}: must not be in a private network")


def is_localhost(host: str) -> bool:
    """RFC 6761: whatever a name server says."""
    return host == "localhost" or host.endswith(".localhost")


async def _addresses(host: str, resolve: Resolve) -> list[Address]:
    try:
        return [ip_address(host)]
    except ValueError:
        return [ip_address(text) for text in await resolve(host)]
