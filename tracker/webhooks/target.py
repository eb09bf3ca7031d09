"""Where a webhook may point: a public address, unless the operator allows private ones.

A request from the service must not reach what its visitors cannot: loopback, private networks,
link-local and metadata addresses. Checked here when a webhook is written; the name may resolve
differently later, so a delivery has to check the address that it connects to.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

from tracker.errors import BadRequest
from tracker.http.url import check_url

FIELD: Final = "target_url"
RESOLVE_SECONDS: Final = 2.0

Address = IPv4Address | IPv6Address
Resolve = Callable[[str], Awaitable[list[str]]]

# RFC 6052: the last 32 bits are an IPv4 address that a gateway connects to.
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Whether anyone on the Internet could connect to `address` themselves."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.teredo is not None or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast


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
    try:
        addresses = [str(ip_address(host))]
    except ValueError:
        addresses = await resolve(host)
    if not all(is_public(ip_address(address)) for address in addresses):
        raise BadRequest(f"{FIELD}: must not be in a private network")
