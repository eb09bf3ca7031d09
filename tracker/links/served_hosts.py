"""All hosts of the service: its own, and the proven custom domains."""

from tracker.links.domains import Domains
from tracker.links.hostnames import canonical_hostname
from tracker.links.own_hosts import OwnHosts


class ServedHosts:
    """The hosts that no webhook may point to."""

    def __init__(self, own_hosts: OwnHosts, domains: Domains) -> None:
        self._own_hosts = own_hosts
        self._domains = domains

    async def has(self, host: str, port: int) -> bool:
        """Return whether `host` (canonical) is ours. Raises Unavailable if no store answers."""
        if self._own_hosts.has(host, port):
            return True
        name = canonical_hostname(host)
        domain = await self._domains.by_name(name) if name else None
        return domain is not None and domain.is_proven
