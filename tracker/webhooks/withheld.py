"""Webhooks that are not sent to for a while, because their signing secrets cannot be read.

Asked by the sender before it claims. What is due for them stays due, and others are not kept back.
The operator is told at once, and then once a minute for as long as that lasts.
"""

from collections.abc import Callable, Collection
from typing import Final
from uuid import UUID

import structlog

from tracker import metrics

log = structlog.get_logger(__name__)

PAUSE_MS: Final = 60_000
"""After which it is tried again: another process may have encrypted them with another key, or
SECRET_KEY be set by then, which takes a new start."""


class Withheld:
    """`clock` tells milliseconds since the epoch."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._until: dict[UUID, int] = {}
        self._silent_until = 0

    def has(self, webhook_id: UUID) -> bool:
        """Return whether `webhook_id` is not to be sent to now."""
        until = self._until.get(webhook_id)
        if until is None:
            return False
        if until <= self._clock():
            del self._until[webhook_id]
            return False
        return True

    def add(self, webhook_ids: Collection[UUID]) -> None:
        """Withhold these from now on, for PAUSE_MS."""
        now = self._clock()
        self._until.update(dict.fromkeys(webhook_ids, now + PAUSE_MS))
        metrics.WEBHOOKS_WITHHELD.inc(len(webhook_ids))
        if webhook_ids and now >= self._silent_until:
            self._silent_until = now + PAUSE_MS
            log.error(
                "webhook secrets cannot be read: set SECRET_KEY to the keys they were encrypted "
                "with; what is due for these webhooks waits",
                webhooks=len(self._until),
                webhook_id=str(next(iter(webhook_ids))),
            )
