"""When webhooks are told of an event: when it is settled, or when its click is late. Pure.

A pending event whose account is known carries `tell_at`: until then its click is waited for. None
says that its webhooks were told without it, so that they are not told again when it comes.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from tracker.conversions.attribution import COUNTED, Status

PATIENCE: Final = timedelta(hours=1)
"""How long an event's click is waited for, from when the event is stored."""

_SETTLED: Final = frozenset(COUNTED) - {Status.PENDING}

Document = Mapping[str, Any]


def waiting(
    event: dict[str, Any], at: datetime, pending_lives: timedelta | None = None
) -> dict[str, Any]:
    """Return `event` as it is stored at that time.

    One that waits for its click and belongs to no account until then is kept for `pending_lives`.
    """
    if event["status"] != Status.PENDING:
        return event
    if event["account_id"] is not None:
        return {**event, "tell_at": at + PATIENCE}
    return event if pending_lives is None else {**event, "expires_at": at + pending_lives}


def is_to_be_told(before: Document | None, after: Document) -> bool:
    """Whether webhooks are to be told of an event that becomes `after`. `before`: as it is stored,
    if it is."""
    if before is not None and _is_told(before):
        return False
    return after["status"] in _SETTLED or _is_told(after)


def _is_told(event: Document) -> bool:
    return event.get("tell_at", PATIENCE) is None
