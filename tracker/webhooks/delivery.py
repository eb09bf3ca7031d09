"""A delivery: one message for one webhook, and the attempts at it."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec


class Kind(StrEnum):
    """The kind of event that a delivery notifies of, and that a webhook may subscribe to."""

    CONVERSION = "conversion"
    """A conversion was recorded."""
    CONVERSION_UPDATED = "conversion.updated"
    """Status or money of a conversion has changed."""
    WEBHOOK_DISABLED = "webhook.disabled"
    """The service has disabled another webhook of the account."""
    DELIVERY_FAILED = "delivery.failed"
    """A conversion has not reached another webhook of the account, and is not retried."""
    ALERT_FIRED = "alert.fired"
    """What an alert of the account waits for has come. It names the webhook."""
    SUMMARY_SENT = "summary.sent"
    """The figures of a week or month. A summary names the webhook."""
    CLICK_RECORDED = "click.recorded"
    """Clicks were stored. A delivery tells of many."""
    LINK_CREATED = "link.created"
    LINK_CHANGED = "link.changed"

    @classmethod
    def _missing_(cls, value: object) -> "Kind | None":
        return cls.CONVERSION if value == CONVERSION_RECORDED else None


CONVERSION_RECORDED: Final = "conversion.recorded"
"""Another name for `conversion`, which answers keep for clients that know no other."""


class Preset(StrEnum):
    """A chat service, or one that takes the same requests; or an ad platform."""

    SLACK = "slack"
    DISCORD = "discord"
    TELEGRAM = "telegram"
    META = "meta"
    TIKTOK = "tiktok"
    GOOGLE = "google"
    MICROSOFT = "microsoft"


class DeliveryStatus(StrEnum):
    """The state of a delivery."""

    DUE = "due"
    """It is to be sent, now or later."""
    DELIVERED = "delivered"
    FAILED = "failed"
    """The receiver has not accepted it. It is retried only by hand."""
    CANCELLED = "cancelled"
    """Its webhook was deleted or deactivated before, or is not told of this one."""


FAILING: Final = "failing"
"""The state of due deliveries whose last attempt failed."""

_OF_LAST: Final = {"$ifNull": [{"$last": "$attempts.code"}, 0]}
_REFUSED: Final = {"$gt": [{"$last": "$attempts.error"}, None]}
_FAILING_ONES: Final = {
    "status": DeliveryStatus.DUE,
    "attempts.0": {"$exists": True},
    "$expr": {"$or": [{"$ne": [{"$floor": {"$divide": [_OF_LAST, 100]}}, 2]}, _REFUSED]},
}


def in_states(webhook_id: UUID, states: Collection[str]) -> dict[str, Any]:
    """Return the query of a webhook's deliveries with these statuses, or with FAILING alone."""
    of_states = _FAILING_ONES if FAILING in states else {"status": {"$in": list(states)}}
    return {"webhook_id": webhook_id, **of_states}


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A finished attempt. `error` says why there is no answer, or why it is a refusal."""

    at: datetime
    milliseconds: int
    code: int | None
    answer: str
    error: str | None

    @property
    def delivered(self) -> bool:
        return is_delivered(self.code, self.error)


def is_delivered(code: int | None, error: str | None) -> bool:
    return code is not None and 200 <= code <= 299 and error is None


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery as it is stored.

    - `due_at`: when it may be claimed. While a `holder` sends it, this is the end of the lease.
    - `payload`: JSON text, built and stored for the first attempt. Messages have it from the start.
    - `macros`: JSON text, the values of macros outside of the payload, stored with it.
    - `url`: the last target filled with them; None if it has no macros.
    - `state`, `previous`: status and money of the conversion as this tells them, as stored, and
      before the change; `reason`: of the change. Deliveries of earlier releases have none.
    - `revision`: of the conversion or link. Only if the webhook is told of changes: they keep
      their order.
    - `link_id`: of the link that it tells of. `click_ids`: 16 bytes for each of the `clicks`.
    - `skipped`: how many clicks or links before were not told (`subscriptions/skips`).
    - `expires_at`: a finished delivery is deleted then.
    """

    id: UUID
    webhook_id: UUID
    account_id: UUID
    kind: Kind = Kind.CONVERSION
    event_id: int | None = None
    status: DeliveryStatus
    created_at: datetime
    due_at: datetime | None = None
    holder: UUID | None = None
    attempts: list[Attempt] = []
    payload: str | None = None
    macros: str | None = None
    url: str | None = None
    state: dict[str, Any] | None = None
    previous: dict[str, Any] | None = None
    reason: str | None = None
    revision: int | None = None
    link_id: UUID | None = None
    click_ids: bytes | None = None
    clicks: int | None = None
    skipped: int | None = None
    expires_at: datetime | None = None


def delivery_id(webhook_id: UUID, subject: int | str) -> UUID:
    """Return the id of a delivery: the same for each `subject`, so that it is stored once."""
    return uuid5(webhook_id, str(subject))


def new_row(
    delivery_id: UUID, webhook_id: UUID, account_id: UUID, created_at: datetime, **fields: Any
) -> dict[str, Any]:
    """Return the document of a new delivery, due at once. `fields` are its event or message."""
    return {
        "_id": delivery_id,
        "webhook_id": webhook_id,
        "account_id": account_id,
        "status": DeliveryStatus.DUE,
        "created_at": created_at,
        "due_at": created_at,
        "attempts": [],
        **fields,
    }


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a request.

    - `code`: from 200 to 599; None without an answer.
    - `error`: why there is none, or why it is a refusal although it says 2xx: `<class>: <detail>`.
    - `answer`: the first MAX_BODY_BYTES of the body, as text.
    - `retry_after`: the header as it was sent.
    """

    code: int | None
    milliseconds: int
    answer: str
    error: str | None
    retry_after: str | None

    @property
    def delivered(self) -> bool:
        return is_delivered(self.code, self.error)

    @property
    def failure(self) -> str | None:
        """Return 3xx, 4xx, 5xx, or the class of the error; None if the request was delivered."""
        if self.delivered:
            return None
        if self.code is not None and self.error is None:
            return f"{self.code // 100}xx"
        return (self.error or "connection").partition(":")[0]
