"""A delivery: one event that one webhook is to be told of, and what came of it."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5

import msgspec


class Kind(StrEnum):
    """What a delivery tells of, and what a webhook may ask for."""

    CONVERSION = "conversion"
    """A conversion event."""
    WEBHOOK_DISABLED = "webhook.disabled"
    """The service has disabled another webhook of the account."""
    DELIVERY_FAILED = "delivery.failed"
    """A conversion has not reached another webhook of the account, and is not tried again."""


class Status(StrEnum):
    """What is to become of a delivery, or has."""

    DUE = "due"
    """It is to be sent, now or later."""
    DELIVERED = "delivered"
    """The receiver has taken it."""
    FAILED = "failed"
    """The receiver has not, and it is not tried again by itself."""
    CANCELLED = "cancelled"
    """Its webhook was deleted or deactivated before it was delivered."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """`code` is the status of the answer; None, and an `error`, if there was none. `answer` is the
    beginning of its body."""

    at: datetime
    milliseconds: int
    code: int | None
    answer: str
    error: str | None


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """While it is due, `due_at` is when it may be claimed: when the next attempt is to be made, or,
    while a `holder` is making one, when that one counts as dead. `payload` is JSON text, made for
    the first attempt and kept for all. Finished ones are deleted after `expires_at`. `event_id` is
    a conversion's; what is of another kind has none, and its payload from the start."""

    id: UUID
    webhook_id: UUID
    account_id: UUID
    kind: Kind = Kind.CONVERSION
    event_id: int | None = None
    status: Status
    created_at: datetime
    due_at: datetime | None = None
    holder: UUID | None = None
    attempts: list[Attempt] = []
    payload: str | None = None
    expires_at: datetime | None = None


def delivery_id(webhook_id: UUID, event_id: int) -> UUID:
    """That of the one delivery there is for both."""
    return uuid5(webhook_id, str(event_id))


def message_id(webhook_id: UUID, kind: Kind, subject: str) -> UUID:
    """Return the id of the one delivery of a message to a webhook."""
    return uuid5(webhook_id, f"{kind} {subject}")


def new_row(
    delivery_id: UUID, webhook_id: UUID, account_id: UUID, created_at: datetime
) -> dict[str, Any]:
    """Return the document of a new delivery, due at once, without what it tells of."""
    return {
        "_id": delivery_id,
        "webhook_id": webhook_id,
        "account_id": account_id,
        "status": Status.DUE,
        "created_at": created_at,
        "due_at": created_at,
        "attempts": [],
    }
