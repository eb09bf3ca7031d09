"""Concurrency limits for webhook requests: in total, per host, account and webhook. Pure.

The sender acquires permits before it claims deliveries. A permit allows one request in flight, of
MAX_PAYLOAD_BYTES until its size is recorded, and of none once its payload is written.

- A webhook starts with one permit, gains one after each success and drops to one after a failure.
- Degraded webhooks (failing or slow) share at most half of all permits, untested ones a quarter.
- One account has at most a quarter of all permits, and half of either share.

Guarantee: hanging receivers of one account never delay another's. After a start, hanging receivers
of several accounts delay untested ones until they count as slow, or, if too many, for an attempt.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from enum import Enum, auto
from typing import Final
from uuid import UUID

import msgspec

from tracker.webhooks.limits import (
    MAX_BYTES_IN_FLIGHT,
    MAX_IN_FLIGHT,
    MAX_PAYLOAD_BYTES,
    MAX_PER_HOST,
    MAX_PER_SLOW_WEBHOOK,
    MAX_PER_WEBHOOK,
    MAX_REMEMBERED_WEBHOOKS,
    SLOW_MS,
)


class Health(Enum):
    """The health of a webhook, by the last attempt of this process."""

    UNTESTED = auto()
    HEALTHY = auto()
    DEGRADED = auto()
    """It failed, or was slow."""


_SHARE: Final = {Health.UNTESTED: 1 / 4, Health.HEALTHY: 1, Health.DEGRADED: 1 / 2}
_ACCOUNT_SHARE: Final = 1 / 4


class _Webhook(msgspec.Struct):
    account_id: UUID
    host: str
    health: Health = Health.UNTESTED
    limit: int = 1
    in_flight: int = 0
    bytes: int = 0


class ConcurrencyLimiter:
    """The permits of one process, and the webhooks that have them."""

    def __init__(
        self, max_in_flight: int = MAX_IN_FLIGHT, max_bytes: int = MAX_BYTES_IN_FLIGHT
    ) -> None:
        self._max = max_in_flight
        self._max_bytes = max_bytes
        self._in_flight: Counter[Hashable] = Counter()
        self._bytes: Counter[Hashable] = Counter()
        """Requests in flight, and their bytes, by the keys of `_keys`."""
        self._webhooks: dict[UUID, _Webhook] = {}

    @property
    def free_permits(self) -> int:
        return self._free("all", self._max)

    def has_capacity(self, webhook_id: UUID) -> bool:
        """Return whether a request could start now. The limit of its host is not checked."""
        webhook = self._webhooks.get(webhook_id)
        if webhook is not None:
            return self._free_for(webhook) > 0
        untested = Health.UNTESTED
        return min(self.free_permits, self._free(untested, self._share(untested))) > 0

    def in_flight(self, account_id: UUID, webhook_id: UUID) -> tuple[int, int]:
        """Return the requests in flight: for the account, and for this webhook."""
        webhook = self._webhooks.get(webhook_id)
        return self._in_flight["account", account_id], webhook.in_flight if webhook else 0

    def acquire(self, webhook_id: UUID, account_id: UUID, host: str, wanted: int) -> int:
        """Take up to `wanted` permits; return how many."""
        webhook = self._webhook(webhook_id, account_id, host)
        number = max(0, min(wanted, self._free_for(webhook)))
        self._count(webhook, number, number * MAX_PAYLOAD_BYTES)
        return number

    def record_size(self, webhook_id: UUID, size: int) -> Callable[[], None]:
        """Record the bytes of a permit's request.

        The returned function releases them once, before the permit or with it.
        """
        webhook = self._webhooks[webhook_id]
        self._count(webhook, 0, size - MAX_PAYLOAD_BYTES)

        def release() -> None:
            nonlocal size
            self._count(webhook, 0, -size)
            size = 0

        return release

    def release(self, webhook_id: UUID, number: int = 1, size: int = MAX_PAYLOAD_BYTES) -> None:
        """Release permits whose requests still have `size`."""
        self._count(self._webhooks[webhook_id], -number, -number * size)

    def record_outcome(self, webhook_id: UUID, delivered: bool, milliseconds: int) -> None:
        """Update limit and health after an attempt, before its permit is released."""
        webhook = self._webhooks[webhook_id]
        quick = delivered and milliseconds <= SLOW_MS
        ceiling = MAX_PER_WEBHOOK if quick else MAX_PER_SLOW_WEBHOOK
        webhook.limit = min(ceiling, webhook.limit + 1) if delivered else 1
        self._set_health(webhook, Health.HEALTHY if quick else Health.DEGRADED)

    def record_slow(self, webhook_id: UUID) -> None:
        """Count an untested webhook as degraded, if there is room: then more can be tested."""
        webhook, degraded = self._webhooks[webhook_id], Health.DEGRADED
        share = self._share(degraded)
        has_room = webhook.in_flight <= share - self._in_flight[degraded]
        has_room = has_room and webhook.bytes <= self._free_bytes(degraded, share)
        if webhook.health is Health.UNTESTED and has_room:
            self._set_health(webhook, degraded)

    def _set_health(self, webhook: _Webhook, health: Health) -> None:
        if health is not webhook.health:
            number, size = webhook.in_flight, webhook.bytes
            self._count(webhook, -number, -size)
            webhook.health = health
            self._count(webhook, number, size)

    def _free_for(self, webhook: _Webhook) -> int:
        return min(
            webhook.limit - webhook.in_flight,
            MAX_PER_HOST - self._in_flight["host", webhook.host],
            *(self._free(key, share) for key, share in self._shares(webhook)),
        )

    def _free(self, key: Hashable, share: int) -> int:
        free_bytes = self._free_bytes(key, share)
        return max(0, min(share - self._in_flight[key], free_bytes // MAX_PAYLOAD_BYTES))

    def _free_bytes(self, key: Hashable, share: int) -> int:
        return self._max_bytes * share // self._max - self._bytes[key]

    def _count(self, webhook: _Webhook, number: int, size: int) -> None:
        webhook.in_flight += number
        webhook.bytes += size
        for key in self._keys(webhook):
            self._in_flight[key] += number
            self._bytes[key] += size
            if not self._in_flight[key]:
                del self._in_flight[key], self._bytes[key]

    def _keys(self, webhook: _Webhook) -> Iterator[Hashable]:
        yield "host", webhook.host
        yield from (key for key, _ in self._shares(webhook))

    def _shares(self, webhook: _Webhook) -> Iterator[tuple[Hashable, int]]:
        """Yield the shares of all permits, which are shares of all bytes too."""
        share, account_id = self._share(webhook.health), webhook.account_id
        yield "all", self._max
        yield ("account", account_id), max(1, round(self._max * _ACCOUNT_SHARE))
        yield webhook.health, share
        yield (webhook.health, account_id), max(1, share // 2)

    def _share(self, health: Health) -> int:
        return max(1, round(self._max * _SHARE[health]))

    def _webhook(self, webhook_id: UUID, account_id: UUID, host: str) -> _Webhook:
        webhook = self._webhooks.get(webhook_id)
        if webhook is None:
            if len(self._webhooks) >= MAX_REMEMBERED_WEBHOOKS:
                self._webhooks = {key: one for key, one in self._webhooks.items() if one.in_flight}
            webhook = self._webhooks[webhook_id] = _Webhook(account_id, host)
        elif not webhook.in_flight:
            webhook.host = host  # the target may have changed
        return webhook
