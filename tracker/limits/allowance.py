"""How often each client may do what costs more than it should: token buckets in memory. Pure.

Used for what strangers can make expensive where no rate limit applies: look-ups of what does not
exist, and events that belong to nobody. A process keeps its own buckets, so that no request costs a
command to a store.
"""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from tracker.limits.network import network_of

MAX_CLIENTS: Final = 10_000
"""Clients remembered, about 2 MB. Beyond it the one that spent longest ago is forgotten, and has
its whole allowance again."""


class _Bucket(NamedTuple):
    tokens: float
    at: float


class Allowance:
    """Allows each client `per_minute` at once, and as many again within each minute.

    Clients are told apart by `network_of` their address. With `per_minute` 0 nothing is limited.
    """

    def __init__(
        self,
        per_minute: int,
        ipv6_prefix: int = 64,
        clients: int = MAX_CLIENTS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = float(per_minute)
        self._ipv6_prefix = ipv6_prefix
        self._clients = clients
        self._now = now
        self._buckets: dict[str, _Bucket] = {}

    def is_spent(self, address: str) -> bool:
        """Return whether the client at `address` has nothing left."""
        return bool(self._buckets) and self._left(network_of(address, self._ipv6_prefix)) < 1

    def spend(self, address: str, cost: int = 1) -> bool:
        """Take `cost` from the client at `address`; return False if it had nothing left."""
        if not self._most:
            return True
        client = network_of(address, self._ipv6_prefix)
        left = self._left(client)
        self._buckets.pop(client, None)
        self._buckets[client] = _Bucket(max(0.0, left - cost), self._now())
        if len(self._buckets) > self._clients:
            del self._buckets[next(iter(self._buckets))]
        return left >= 1

    def _left(self, client: str) -> float:
        bucket = self._buckets.get(client)
        if bucket is None:
            return self._most
        return min(self._most, bucket.tokens + (self._now() - bucket.at) * self._most / 60)
