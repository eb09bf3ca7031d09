"""Webhooks whose secrets cannot be read. The sender skips them, so their deliveries stay due."""

from collections.abc import Callable, Collection
from typing import Final
from uuid import UUID

import structlog

from tracker import metrics

log = structlog.get_logger(__name__)

PAUSE_MS: Final = 60_000
"""An operator may have rewritten the secrets by then."""


class PostponedWebhooks:
    """The postponed webhooks of one process. `clock` returns milliseconds since the epoch."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._until: dict[UUID, int] = {}
        self._silent_until = 0

    def has(self, webhook_id: UUID) -> bool:
        return self._until.get(webhook_id, 0) > self._clock()

    def add(self, webhook_ids: Collection[UUID]) -> None:
        """Postpone webhooks for PAUSE_MS, and log it at most once in that time."""
        now = self._clock()
        still = {one: until for one, until in self._until.items() if until > now}
        self._until = still | dict.fromkeys(webhook_ids, now + PAUSE_MS)
        metrics.WEBHOOKS_POSTPONED.inc(len(webhook_ids))
        if webhook_ids and now >= self._silent_until:
            self._silent_until = now + PAUSE_MS
            log.error(
                "webhook secrets cannot be read: set SECRET_KEY to the keys they were encrypted "
                "with; the due deliveries of these webhooks wait",
                webhooks=len(self._until),
                webhook_id=str(next(iter(webhook_ids))),
            )
