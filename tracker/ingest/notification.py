"""The notification of webhooks: when an event is settled, or when its click is late. Pure.

Guarantee: webhooks are notified of an event once. After a notification without the click there is
none when the click arrives.
"""

from datetime import datetime, timedelta
from typing import Final

from tracker.conversions.document import COUNTED, EventDocument, EventFields, Status, changed
from tracker.conversions.notification_state import NotificationState, scheduled, state_of

CLICK_WAIT: Final = timedelta(hours=1)
"""The wait for an event's click, from when the event is stored."""

_SETTLED: Final = frozenset(COUNTED) - {Status.PENDING}


def with_deadline(
    event: EventDocument, at: datetime, pending_ttl: timedelta | None = None
) -> EventDocument:
    """Return `event` as it is stored at that time. A pending event gets the end of its wait.

    A pending event without an account is kept for `pending_ttl` (None: for ever).
    """
    if event["status"] != Status.PENDING:
        return event
    return changed(event, _deadline(event, at, pending_ttl))


def should_notify(before: EventDocument | None, after: EventDocument) -> bool:
    """Return whether webhooks are notified of an event that becomes `after`.

    `before` is the event as it is stored; None if it is not.
    """
    if before is not None and _is_notified(before):
        return False
    return after["status"] in _SETTLED or _is_notified(after)


def _deadline(event: EventDocument, at: datetime, pending_ttl: timedelta | None) -> EventFields:
    if event["account_id"] is not None:
        return scheduled(at + CLICK_WAIT)
    return {} if pending_ttl is None else {"expires_at": at + pending_ttl}


def _is_notified(event: EventDocument) -> bool:
    return state_of(event) is NotificationState.NOTIFIED
