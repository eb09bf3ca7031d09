"""The notification of webhooks: when an event is settled, or when its click is late.

Guarantee: webhooks are notified of an event once. A late click causes no second notification.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

import structlog
from pymongo.errors import PyMongoError
from redis.exceptions import RedisError

from tracker.conversions.document import (
    COUNTED,
    ConversionDocument,
    ConversionFields,
    ConversionStatus,
    changed,
)
from tracker.conversions.notification_state import NotificationState, scheduled, state_of

log = structlog.get_logger(__name__)

CLICK_WAIT: Final = timedelta(hours=1)
"""The wait for an event's click, from when the event is stored."""

MAX_PAUSE_SECONDS: Final = 10.0
"""The longest pause between two checks. It varies, because simultaneous checks conflict."""

_SETTLED: Final = frozenset(COUNTED) - {ConversionStatus.PENDING}


def with_deadline(
    event: ConversionDocument, at: datetime, pending_ttl: timedelta | None = None
) -> ConversionDocument:
    """Return `event` as it is stored: if pending, with the end of its wait.

    Without an account it expires after `pending_ttl` (None: never).
    """
    if event["status"] != ConversionStatus.PENDING:
        return event
    return changed(event, _deadline(event, at, pending_ttl))


def should_notify(before: ConversionDocument | None, after: ConversionDocument) -> bool:
    """Return whether this change of an event notifies webhooks. `before` is None if it is new."""
    if before is not None and _is_notified(before):
        return False
    return after["status"] in _SETTLED or _is_notified(after)


async def notify_overdue_loop(notify: Callable[[], Awaitable[int]], stop: asyncio.Event) -> None:
    """Call `notify` periodically until `stop` is set, and at once again while it finds events.

    All drains run this loop. If two find the same event, one of them notifies.
    """
    while not stop.is_set():
        try:
            while await notify() and not stop.is_set():
                pass
        except (PyMongoError, RedisError) as error:
            log.warning("notifications of late clicks wait", error=type(error).__name__)
        with contextlib.suppress(TimeoutError):
            pause = MAX_PAUSE_SECONDS * random.uniform(0.5, 1)  # noqa: S311
            await asyncio.wait_for(stop.wait(), pause)


def _deadline(
    event: ConversionDocument, at: datetime, pending_ttl: timedelta | None
) -> ConversionFields:
    if event["account_id"] is not None:
        return scheduled(at + CLICK_WAIT)
    return {} if pending_ttl is None else {"expires_at": at + pending_ttl}


def _is_notified(event: ConversionDocument) -> bool:
    return state_of(event) is NotificationState.NOTIFIED
