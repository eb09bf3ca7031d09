"""A delivery: one message for one webhook, and the attempts at it."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5

import msgspec


class Kind(StrEnum):
    """The kind of event that a delivery is about, and that a webhook may subscribe to."""

    CONVERSION = "conversion"
    """A conversion event."""
    WEBHOOK_DISABLED = "webhook.disabled"
    """The service has disabled another webhook of the account."""
    DELIVERY_FAILED = "delivery.failed"
    """A conversion has not reached another webhook of the account, and is not retried."""


class Status(StrEnum):
    """The state of a delivery."""

    DUE = "due"
    """It is to be sent, now or later."""
    DELIVERED = "delivered"
    """The receiver has accepted it."""
    FAILED = "failed"
    """The receiver has not accepted it, and it is not retried by itself."""
    CANCELLED = "cancelled"
    """Its webhook was deleted or deactivated before it was delivered."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that is over.

    `code` is the status of the answer, None without one; `error` then says why. `answer` is the
    beginning of its body.
    """

    at: datetime
    milliseconds: int
    code: int | None
    answer: str
    error: str | None


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery as it is stored.

    - `due_at` is when it may be claimed: when the next attempt is due or, while a `holder` makes
      one, when the lease of that holder ends. Only due deliveries have it.
    - `payload` is JSON text, built for the first attempt and kept for all. Messages have it from
      the start; conversions have an `event_id` instead.
    - `macros` is JSON text: the value of each macro that the webhook has outside of its payload, as
      text. They are kept as the payload is. `url` is the target that was filled with them last;
      None if it has no macros.
    - A finished delivery is deleted after `expires_at`.
    """

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
    macros: str | None = None
    url: str | None = None
    expires_at: datetime | None = None


def delivery_id(webhook_id: UUID, event_id: int) -> UUID:
    """Return the id of the one delivery of an event to a webhook."""
    return uuid5(webhook_id, str(event_id))


def message_id(webhook_id: UUID, kind: Kind, subject: str) -> UUID:
    """Return the id of the one delivery of a message to a webhook."""
    return uuid5(webhook_id, f"{kind} {subject}")


def new_row(
    delivery_id: UUID, webhook_id: UUID, account_id: UUID, created_at: datetime
) -> dict[str, Any]:
    """Return the document of a new delivery, due at once, without its event or message."""
    return {
        "_id": delivery_id,
        "webhook_id": webhook_id,
        "account_id": account_id,
        "status": Status.DUE,
        "created_at": created_at,
        "due_at": created_at,
        "attempts": [],
    }


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a request.

    - `code` is the status of the answer, 200 to 599. It is None without an answer; `error` then
      says why, as `<class>: <detail>`.
    - `answer` is the first MAX_BODY_BYTES of the body, as text.
    - `retry_after` is the value of that header, as it was sent.
    """

    code: int | None
    milliseconds: int
    answer: str
    error: str | None
    retry_after: str | None

    @property
    def delivered(self) -> bool:
        """Return whether the receiver accepted the request."""
        return self.code is not None and 200 <= self.code <= 299

    @property
    def failure(self) -> str | None:
        """Return the class of the failure; None if the request was delivered.

        It is 3xx, 4xx or 5xx, or the text before the colon of `error`: timeout, dns, private, own,
        tls, connection, or a class of the sender.
        """
        if self.delivered:
            return None
        if self.code is not None:
            return f"{self.code // 100}xx"
        return (self.error or "connection").partition(":")[0]
