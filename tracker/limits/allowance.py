"""Token buckets in memory, one for each client. Pure.

They limit expensive requests of strangers. Each process has its own: no command to a store.
"""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tracker.limits.network import IPV6_PREFIX_BITS, network_of
from tracker.limits.oldest import drop_oldest

MAX_CLIENTS: Final = 10_000
"""In about 2 MB. Beyond it the least recent client is forgotten."""


class _Bucket(NamedTuple):
    tokens: float
    at: float


class Allowance:
    """An allowance of `per_minute` for each network of clients, refilled evenly; 0: no limit."""

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

    def is_used_up(self, address: str) -> bool:
        return bool(self._buckets) and self._left(network_of(address, self._ipv6_prefix)) < 1

    def use(self, address: str, cost: int = 1) -> bool:
        """Take `cost` from the client at `address`; return whether any was left."""
        if not self._capacity:
            return True
        client = network_of(address, self._ipv6_prefix)
        left = self._left(client)
        self._buckets.pop(client, None)
        self._buckets[client] = _Bucket(max(0.0, left - cost), self._now())
        drop_oldest(self._buckets, self._max_clients)
        return left >= 1

    def _left(self, client: str) -> float:
        bucket = self._buckets.get(client)
        if bucket is None:
            return self._capacity
        return min(self._capacity, bucket.tokens + (self._now() - bucket.at) * self._capacity / 60)
