"""The resolver of `client` returns only addresses that a delivery may connect to.

- All addresses of a host must be public, unless the operator allows private networks.
- No host of the service itself is allowed: such a delivery would cause more deliveries.

Guarantee: the client connects to the address that was checked, even if the owner of a name changes
the answer of DNS after the target was stored.
"""

import contextlib
import socket
from ipaddress import ip_address

from tornado.netutil import Resolver

from tracker.dns.addresses import Address, is_public, literal
from tracker.dns.resolver import DnsFailed, HostResolver
from tracker.errors import Unavailable
from tracker.links.own_hosts import ServedHosts

Endpoint = tuple[int, tuple[str, int]]
"""(address family, (address, port)), as Tornado connects to it."""


class RefusedHost(OSError):
    """Why a host is not connected to: `<class>: <detail>`, with the class dns, private or own."""


class CheckedResolver(Resolver):
    """Tornado's resolver for targets. Without `dns_address` it asks the system's name servers."""

    def initialize(
        self,
        allow_private: bool,
        dns_address: tuple[str, int] | None,
        served_hosts: ServedHosts | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._served_hosts = served_hosts
        self._hosts = HostResolver(dns_address, local_names=allow_private and dns_address is None)

    async def resolve(
        self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[Endpoint]:
        """Return addresses to connect to. Raises RefusedHost if there is none."""
        await self._check_not_own(host, port)
        addresses = await self._addresses(host)
        if not addresses:
            raise RefusedHost(f"dns: {host} has no address")
        if not self._allow_private and not all(map(is_public, addresses)):
            raise RefusedHost(f"private: {host} is in a private network")
        for address in addresses:
            await self._check_not_own(str(address), port)
        families = {4: socket.AF_INET, 6: socket.AF_INET6}
        return [(families[one.version], (str(one), port)) for one in addresses]

    async def _check_not_own(self, host: str, port: int) -> None:
        if self._served_hosts is None:
            return
        # If no store answers, the delivery continues: `/api/event` refuses it in any case.
        with contextlib.suppress(Unavailable):
            if await self._served_hosts.has(host, port):
                raise RefusedHost(f"own: {host} is a host of this service")

    async def _addresses(self, host: str) -> list[Address]:
        if addresses := literal(host):
            return addresses
        try:
            return [ip_address(text) for text in await self._hosts.resolve(host)]
        except DnsFailed:
            raise RefusedHost(f"dns: {host} could not be resolved") from None
