"""How many requests may be under way: in all, to one host, for one account and webhook. Pure.

Asked by the sender before it claims deliveries. A webhook begins with one place, has one more with
each success, and a single one after a failure. Webhooks that fail or answer slowly share half of
all places, those that were not tried yet a quarter; one account has half of a share at most, and a
quarter of all. So however many receivers of one account hang, those of others are sent to at once.
If receivers of several accounts hang that were never tried, as all are after a start, others that
were never tried wait until those count as slow, or, with more of them than may be slow at once, for
as long as an attempt takes.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from enum import Enum, auto
from typing import Final
from uuid import UUID

import msgspec

MOST: Final = 256
"""In all; far fewer than the client can have under way."""

OF_HOST: Final = 96
OF_WEBHOOK: Final = 64
OF_SLOW_WEBHOOK: Final = 16

SLOW_MS: Final = 1000
"""Who takes longer to answer is slow."""

_REMEMBERED: Final = 10_000


class _Standing(Enum):
    UNTRIED = auto()
    QUICK = auto()
    POOR = auto()
    """Its last attempt failed, or was slow."""


_SHARE: Final = {_Standing.UNTRIED: 1 / 4, _Standing.QUICK: 1, _Standing.POOR: 1 / 2}
_SHARE_OF_ACCOUNT: Final = 1 / 4


class _Webhook(msgspec.Struct):
    account_id: UUID
    host: str
    standing: _Standing = _Standing.UNTRIED
    limit: int = 1
    taken: int = 0


class Places:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._taken: Counter[Hashable] = Counter()
        """By what is bounded, as `_bounds` names it."""
        self._webhooks: dict[UUID, _Webhook] = {}

    @property
    def free(self) -> int:
        """In all."""
        return self._most - self._taken["all"]

    def might_have(self, webhook_id: UUID) -> bool:
        """False if there is no place for this webhook, by what is known of it."""
        webhook = self._webhooks.get(webhook_id)
        if webhook is not None:
            return self._left(webhook) > 0
        untried = _Standing.UNTRIED
        return min(self.free, self._share(untried) - self._taken[untried]) > 0

    def taken_by(self, account_id: UUID, webhook_id: UUID) -> tuple[int, int]:
        """How many places the account has, and how many of them the webhook."""
        webhook = self._webhooks.get(webhook_id)
        return self._taken["account", account_id], webhook.taken if webhook else 0

    def take(self, webhook_id: UUID, account_id: UUID, host: str, most: int) -> int:
        """Take the places that there are for it now, at most so many; how many these are."""
        webhook = self._webhook(webhook_id, account_id, host)
        number = max(0, min(most, self._left(webhook)))
        self._count(webhook, number)
        return number

    def give_back(self, webhook_id: UUID, number: int = 1) -> None:
        """Places that were taken."""
        self._count(self._webhooks[webhook_id], -number)

    def judge(self, webhook_id: UUID, delivered: bool, milliseconds: int) -> None:
        """After an attempt that took so long, before its place is given back."""
        webhook = self._webhooks[webhook_id]
        quick = delivered and milliseconds <= SLOW_MS
        most = OF_WEBHOOK if quick else OF_SLOW_WEBHOOK
        webhook.limit = min(most, webhook.limit + 1) if delivered else 1
        self._change(webhook, _Standing.QUICK if quick else _Standing.POOR)

    def judge_slow(self, webhook_id: UUID) -> None:
        """When an attempt has taken SLOW_MS and is not over: one that was never tried has been now,
        so that others come to be; unless those who are slow have their share already."""
        webhook, poor = self._webhooks[webhook_id], _Standing.POOR
        room = self._share(poor) - self._taken[poor]
        if webhook.standing is _Standing.UNTRIED and webhook.taken <= room:
            self._change(webhook, poor)

    def _change(self, webhook: _Webhook, standing: _Standing) -> None:
        if standing is not webhook.standing:
            taken = webhook.taken
            self._count(webhook, -taken)
            webhook.standing = standing
            self._count(webhook, taken)

    def _left(self, webhook: _Webhook) -> int:
        bounds = self._bounds(webhook)
        return min(
            webhook.limit - webhook.taken, *(most - self._taken[what] for what, most in bounds)
        )

    def _count(self, webhook: _Webhook, number: int) -> None:
        webhook.taken += number
        for what, _ in self._bounds(webhook):
            self._taken[what] += number
            if not self._taken[what]:
                del self._taken[what]

    def _bounds(self, webhook: _Webhook) -> Iterator[tuple[Hashable, int]]:
        share, account_id = self._share(webhook.standing), webhook.account_id
        yield "all", self._most
        yield ("host", webhook.host), OF_HOST
        yield ("account", account_id), max(1, round(self._most * _SHARE_OF_ACCOUNT))
        yield webhook.standing, share
        yield (webhook.standing, account_id), max(1, share // 2)

    def _share(self, standing: _Standing) -> int:
        return max(1, round(self._most * _SHARE[standing]))

    def _webhook(self, webhook_id: UUID, account_id: UUID, host: str) -> _Webhook:
        webhook = self._webhooks.get(webhook_id)
        if webhook is None:
            self._forget_idle()
            webhook = self._webhooks[webhook_id] = _Webhook(account_id, host)
        elif not webhook.taken:
            webhook.host = host  # the target may have changed
        return webhook

    def _forget_idle(self) -> None:
        if len(self._webhooks) >= _REMEMBERED:
            self._webhooks = {key: one for key, one in self._webhooks.items() if one.taken}
