"""`/api/webhooks/{id}/deliveries`: list and retry deliveries."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.access.audit import FieldChange
from tracker.access.principal import Principal
from tracker.clock import iso, now
from tracker.conversions.api.postback_keys import may_read_keys, shorten_key
from tracker.errors import BadRequest, NotFound
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import Page, Paged, Timestamp
from tracker.webhooks.api.masking import masked_target, may_read_targets
from tracker.webhooks.api.webhooks import WEBHOOKS
from tracker.webhooks.deliveries import LOG_DAYS, MAX_COUNTED, SHOWN_CHARACTERS, Deliveries
from tracker.webhooks.delivery import FAILING, Delivery, DeliveryStatus, Kind
from tracker.webhooks.limits import MAX_BODY_BYTES
from tracker.webhooks.schedule import Disabled
from tracker.webhooks.services import WebhookCall
from tracker.webhooks.store import Webhook
from tracker.webhooks.subscriptions.bound import count_skipped

endpoint = Endpoints("webhooks")

_Record = TypeVar("_Record", bound="DeliveryRecord")

StatusName = Literal["due", "delivered", "failed", "cancelled"]
StateName = Literal["due", "failing", "delivered", "failed", "cancelled"]


class AttemptRecord(msgspec.Struct, kw_only=True):
    """One attempt of a delivery."""

    at: Timestamp
    milliseconds: Annotated[int, Meta(description="until the answer, or until it was abandoned")]
    code: Annotated[int | None, Meta(description="HTTP status of the answer; null without one")]
    answer: Annotated[str, Meta(description=f"the first {MAX_BODY_BYTES:,} bytes of its body")]
    error: Annotated[str | None, Meta(description="why there was no answer, or a refusal")]


class DeliveryRecord(msgspec.Struct, kw_only=True):
    """A delivery with its attempts."""

    id: UUID
    kind: Annotated[Kind, Meta(description="the kind of event that it notifies of")]
    event_id: Annotated[int | None, Meta(description="id of the conversion; null for others")]
    clicks: Annotated[int | None, Meta(description="their number, if it tells of clicks")]
    status: StatusName
    failing: Annotated[bool, Meta(description="due, and its last attempt failed")]
    created_at: Timestamp
    next_attempt_at: Annotated[
        Timestamp | None, Meta(description="null: no attempt is planned, or one is in progress")
    ]
    payload: Annotated[
        str | None,
        Meta(
            description="JSON text, null before the first attempt; lists have only its first "
            f"{SHOWN_CHARACTERS:,} characters. Postback keys are whole with event_configs:write; "
            "null without webhooks:write, and for clicks"
        ),
    ]
    url: Annotated[
        str | None,
        Meta(
            description="the last target with its macros filled, without the payload of a GET; "
            "null without macros, or before the first attempt. Postback keys as in the payload; "
            "without webhooks:write only its origin"
        ),
    ]
    attempts: list[AttemptRecord]


class ListDeliveries(Paged, kw_only=True):
    """The page of deliveries to list."""

    status: Annotated[
        StateName | None,
        Meta(
            description="only with this status; default: all. failing: those of due whose last "
            "attempt failed"
        ),
    ] = None


class ReceiverState(msgspec.Struct, kw_only=True):
    """Whether a webhook delivers, as of its deliveries."""

    active: bool
    disabled_reason: Disabled | None
    disabled_at: Timestamp | None
    failing_since: Timestamp | None
    due: Annotated[
        int,
        Meta(description=f"deliveries that are due, now or later; counted up to {MAX_COUNTED:,}"),
    ]
    failing: Annotated[int, Meta(description="those of due whose last attempt failed")]
    skipped: Annotated[int, Meta(description="clicks and links not sent, as too many waited")]


class DeliveryPage(Page[DeliveryRecord], kw_only=True):
    """One page of deliveries, and the state of their webhook."""

    webhook: ReceiverState


class RetryDeliveries(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The failed deliveries to send again."""

    since: Annotated[
        datetime,
        Meta(
            tz=True,
            description="retry the failed and cancelled deliveries that were created since then",
            examples=["2026-01-31T09:30:00.000Z"],
        ),
    ]


class RetriedDeliveries(msgspec.Struct, kw_only=True):
    """The number of deliveries that are sent again."""

    deliveries: Annotated[int, Meta(description="number of deliveries that are sent again")]


def delivery_record(kind: type[_Record], delivery: Delivery, **others: object) -> _Record:
    last = delivery.attempts[-1] if delivery.attempts else None
    is_due = delivery.status == DeliveryStatus.DUE
    is_waiting = is_due and delivery.holder is None
    return record_of(
        kind,
        delivery,
        **others,
        status=delivery.status.value,
        failing=is_due and last is not None and not last.delivered,
        next_attempt_at=iso(delivery.due_at) if is_waiting and delivery.due_at else None,
        attempts=[record_of(AttemptRecord, one) for one in delivery.attempts],
    )


async def hide_secrets(
    deliveries: Deliveries, principal: Principal, records: Sequence[DeliveryRecord]
) -> None:
    """Hide what the principal may not read: targets with their payloads, and postback keys.

    The key of an expired conversion is unknown, so its payload, URL and answers are hidden.
    """
    if not may_read_targets(principal):
        for one in records:
            one.payload = None
            one.url = masked_target(one.url) if one.url else None
    conversions = [one for one in records if one.event_id is not None]
    if may_read_keys(principal) or not conversions:
        return
    ids = [one.event_id for one in conversions if one.event_id is not None]
    pbks = await deliveries.postback_keys(ids)
    for one in conversions:
        known, pbk = one.event_id in pbks, pbks.get(one.event_id or 0)
        shown = partial(shorten_key, pbk=pbk) if pbk else str
        one.payload = shown(one.payload) if known and one.payload else None
        one.url = shown(one.url) if known and one.url else None
        for attempt in one.attempts:
            attempt.answer = shown(attempt.answer) if known else ""


DELIVERIES: Resource[Delivery, DeliveryRecord] = Resource(
    "delivery",
    lambda call: call.services.deliveries.find(call.ids[1]),
    one_by_one(partial(delivery_record, DeliveryRecord)),
)


@endpoint(
    "GET",
    "/api/webhooks/{id}/deliveries",
    "webhooks:read",
    summary="List a webhook's deliveries, newest first; finished ones are kept for "
    f"{LOG_DAYS} days",
)
async def list_deliveries(call: WebhookCall[ListDeliveries, Nothing]) -> DeliveryPage:
    webhook, query, deliveries = await WEBHOOKS.find(call), call.query, call.services.deliveries
    states = list(DeliveryStatus) if query.status is None else [query.status]
    page = await DELIVERIES.page(call, query, partial(deliveries.page, webhook.id, states))
    await hide_secrets(deliveries, call.principal, page.rows)
    due, failing = [await deliveries.count(webhook.id, one) for one in ("due", FAILING)]
    skipped = await count_skipped(call.web.mongodb.reads, webhook.id)
    state = record_of(ReceiverState, webhook, due=due, failing=failing, skipped=skipped)
    return DeliveryPage(rows=page.rows, pagination=page.pagination, webhook=state)


@endpoint("POST", "/api/webhooks/{id}/deliveries/{delivery}/retry", "webhooks:write")
async def retry(call: WebhookCall[Nothing, Nothing]) -> DeliveryRecord:
    """Send a delivery again, whatever its status; its id and payload stay the same."""
    webhook = await _active_webhook(call)
    delivery = await _own_delivery(call, webhook)
    await call.services.deliveries.retry(delivery.id, now())
    await _audit_retry(call, webhook, 1)
    shown = await DELIVERIES.show(call, await _own_delivery(call, webhook))
    await hide_secrets(call.services.deliveries, call.principal, [shown])
    return shown


@endpoint(
    "POST",
    "/api/webhooks/{id}/deliveries/retry",
    "webhooks:write",
    example={"since": "2026-01-31T09:30:00.000Z"},
)
async def retry_all(call: WebhookCall[Nothing, RetryDeliveries]) -> RetriedDeliveries:
    """Send again all deliveries that failed or were cancelled since a time.

    Raises BadRequest if UTC has no such time.
    """
    webhook = await _active_webhook(call)
    try:
        since = call.body.since.astimezone(UTC)
    except OverflowError:
        raise BadRequest("since: must be in the years 1 to 9999 of UTC") from None
    number = await call.services.deliveries.retry_since(
        webhook.id, webhook.account_id, since, now()
    )
    if number:
        await _audit_retry(call, webhook, number)
    return RetriedDeliveries(deliveries=number)


@endpoint("POST", "/api/webhooks/{id}/deliveries/send", "webhooks:write")
async def send_now(call: WebhookCall[Nothing, Nothing]) -> RetriedDeliveries:
    """Send now all deliveries that wait for a later time, up to 10,000. The events of each
    conversion keep their order.
    """
    webhook = await _active_webhook(call)
    number = await call.services.deliveries.send_now(webhook.id, webhook.account_id, now())
    if number:
        await _audit_retry(call, webhook, number)
    return RetriedDeliveries(deliveries=number)


async def _audit_retry(call: WebhookCall[Any, Any], webhook: Webhook, number: int) -> None:
    retried = {"deliveries": FieldChange(before=None, after=number)}
    await call.audit("webhook.deliveries_retried", WEBHOOKS.audit_object(webhook), retried)


async def _active_webhook(call: WebhookCall[Any, Any]) -> Webhook:
    """Return the webhook. An inactive one is refused: its deliveries would be cancelled."""
    webhook = await WEBHOOKS.find(call)
    if not webhook.active:
        raise BadRequest("webhook: is inactive; make it active first")
    return webhook


async def _own_delivery(call: WebhookCall[Any, Any], webhook: Webhook) -> Delivery:
    delivery = await DELIVERIES.find(call)
    if delivery.webhook_id != webhook.id:
        raise NotFound("delivery: not found")
    return delivery
