"""How many requests may be under way: in all, to one host, and to one webhook. Pure.

Asked by the sender before it claims deliveries. A webhook begins with few places, has one more with
each success, and a single one after a failure. Webhooks that fail have half of all places between
them at most, so that however many receivers hang, the others are sent to at once.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import msgspec

MOST: Final = 256
"""In all; far fewer than the client can have under way."""

OF_HOST: Final = 96
OF_WEBHOOK: Final = 64

_FIRST: Final = 4
_REMEMBERED: Final = 10_000


class _Webhook(msgspec.Struct):
    host: str
    limit: int = _FIRST
    taken: int = 0
    failing: bool = False


class Places:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._taken = 0
        self._taken_by_failing = 0
        self._taken_of_host: Counter[str] = Counter()
        self._webhooks: dict[UUID, _Webhook] = {}

    @property
    def free(self) -> int:
        """In all."""
        return self._most - self._taken

    def might_have(self, webhook_id: UUID) -> bool:
        """False if there is no place for this webhook, whatever its host is."""
        return self._of_all_and_webhook(self._webhooks.get(webhook_id, _Webhook(""))) > 0

    def take(self, webhook_id: UUID, host: str, most: int) -> int:
        """Take the places that there are for it now, at most so many; how many these are."""
        webhook = self._webhook(webhook_id, host)
        of_host = OF_HOST - self._taken_of_host[webhook.host]
        number = max(0, min(most, of_host, self._of_all_and_webhook(webhook)))
        self._count(webhook, number)
        return number

    def give_back(self, webhook_id: UUID, number: int = 1) -> None:
        """Places that were taken."""
        self._count(self._webhooks[webhook_id], -number)

    def judge(self, webhook_id: UUID, delivered: bool) -> None:
        """After an attempt, before its place is given back."""
        webhook = self._webhooks[webhook_id]
        webhook.limit = min(OF_WEBHOOK, webhook.limit + 1) if delivered else 1
        with self._recounted(webhook):
            webhook.failing = not delivered

    @contextmanager
    def _recounted(self, webhook: _Webhook) -> Iterator[None]:
        self._taken_by_failing -= webhook.taken * webhook.failing
        yield
        self._taken_by_failing += webhook.taken * webhook.failing

    def _count(self, webhook: _Webhook, number: int) -> None:
        with self._recounted(webhook):
            webhook.taken += number
        self._taken += number
        self._taken_of_host[webhook.host] += number
        if not self._taken_of_host[webhook.host]:
            del self._taken_of_host[webhook.host]

    def _of_all_and_webhook(self, webhook: _Webhook) -> int:
        left = min(self._most - self._taken, webhook.limit - webhook.taken)
        return min(left, self._most // 2 - self._taken_by_failing) if webhook.failing else left

    def _webhook(self, webhook_id: UUID, host: str) -> _Webhook:
        webhook = self._webhooks.get(webhook_id)
        if webhook is None:
            self._forget_idle()
            webhook = self._webhooks[webhook_id] = _Webhook(host)
        elif not webhook.taken:
            webhook.host = host  # the target may have changed
        return webhook

    def _forget_idle(self) -> None:
        if len(self._webhooks) >= _REMEMBERED:
            self._webhooks = {key: one for key, one in self._webhooks.items() if one.taken}
