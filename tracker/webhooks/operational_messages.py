"""Operational messages: they notify an account's webhooks of another one that does not work.

- A message goes to the active webhooks that subscribe to its kind, except the one it is about.
- A failed message causes no further message, so failing receivers form no loop.

Guarantee: a message is stored in the transaction of its cause, or neither is.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from tracker.clock import iso
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession
from tracker.webhooks.creation import active_webhooks, insert_deliveries
from tracker.webhooks.delivery import Attempt, Delivery, Kind, delivery_id, new_row
from tracker.webhooks.queue import DueWebhook
from tracker.webhooks.schedule import MAX_FAILING, Disabled

_REASONS: Final = {
    Disabled.GONE: "its receiver answered 410 Gone",
    Disabled.FAILING: f"every attempt of {MAX_FAILING.days} days failed",
}


class OperationalMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message about the webhook with the id `about`. `subject` is unique within the kind."""

    kind: Kind
    account_id: UUID
    about: UUID
    subject: str
    at: datetime
    data: dict[str, Any]

    def payload(self) -> str:
        """Return JSON text in the form that Standard Webhooks recommends."""
        data = {"account_id": self.account_id, "webhook_id": self.about, **self.data}
        return envelope(self.kind, self.at, data)


def envelope(kind: Kind, at: datetime, data: Mapping[str, Any]) -> str:
    message = {"type": kind, "timestamp": iso(at), "data": data}
    return msgspec.json.encode(message).decode()


def webhook_disabled(
    webhook_id: UUID, account_id: UUID, name: str, reason: Disabled, at: datetime
) -> OperationalMessage:
    return OperationalMessage(
        kind=Kind.WEBHOOK_DISABLED,
        account_id=account_id,
        about=webhook_id,
        subject=f"{webhook_id} {iso(at)}",
        at=at,
        data={
            "name": name,
            "disabled_at": iso(at),
            "disabled_reason": reason,
            "text": f"The webhook {name} is disabled: {_REASONS[reason]}.",
        },
    )


def delivery_failed(delivery: Delivery, last: Attempt) -> OperationalMessage:
    return OperationalMessage(
        kind=Kind.DELIVERY_FAILED,
        account_id=delivery.account_id,
        about=delivery.webhook_id,
        subject=f"{delivery.id} {iso(last.at)}",
        at=last.at,
        data={
            "delivery_id": delivery.id,
            "event_id": delivery.event_id,
            "attempts": len(delivery.attempts) + 1,
            "last_attempt_at": iso(last.at),
            "code": last.code,
            "error": last.error,
            "text": f"Conversion {delivery.event_id} was not delivered after "
            f"{len(delivery.attempts) + 1} attempts: {last.error or f'answered {last.code}'}.",
        },
    )


async def create_messages(
    database: Database, messages: Sequence[OperationalMessage], session: MongoSession
) -> set[DueWebhook]:
    """Insert deliveries to all subscribers, in the transaction of the cause.

    Return the webhooks to be added to the queue afterwards.
    """
    webhooks = await active_webhooks(database, {one.account_id.bytes for one in messages}, session)
    rows = (
        new_row(
            delivery_id(webhook.id, f"{message.kind} {message.subject}"),
            webhook.id,
            message.account_id,
            message.at,
            kind=message.kind,
            payload=message.payload(),
        )
        for message in messages
        for webhook in webhooks.get(message.account_id.bytes, ())
        if message.kind in webhook.kinds and webhook.id != message.about
    )
    return await insert_deliveries(database, rows, session)
