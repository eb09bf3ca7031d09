"""The client's address: the peer's, unless trusted proxies forward another."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address


class ClientAddress:
    """`trusted` is the setting TRUSTED_PROXIES: a number of hops, networks, or empty."""

    def __init__(self, trusted: str) -> None:
        self._hops = int(trusted) if trusted.isdecimal() else 0
        networks = "" if trusted.isdecimal() else trusted
        self._networks = [ip_network(text.strip()) for text in networks.split(",") if text]

    def find(self, peer: str, forwarded_for: Sequence[str]) -> str:
        """Return the client's address. `forwarded_for` has all X-Forwarded-For values, in order.

        Each proxy appends its caller, so hops are read from the right as long as each is trusted.
        A hop that is not an address ends the reading.
        """
        if not self._hops and not self._networks:
            return peer
        client = peer
        for number, hop in enumerate(_hops_from_the_right(forwarded_for)):
            if not self._trusts(client, number):
                break
            address = _parse(hop)
            if address is None:
                break
            client = str(address)
        return client

    def is_proxy(self, peer: str) -> bool:
        """Return whether `peer` is a trusted proxy, which may connect on behalf of many clients."""
        return self._trusts(peer, 0)

    def _trusts(self, text: str, number: int) -> bool:
        if self._hops:
            return number < self._hops
        address = _parse(text)
        return address is not None and any(
            address in network
            for network in self._networks
            if isinstance(network, IPv6Network) == isinstance(address, IPv6Address)
        )


def _hops_from_the_right(forwarded_for: Sequence[str]) -> list[str]:
    """Return the hops, without what a comma at the end leaves; each proxy names its caller."""
    hops = ",".join(forwarded_for).rstrip(", \t").split(",")
    return [hop.strip() for hop in reversed(hops)]


def _parse(hop: str) -> Address | None:
    """Return the address in a hop, which may have a port and quotes; an IPv4-mapped one as IPv4."""
    if len(hop) > 1 and hop[0] == hop[-1] == '"':
        hop = hop[1:-1]
    if hop.startswith("["):
        hop = hop[1:].partition("]")[0]
    elif hop.count(":") == 1:
        hop = hop.partition(":")[0]
    try:
        address = ip_address(hop)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
