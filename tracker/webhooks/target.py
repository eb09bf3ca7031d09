"""Targets of webhooks: the rules that the API checks when a URL is written. Pure except for DNS.

- Its host resolves only to public addresses, unless the operator allows private ones.
- If DNS fails or has no address, the target is accepted: `resolver` checks again when a delivery
  connects. A name may be published tomorrow, so a host without an address brings a warning.
"""

from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Final

from tracker.dns.addresses import is_localhost, is_public, literal
from tracker.dns.resolver import DnsFailed
from tracker.errors import BadRequest
from tracker.syntax.url import check_url

FIELD: Final = "target_url"
PRIVATE: Final = (
    f"{FIELD}: must not be in a private network, unless the operator sets "
    "WEBHOOK_ALLOW_PRIVATE=true, as in a trial"
)
OWN_HOST: Final = f"{FIELD}: must not be a host of this service"

Resolve = Callable[[str], Awaitable[list[str]]]
"""Resolves a host to its addresses, or none. Raises DnsFailed."""


def check_target(url: str, allow_private: bool, allow_http: bool = True) -> tuple[str, int]:
    """Check a URL without DNS; return its canonical (host, port). Raises BadRequest."""
    parts = check_url(FIELD, url)
    if not allow_http and parts.scheme.lower() != "https":
        raise BadRequest(f"{FIELD}: must be https (the operator can allow http)")
    host, port = parts.address
    if not allow_private and (is_localhost(host) or not all(map(is_public, literal(host)))):
        raise BadRequest(PRIVATE)
    return host, port


async def check_addresses(host: str, resolve: Resolve) -> list[str]:
    """Return warnings. Raises BadRequest if an address is private. Failures of DNS are ignored."""
    try:
        addresses = literal(host) or [ip_address(text) for text in await resolve(host)]
    except DnsFailed:
        return []
    if not all(map(is_public, addresses)):
        raise BadRequest(PRIVATE)
    warning = f"{FIELD}: DNS has no address of {host}; nothing arrives until it has"
    return [] if addresses else [warning]
