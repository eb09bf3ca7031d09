"""The limits on open connections: in total, and for each address.

Asked when a connection is accepted, before a TLS handshake. Guarantee: one address never has more
than its share, so that it cannot take every connection.
"""

import time
from collections.abc import Callable
from typing import Final

import structlog

from tracker.metrics import CONNECTIONS_REFUSED

log = structlog.get_logger(__name__)

LOG_EVERY_SECONDS: Final = 60.0

CountedAs = Callable[[str], str]
"""Address of a peer to what it counts as, such as its network; empty for one that has no share."""


def each_address(peer: str) -> str:
    """Return `peer`: every address counts for itself."""
    return peer


class Admission:
    """A count of open connections: at most `limit`, `for_each` per address (0: unlimited)."""

    def __init__(self, limit: int, for_each: int = 0, counted_as: CountedAs = each_address) -> None:
        self._limit = limit
        self._for_each = for_each
        self._counted_as = counted_as
        self._open = 0
        self._open_by: dict[str, int] = {}
        self._logged_at = -LOG_EVERY_SECONDS

    def enter(self, peer: str) -> bool:
        """Count a connection of `peer`, and return True; False if there is no room for it."""
        if self._open >= self._limit:
            return self._reject("total")
        if self._for_each and (who := self._counted_as(peer)):
            count = self._open_by.get(who, 0)
            if count >= self._for_each:
                return self._reject("address")
            self._open_by[who] = count + 1
        self._open += 1
        return True

    def leave(self, peer: str) -> None:
        """Undo an `enter` that returned True: the connection has ended."""
        self._open -= 1
        if self._for_each and (who := self._counted_as(peer)):
            count = self._open_by[who] - 1
            if count:
                self._open_by[who] = count
            else:
                del self._open_by[who]

    def _reject(self, reason: str) -> bool:
        CONNECTIONS_REFUSED.labels(reason).inc()
        now = time.monotonic()
        if now - self._logged_at >= LOG_EVERY_SECONDS:
            self._logged_at = now
            limit = self._limit if reason == "total" else self._for_each
            log.warning("connections refused", reason=reason, limit=limit)
        return False
