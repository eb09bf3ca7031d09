"""When webhooks are told of an event: when it is settled, or when its click is late. Pure.

A pending event whose account is known carries `tell_at`: until then its click is waited for. None
says that its webhooks were told without it, so that they are not told again when it comes.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from tracker.conversions.attribution import Status
from tracker.reports.rollup import COUNTED

PATIENCE: Final = timedelta(hours=1)
"""How long an event's click is waited for, from when the event is stored."""

_SETTLED: Final = frozenset(COUNTED) - {Status.PENDING}

Document = Mapping[str, Any]


def waiting(event: dict[str, Any], at: datetime) -> dict[str, Any]:
    """`event` as it is stored at that time."""
    if event["status"] != Status.PENDING or event["account_id"] is None:
        return event
    return {**event, "tell_at": at + PATIENCE}


def is_to_be_told(before: Document | None, after: Document) -> bool:
    """Whether webhooks are to be told of an event that becomes `after`. `before`: as it is stored,
    if it is."""
    if before is not None and _is_told(before):
        return False
    return after["status"] in _SETTLED or _is_told(after)


def _is_told(event: Document) -> bool:
    return event.get("tell_at", PATIENCE) is None
