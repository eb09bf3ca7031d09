"""The addresses that a delivery may connect to: every one is checked when it is connected to.

A target was checked when it was written, but whoever owns its name decides anew with each question
what it stands for. So the connection is made to an address that was checked for this very
connection, and the name is not asked for again. Literal addresses are checked here as well.
"""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from dns.asyncresolver import Resolver as DnsResolver
from dns.exception import DNSException
from dns.name import from_text
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType
from dns.resolver import LRUCache
from tornado.netutil import Resolver

from tracker.errors import Unavailable
from tracker.links.own_hosts import is_localhost
from tracker.links.verification import dns_resolver
from tracker.webhooks.target import Address, is_public, literal

SECONDS: Final = 4.0
"""How long DNS is asked for the addresses of a host."""

_CACHED_ANSWERS: Final = 10_000
_HOSTS_FILE: Final = Path("/etc/hosts")
_KINDS: Final = (RdataType.A, RdataType.AAAA)

Found = list[tuple[int, tuple[str, int]]]
"""(address family, (address, port)), as Tornado connects to them."""

IsOwn = Callable[[str, int], Awaitable[bool]]
"""Whether the service itself answers at (host, port): `links.own_hosts`."""


class NoAddress(OSError):
    """The host has no address, or DNS did not tell in time."""


class PrivateAddress(OSError):
    """The host is, or resolves to, an address in a private network."""


class OwnHost(OSError):
    """The host is the service itself: its deliveries would cause further ones."""


async def nobody(host: str, port: int) -> bool:
    """Answer that no host is the service's own."""
    return False


class CheckedResolver(Resolver):
    """Tornado's resolver for targets. `dns_address` None: the system's DNS servers are asked."""

    def initialize(
        self,
        allow_private: bool,
        dns_address: tuple[str, int] | None,
        is_own: IsOwn = nobody,
    ) -> None:
        self._allow_private = allow_private
        self._is_own = is_own
        self._dns = Dns(dns_address, inside=allow_private and dns_address is None)

    async def resolve(
        self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> Found:
        """Raises OwnHost, NoAddress, and PrivateAddress unless all addresses are public."""
        await self._refuse_own(host, port)
        addresses = await self._addresses(host)
        if not addresses:
            raise NoAddress(f"{host} has no address")
        if not self._allow_private and not all(map(is_public, addresses)):
            raise PrivateAddress(f"{host} is in a private network")
        for address in addresses:
            await self._refuse_own(str(address), port)
        return [(_family(address), (str(address), port)) for address in addresses]

    async def _refuse_own(self, host: str, port: int) -> None:
        # With no store to tell who it is, a delivery goes on: `/api/event` takes none in any case.
        with contextlib.suppress(Unavailable):
            if await self._is_own(host, port):
                raise OwnHost(f"{host} is a host of this service")

    async def _addresses(self, host: str) -> list[Address]:
        return literal(host) or [ip_address(text) for text in await self._dns.resolve(host)]


class Dns:
    """Asks DNS itself, which holds up nobody while a name server is slow. Keeps answers for as long
    as they say.

    `inside`: the system's file of hosts and its search list count as well, for names inside.
    """

    def __init__(self, dns_address: tuple[str, int] | None, inside: bool = False) -> None:
        self._dns_address = dns_address
        self._inside = inside
        self._cache = LRUCache(_CACHED_ANSWERS)

    async def resolve(self, host: str) -> list[str]:
        """The addresses of `host`, IPv4 first; empty if it has none or does not answer in time."""
        if is_localhost(host):
            return ["127.0.0.1", "::1"]
        if self._inside and (listed := _in_hosts_file(host)):
            return listed
        if (kept := self._kept(host)) is not None:
            return kept
        try:
            resolver = dns_resolver(self._dns_address)
        except DNSException:
            return []
        resolver.cache = self._cache
        questions = [_ask(resolver, host, kind, self._inside) for kind in _KINDS]
        found = await asyncio.gather(*questions)
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


async def _ask(resolver: DnsResolver, host: str, kind: RdataType, search: bool) -> list[str]:
    name = host if search else f"{host}."
    try:
        async with asyncio.timeout(SECONDS):
            answer = await resolver.resolve(name, kind, lifetime=SECONDS, search=search)
    except (DNSException, TimeoutError, OSError):
        return []
    return [record.address for record in answer]


def _in_hosts_file(host: str) -> list[str]:
    """Return the addresses that the system's file of hosts has for `host`."""
    try:
        lines = _HOSTS_FILE.read_text(errors="replace").splitlines()
    except OSError:
        return []
    return [fields[0] for fields in map(_fields, lines) if host in fields[1:] and _is_one(fields)]


def _fields(line: str) -> Sequence[str]:
    return line.partition("#")[0].lower().split()


def _is_one(fields: Sequence[str]) -> bool:
    return bool(literal(fields[0]))


def _family(address: Address) -> int:
    return socket.AF_INET if address.version == 4 else socket.AF_INET6
