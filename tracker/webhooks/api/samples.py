"""`/api/webhooks/{id}/test`: send a sample to a webhook's receiver."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tracker.clock import iso, now
from tracker.errors import BadRequest, Unavailable
from tracker.ids import new_id
from tracker.stores.secret_box import UnreadableSecret
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import record_of
from tracker.webhooks.api.deliveries import AttemptRecord
from tracker.webhooks.api.webhooks import UNREADABLE, WEBHOOKS
from tracker.webhooks.delivery import Kind
from tracker.webhooks.headers import MASK, masked_headers, parsed_headers
from tracker.webhooks.macros import Unfillable
from tracker.webhooks.payloads.sample import sample_content
from tracker.webhooks.presets.ads import judged
from tracker.webhooks.sending.attempts import mask_headers
from tracker.webhooks.sending.signing import signed_request
from tracker.webhooks.services import WebhookCall

endpoint = Endpoints("webhooks")


class WebhookTest(msgspec.Struct, kw_only=True):
    """The answer of a webhook's receiver to a test."""

    delivered: Annotated[bool, Meta(description="whether the receiver took it, with 2xx")]
    payload: Annotated[str, Meta(description="the payload that was sent, as JSON text")]
    url: Annotated[str, Meta(description="the URL that was requested, with its macros filled")]
    headers: Annotated[
        dict[str, str],
        Meta(description=f"the webhook's headers, macros filled; {MASK} hides all other text"),
    ]
    attempt: AttemptRecord


class TestedEvent(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The kind of event to send a sample of."""

    event: Annotated[
        Kind | None,
        Meta(description="default: the first kind that the webhook subscribes to"),
    ] = None


@endpoint("POST", "/api/webhooks/{id}/test", "webhooks:write")
async def test(call: WebhookCall[TestedEvent, Nothing]) -> WebhookTest:
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
    outcome = judged(webhook.preset, mask_headers(answered, webhook))
    attempt = record_of(AttemptRecord, outcome, at=iso(at))
    return WebhookTest(
        delivered=outcome.delivered,
        payload=content.payload,
        url=request.url,
        headers=masked_headers(parsed_headers(webhook.headers), content.texts),
        attempt=attempt,
    )
