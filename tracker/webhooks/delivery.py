"""A delivery: one conversion event that one webhook is to be told of, and what came of it."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid5

import msgspec


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
    the first attempt and kept for all. Finished ones are deleted after `expires_at`."""

    id: UUID
    webhook_id: UUID
    account_id: UUID
    event_id: int
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
