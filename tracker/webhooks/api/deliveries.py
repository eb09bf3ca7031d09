"""`/api/webhooks/{id}/deliveries`: list and retry deliveries, test a webhook."""

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
from tracker.errors import BadRequest, NotFound, Unavailable
from tracker.ids import new_id
from tracker.stores.secret_box import UnreadableSecret
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import Page, Paged, Timestamp
from tracker.webhooks.api.masking import masked_target, may_read_targets
from tracker.webhooks.api.webhooks import UNREADABLE, WEBHOOKS
from tracker.webhooks.deliveries import LOG_DAYS, SHOWN_CHARACTERS, Deliveries
from tracker.webhooks.delivery import Delivery, DeliveryStatus, Kind
from tracker.webhooks.headers import MASK, masked_headers, parsed_headers
from tracker.webhooks.limits import MAX_BODY_BYTES
from tracker.webhooks.macros import Unfillable
from tracker.webhooks.payloads.sample import sample_content
from tracker.webhooks.sending.attempts import mask_headers
from tracker.webhooks.sending.signing import signed_request
from tracker.webhooks.services import WebhookCall
from tracker.webhooks.store import Webhook

endpoint = Endpoints("webhooks")

_Record = TypeVar("_Record", bound="DeliveryRecord")

StatusName = Literal["due", "delivered", "failed", "cancelled"]


class AttemptRecord(msgspec.Struct, kw_only=True):
    """One attempt of a delivery."""

    at: Timestamp
    milliseconds: Annotated[int, Meta(description="until the answer, or until it was abandoned")]
    code: Annotated[int | None, Meta(description="HTTP status of the answer; null without one")]
    answer: Annotated[str, Meta(description=f"the first {MAX_BODY_BYTES:,} bytes of its body")]
    error: Annotated[str | None, Meta(description="why there was no answer")]


class DeliveryRecord(msgspec.Struct, kw_only=True):
    """A delivery with its attempts."""

    id: UUID
    kind: Annotated[Kind, Meta(description="the kind of event that it notifies of")]
    event_id: Annotated[int | None, Meta(description="id of the conversion; null for messages")]
    status: StatusName
    created_at: Timestamp
    next_attempt_at: Annotated[
        Timestamp | None, Meta(description="null: no attempt is planned, or one is in progress")
    ]
    payload: Annotated[
        str | None,
        Meta(
            description="JSON text, null before the first attempt; lists have only its first "
            f"{SHOWN_CHARACTERS:,} characters. Postback keys are whole with event_configs:write; "
            "null without webhooks:write"
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


class TestResult(msgspec.Struct, kw_only=True):
    """The answer of a webhook's receiver to a test."""

    delivered: Annotated[bool, Meta(description="whether the receiver answered with 2xx")]
    payload: Annotated[str, Meta(description="the payload that was sent, as JSON text")]
    url: Annotated[str, Meta(description="the URL that was requested, with its macros filled")]
    headers: Annotated[
        dict[str, str],
        Meta(description=f"the webhook's headers, macros filled; {MASK} hides all other text"),
    ]
    attempt: AttemptRecord


class ListDeliveries(Paged, kw_only=True):
    """The page of deliveries to list."""

    status: Annotated[
        StatusName | None, Meta(description="only with this status; default: all")
    ] = None


class TestedEvent(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The kind of event to send a sample of."""

    event: Annotated[
        Kind | None,
        Meta(description="default: the first kind that the webhook subscribes to"),
    ] = None


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


class Retried(msgspec.Struct, kw_only=True):
    """The number of deliveries that are sent again."""

    deliveries: Annotated[int, Meta(description="number of deliveries that are sent again")]


def delivery_record(kind: type[_Record], delivery: Delivery, **others: object) -> _Record:
    is_waiting = delivery.status == DeliveryStatus.DUE and delivery.holder is None
    return record_of(
        kind,
        delivery,
        **others,
        status=delivery.status.value,
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
async def list_deliveries(call: WebhookCall[ListDeliveries, Nothing]) -> Page[DeliveryRecord]:
    webhook, query = await WEBHOOKS.find(call), call.query
    statuses = list(DeliveryStatus) if query.status is None else [DeliveryStatus(query.status)]
    fetch = partial(call.services.deliveries.page, webhook.id, statuses)
    page = await DELIVERIES.page(call, query, fetch)
    await hide_secrets(call.services.deliveries, call.principal, page.rows)
    return page


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
async def retry_all(call: WebhookCall[Nothing, RetryDeliveries]) -> Retried:
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
    return Retried(deliveries=number)


async def _audit_retry(call: WebhookCall[Any, Any], webhook: Webhook, number: int) -> None:
    retried = {"deliveries": FieldChange(before=None, after=number)}
    await call.audit("webhook.deliveries_retried", WEBHOOKS.audit_object(webhook), retried)


@endpoint("POST", "/api/webhooks/{id}/test", "webhooks:write")
async def test(call: WebhookCall[TestedEvent, Nothing]) -> TestResult:
    """Send a sample event to a webhook's receiver now, and return its answer.

    Raises BadRequest if the sample cannot be sent, Unavailable without readable secrets.
    """
    at = now()
    stored = await WEBHOOKS.find(call)
    try:
        webhook = call.services.webhooks.with_readable_secrets(stored, at)
        content = sample_content(webhook, call.query.event, call.services.public_url.host)
    except UnreadableSecret:
        raise Unavailable(UNREADABLE) from None
    except Unfillable as reason:
        raise BadRequest(str(reason)) from None
    secrets, seconds = webhook.secrets(at), int(at.timestamp())
    payload = content.payload.encode()
    request = signed_request(
        webhook.method, content.url, payload, new_id().hex, seconds, secrets, content.headers
    )
    with call.services.sample_limiter.acquire(webhook.account_id):
        answered = await call.services.client.send(request)
    outcome = mask_headers(answered, webhook)
    attempt = record_of(AttemptRecord, outcome, at=iso(at))
    return TestResult(
        delivered=outcome.delivered,
        payload=content.payload,
        url=request.url,
        headers=masked_headers(parsed_headers(webhook.headers), content.texts),
        attempt=attempt,
    )


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
