"""Token buckets in memory, one for each client. Pure.

They limit what strangers can make expensive where no rate limit applies: look-ups of names that do
not exist, and events that belong to no account. A process keeps its own buckets, so that no request
costs a command to a store.
"""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tracker.limits.network import IPV6_PREFIX_BITS, network_of

MAX_CLIENTS: Final = 10_000
"""Clients remembered, in about 2 MB. Beyond it the client that spent longest ago is forgotten. Its
next request finds a full allowance."""


class _Bucket(NamedTuple):
    tokens: float
    at: float


class Allowance:
    """An allowance of `per_minute` for each client, refilled evenly; 0: no limit.

    A client is the network of an address (`network_of`).
    """

    def __init__(
        self,
        per_minute: int,
        ipv6_prefix: int = IPV6_PREFIX_BITS,
        max_clients: int = MAX_CLIENTS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._capacity = float(per_minute)
        self._ipv6_prefix = ipv6_prefix
        self._max_clients = max_clients
        self._now = now
        self._buckets: dict[str, _Bucket] = {}

    def is_spent(self, address: str) -> bool:
        """Return whether the client at `address` has nothing left."""
        return bool(self._buckets) and self._left(network_of(address, self._ipv6_prefix)) < 1

    def spend(self, address: str, cost: int = 1) -> bool:
        """Take `cost` from the client at `address`; return whether it had anything left."""
        if not self._capacity:
            return True
        client = network_of(address, self._ipv6_prefix)
        left = self._left(client)
        self._buckets.pop(client, None)
        self._buckets[client] = _Bucket(max(0.0, left - cost), self._now())
        if len(self._buckets) > self._max_clients:
            del self._buckets[next(iter(self._buckets))]
        return left >= 1

    def _left(self, client: str) -> float:
        bucket = self._buckets.get(client)
        if bucket is None:
            return self._capacity
        return min(self._capacity, bucket.tokens + (self._now() - bucket.at) * self._capacity / 60)
