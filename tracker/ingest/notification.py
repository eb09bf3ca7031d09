"""When webhooks are notified of an event: when it is settled, or when its click is late. Pure.

A pending event whose account is known carries `tell_at`, the time until which its click is waited
for. None says that webhooks were notified without the click, so they are not notified again when
it arrives.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from tracker.conversions.attribution import COUNTED, Status

CLICK_PATIENCE: Final = timedelta(hours=1)
"""How long an event's click is waited for, from when the event is stored."""

_SETTLED: Final = frozenset(COUNTED) - {Status.PENDING}

_WAITING: Final = object()

Document = Mapping[str, Any]


def with_deadline(
    event: dict[str, Any], at: datetime, pending_lives: timedelta | None = None
) -> dict[str, Any]:
    """Return `event` as it is stored at that time: with the end of its wait, if it is pending.

    A pending event without an account is kept for `pending_lives` (None: for ever).
    """
    if event["status"] != Status.PENDING:
        return event
    if event["account_id"] is not None:
        return {**event, "tell_at": at + CLICK_PATIENCE}
    return event if pending_lives is None else {**event, "expires_at": at + pending_lives}


def should_notify(before: Document | None, after: Document) -> bool:
    """Return whether webhooks are notified of an event that becomes `after`.

    `before` is the event as it is stored; None if it is not.
    """
    if before is not None and _is_notified(before):
        return False
    return after["status"] in _SETTLED or _is_notified(after)


def _is_notified(event: Document) -> bool:
    return event.get("tell_at", _WAITING) is None
