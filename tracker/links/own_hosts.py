"""The service's own hosts: no webhook may point to them, and no account may claim them.

A delivery to the service could cause the next one, without end. Each account has a hostname,
`a-<digest of its id>.<CNAME_HOST>`. A CNAME to it proves that a domain is the account's.
"""

import re
from collections.abc import Collection
from hashlib import sha256
from typing import Final
from uuid import UUID

from tracker.dns.addresses import is_local, literal
from tracker.links.domains import Domains
from tracker.links.hostnames import canonical_hostname

_ACCOUNT_LABEL: Final = re.compile(r"a-[0-9a-f]{24}")


class OwnHosts:
    """The base host, and the service's own port on this machine.

    `base_host` and `base_port` are public, `port` is the listening port. `reserved` has more names;
    `*.` stands for all names below.
    """

    def __init__(
        self,
        base_host: str,
        base_port: int,
        port: int,
        cname_host: str = "",
        reserved: Collection[str] = (),
    ) -> None:
        self._host = base_host
        self._cname_host = canonical_hostname(cname_host or base_host)
        names = (self._host, self._cname_host, *reserved)
        self._reserved = {name for name in names if not name.startswith("*.")}
        self._reserved_below = tuple(name[1:] for name in reserved if name.startswith("*."))
        self._ports = {port, base_port} if is_local(base_host) else {port}
        # Another port of an IP address is often another service of the same owner.
        self._base_ports = {port, base_port} if literal(base_host) else None

    def has(self, host: str, port: int) -> bool:
        """Return whether `host`, in canonical form, is ours. Custom domains do not count."""
        if is_local(host):
            return port in self._ports
        if self._is_account_host(host):
            return True
        return host == self._host and (self._base_ports is None or port in self._base_ports)

    def is_reserved(self, name: str) -> bool:
        """Return whether no account may claim `name`, in its canonical form."""
        if name in self._reserved or self._is_account_host(name):
            return True
        return name.endswith(self._reserved_below)

    def cname_target(self, account_id: UUID) -> str | None:
        """Return the account's own hostname; None if the service has no hostname."""
        if not self._cname_host:
            return None
        return f"a-{sha256(account_id.bytes).hexdigest()[:24]}.{self._cname_host}"

    def _is_account_host(self, host: str) -> bool:
        label, _, rest = host.partition(".")
        return rest == self._cname_host and bool(_ACCOUNT_LABEL.fullmatch(label))


class ServedHosts:
    """The hosts that no webhook may point to: our own, and the proven custom domains."""

    def __init__(self, own_hosts: OwnHosts, domains: Domains) -> None:
        self._own_hosts = own_hosts
        self._domains = domains

    async def has(self, host: str, port: int) -> bool:
        """Return whether `host` (canonical) is ours."""
        if self._own_hosts.has(host, port):
            return True
        name = canonical_hostname(host)
        domain = await self._domains.by_name(name) if name else None
        return domain is not None and domain.verified
