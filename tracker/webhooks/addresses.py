"""The addresses that a delivery may connect to: every one is checked when it is connected to.

A target was checked when it was written, but whoever owns its name decides anew with each question
what it stands for. So the connection is made to an address that was checked for this very
connection, and the name is not asked for again. Literal addresses are checked here as well.
"""

import asyncio
import socket
from ipaddress import ip_address
from typing import Final

from dns.asyncresolver import Resolver as DnsResolver
from dns.exception import DNSException
from dns.name import from_text
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType
from dns.resolver import LRUCache
from tornado.netutil import Resolver

from tracker.links.verification import dns_resolver
from tracker.webhooks.target import Address, Resolve, is_localhost, is_public, resolve

SECONDS: Final = 4.0
"""How long DNS is asked for the addresses of a host."""

_CACHED_ANSWERS: Final = 10_000
_KINDS: Final = (RdataType.A, RdataType.AAAA)

Found = list[tuple[int, tuple[str, int]]]
"""(address family, (address, port)), as Tornado connects to them."""


class NoAddress(OSError):
    """The host has no address, or DNS did not tell in time."""


class PrivateAddress(OSError):
    """The host is, or resolves to, an address in a private network."""


class CheckedResolver(Resolver):
    """Tornado's resolver for targets. `dns_address` None: the system's DNS servers are asked."""

    def initialize(self, allow_private: bool, dns_address: tuple[str, int] | None) -> None:
        self._allow_private = allow_private
        # Names inside are often known to the system alone, from its file of hosts. Asking it takes
        # a thread for as long as a name server is slow, so it is not asked for anyone's names.
        use_system = allow_private and dns_address is None
        self._resolve: Resolve = resolve if use_system else Dns(dns_address).resolve

    async def resolve(
        self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> Found:
        """Raises NoAddress, and PrivateAddress unless all of the host's addresses are public."""
        addresses = await self._addresses(host)
        if not addresses:
            raise NoAddress(f"{host} has no address")
        if not self._allow_private and not all(map(is_public, addresses)):
            raise PrivateAddress(f"{host} is in a private network")
        return [(_family(address), (str(address), port)) for address in addresses]

    async def _addresses(self, host: str) -> list[Address]:
        try:
            return [ip_address(host)]
        except ValueError:
            return [ip_address(text) for text in await self._resolve(host)]


class Dns:
    """Asks DNS itself, which holds up nobody while a name server is slow. Keeps answers for as long
    as they say."""

    def __init__(self, dns_address: tuple[str, int] | None) -> None:
        self._dns_address = dns_address
        self._cache = LRUCache(_CACHED_ANSWERS)

    async def resolve(self, host: str) -> list[str]:
        """The addresses of `host`, IPv4 first; empty if it has none or does not answer in time."""
        if is_localhost(host):
            return ["127.0.0.1", "::1"]
        if (kept := self._kept(host)) is not None:
            return kept
        try:
            resolver = dns_resolver(self._dns_address)
        except DNSException:
            return []
        resolver.cache = self._cache
        found = await asyncio.gather(*(_ask(resolver, host, kind) for kind in _KINDS))
        return [address for addresses in found for address in addresses]

    def _kept(self, host: str) -> list[str] | None:
        """From answers that are kept; None if they do not tell. A resolver, which is to be made
        anew each time, tells the same, but takes 0.2 ms more of each attempt."""
        try:
            name = from_text(f"{host}.")
        except DNSException:
            return None
        answers = [self._cache.get((name, kind, RdataClass.IN)) for kind in _KINDS]
        if None in answers:
            return None
        return [record.address for answer in answers if answer for record in answer.rrset or ()]


async def _ask(resolver: DnsResolver, host: str, kind: RdataType) -> list[str]:
    try:
        async with asyncio.timeout(SECONDS):
            answer = await resolver.resolve(f"{host}.", kind, lifetime=SECONDS)
    except (DNSException, TimeoutError, OSError):
        return []
    return [record.address for record in answer]


def _family(address: Address) -> int:
    return socket.AF_INET if address.version == 4 else socket.AF_INET6
