"""The limits of a server: sizes, counts and seconds in one table, and the count of its connections.

Guarantee: one address never has more than its share of the open connections.
"""

import time
from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from tracker.metrics import CONNECTIONS_REFUSED

log = structlog.get_logger(__name__)

LOG_INTERVAL_SECONDS: Final = 60.0

CountedAs = Callable[[str], str]
"""Returns the name under which an address is counted; empty for no limit."""


class Limits(msgspec.Struct, frozen=True):
    """The limits of a server, in bytes and seconds. A value equal to its limit is allowed."""

    connections: int = 100_000
    """Beyond it a new connection is closed before anything is read."""

    target_bytes: int = 8 * 1024
    """Bytes of the request target; beyond it 414."""

    head_bytes: int = 32 * 1024
    """Bytes of the request line and all fields; beyond it 431."""

    fields: int = 100
    """Header fields of a request; beyond it 431."""

    body_bytes: int = 200 * 1024 * 1024
    """Bytes of a body; beyond it 413. Most endpoints allow far less (`web/incoming_body`)."""

    waiting_bytes: int = 64 * 1024
    """Bytes received while an answer is awaited, at least `head_bytes`; then reading pauses."""

    unsent_bytes: int = 64 * 1024
    """Bytes written and not yet taken by the client; beyond it the futures of writes wait."""

    head_seconds: float = 10.0
    """From a request's first byte to the last of its head; for a new connection's first byte."""

    body_seconds: float = 30.0
    """Time for a whole body, or from one piece that the handler waited for to the next."""

    fast_path_seconds: float = 60.0
    """Time for an answer of the fast path, which takes milliseconds unless a fault prevents it."""

    idle_seconds: float = 75.0

    stalled_seconds: float = 60.0
    """Time in which a client must take something of its answer. The kernel reports progress only
    every megabyte or so, for which a slow client needs this long."""

    linger_seconds: float = 3.0
    """Time for a client to read its answer, while bytes that it still sends are dropped."""

    linger_bytes: int = 1024 * 1024
    """Bytes that are read and dropped in `linger_seconds`: the longest body of any endpoint."""

    @property
    def sweep_seconds(self) -> float:
        """Return the interval of sweeps. A connection ends up to two of them late, never early."""
        waits = self.head_seconds, self.body_seconds, self.idle_seconds
        return min(1.0, min(*waits, self.stalled_seconds, self.linger_seconds) / 4)


class Admission:
    """A limiter of open connections: in all, and `per_address` (0: no limit)."""

    def __init__(self, limit: int, per_address: int = 0, counted_as: CountedAs = str) -> None:
        self._limit = limit
        self._per_address = per_address
        self.counted_as = counted_as
        self._open = 0
        self._open_by: dict[str, int] = {}
        self._logged_at = -LOG_INTERVAL_SECONDS

    def admit(self, peer: str) -> bool:
        """Count a connection of `peer` if the limits allow it, and return whether they do."""
        if self._open >= self._limit:
            return self._reject("total")
        if self._per_address and (name := self.counted_as(peer)):
            count = self._open_by.get(name, 0)
            if count >= self._per_address:
                return self._reject("address")
            self._open_by[name] = count + 1
        self._open += 1
        return True

    def release(self, peer: str) -> None:
        self._open -= 1
        if self._per_address and (name := self.counted_as(peer)):
            count = self._open_by[name] - 1
            if count:
                self._open_by[name] = count
            else:
                del self._open_by[name]

    def _reject(self, reason: str) -> bool:
        CONNECTIONS_REFUSED.labels(reason).inc()
        now = time.monotonic()
        if now - self._logged_at >= LOG_INTERVAL_SECONDS:
            self._logged_at = now
            limit = self._limit if reason == "total" else self._per_address
            log.warning("connections refused", reason=reason, limit=limit)
        return False
