"""The state of a conversion's notification, in its stored document and in queries. Pure.

Webhooks are notified when a conversion is settled, or while it is pending, if its click is late.
The field `tell_at` encodes the state:

    missing   UNSCHEDULED   the conversion is settled, or its account is not known
    a date    SCHEDULED     webhooks are notified then, unless the click arrives before
    null      NOTIFIED      webhooks were notified without the click, and are not notified again
"""

from datetime import datetime
from enum import Enum, auto
from typing import Any, Final

from tracker.conversions.document import ConversionDocument, ConversionFields

_FIELD: Final = "tell_at"


class NotificationState(Enum):
    """The state of the notification of webhooks about a late click."""

    UNSCHEDULED = auto()
    SCHEDULED = auto()
    NOTIFIED = auto()


def state_of(conversion: ConversionDocument) -> NotificationState:
    if _FIELD not in conversion:
        return NotificationState.UNSCHEDULED
    is_notified = conversion["tell_at"] is None
    return NotificationState.NOTIFIED if is_notified else NotificationState.SCHEDULED


def scheduled(at: datetime) -> ConversionFields:
    return {"tell_at": at}


def notified() -> ConversionFields:
    return {"tell_at": None}


def due(at: datetime) -> dict[str, Any]:
    """Return the filter for conversions whose notification is due."""
    return {_FIELD: {"$lte": at}}


EARLIEST_FIRST: Final = ((_FIELD, 1),)
"""The order in which notifications are due, for `sort`."""


def unchanged(conversion: ConversionDocument) -> dict[str, Any]:
    """Return a filter for the stored conversion, while it is in the same state.

    UNSCHEDULED and NOTIFIED match alike, but no conversion changes from one to the other.
    """
    return {_FIELD: conversion.get("tell_at")}


def outdated(conversion: ConversionDocument, fields: ConversionFields) -> dict[str, str]:
    """Return the field to unset: the old state, unless `fields` set a new one."""
    is_over = _FIELD in conversion and _FIELD not in fields
    return {_FIELD: ""} if is_over else {}
