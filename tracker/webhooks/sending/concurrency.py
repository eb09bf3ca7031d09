"""Concurrency limits for webhook requests: in total, per host, account and webhook. Pure.

The sender acquires permits before it claims deliveries. A permit allows one request in flight.

- A webhook starts with one permit, gains one after each success and drops to one after a failure.
- Degraded webhooks (failing or slow) share at most half of all permits, untested ones a quarter.
- One account has at most a quarter of all permits, and half of either share.

Guarantee: hanging receivers of one account never delay another's. After a start, hanging receivers
of several accounts delay untested ones until they count as slow. If too many hang, that takes an
attempt.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from enum import Enum, auto
from typing import Final
from uuid import UUID

import msgspec

from tracker.webhooks.limits import (
    MAX_IN_FLIGHT,
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


class ConcurrencyLimiter:
    """The permits of one process, and the webhooks that have them."""

    def __init__(self, max_in_flight: int = MAX_IN_FLIGHT) -> None:
        self._max = max_in_flight
        self._in_flight: Counter[Hashable] = Counter()
        """Requests in flight, by the keys of `_limits`."""
        self._webhooks: dict[UUID, _Webhook] = {}

    @property
    def free_permits(self) -> int:
        return self._max - self._in_flight["all"]

    def has_capacity(self, webhook_id: UUID) -> bool:
        """Return whether a request could start now. The limit of its host is not checked."""
        webhook = self._webhooks.get(webhook_id)
        if webhook is not None:
            return self._free_for(webhook) > 0
        untested = Health.UNTESTED
        return min(self.free_permits, self._share(untested) - self._in_flight[untested]) > 0

    def in_flight(self, account_id: UUID, webhook_id: UUID) -> tuple[int, int]:
        """Return the requests in flight: for the account, and for this webhook."""
        webhook = self._webhooks.get(webhook_id)
        return self._in_flight["account", account_id], webhook.in_flight if webhook else 0

    def acquire(self, webhook_id: UUID, account_id: UUID, host: str, wanted: int) -> int:
        """Take up to `wanted` permits; return how many."""
        webhook = self._webhook(webhook_id, account_id, host)
        number = max(0, min(wanted, self._free_for(webhook)))
        self._count(webhook, number)
        return number

    def release(self, webhook_id: UUID, number: int = 1) -> None:
        self._count(self._webhooks[webhook_id], -number)

    def record_outcome(self, webhook_id: UUID, delivered: bool, milliseconds: int) -> None:
        """Update limit and health after an attempt, before its permit is released."""
        webhook = self._webhooks[webhook_id]
        quick = delivered and milliseconds <= SLOW_MS
        ceiling = MAX_PER_WEBHOOK if quick else MAX_PER_SLOW_WEBHOOK
        webhook.limit = min(ceiling, webhook.limit + 1) if delivered else 1
        self._set_health(webhook, Health.HEALTHY if quick else Health.DEGRADED)

    def record_slow(self, webhook_id: UUID) -> None:
        """Count an untested webhook as degraded, if there is room: others can then be tested."""
        webhook, degraded = self._webhooks[webhook_id], Health.DEGRADED
        room = self._share(degraded) - self._in_flight[degraded]
        if webhook.health is Health.UNTESTED and webhook.in_flight <= room:
            self._set_health(webhook, degraded)

    def _set_health(self, webhook: _Webhook, health: Health) -> None:
        if health is not webhook.health:
            number = webhook.in_flight
            self._count(webhook, -number)
            webhook.health = health
            self._count(webhook, number)

    def _free_for(self, webhook: _Webhook) -> int:
        limits = self._limits(webhook)
        return min(
            webhook.limit - webhook.in_flight,
            *(limit - self._in_flight[key] for key, limit in limits),
        )

    def _count(self, webhook: _Webhook, number: int) -> None:
        webhook.in_flight += number
        for key, _ in self._limits(webhook):
            self._in_flight[key] += number
            if not self._in_flight[key]:
                del self._in_flight[key]

    def _limits(self, webhook: _Webhook) -> Iterator[tuple[Hashable, int]]:
        share, account_id = self._share(webhook.health), webhook.account_id
        yield "all", self._max
        yield ("host", webhook.host), MAX_PER_HOST
        yield ("account", account_id), max(1, round(self._max * _ACCOUNT_SHARE))
        yield webhook.health, share
        yield (webhook.health, account_id), max(1, share // 2)

    def _share(self, health: Health) -> int:
        return max(1, round(self._max * _SHARE[health]))

    def _webhook(self, webhook_id: UUID, account_id: UUID, host: str) -> _Webhook:
        webhook = self._webhooks.get(webhook_id)
        if webhook is None:
            self._forget_idle()
            webhook = self._webhooks[webhook_id] = _Webhook(account_id, host)
        elif not webhook.in_flight:
            webhook.host = host  # the target may have changed
        return webhook

    def _forget_idle(self) -> None:
        if len(self._webhooks) >= MAX_REMEMBERED_WEBHOOKS:
            self._webhooks = {key: one for key, one in self._webhooks.items() if one.in_flight}
