"""`/api/webhooks`: create, list, show, change and delete receivers of conversions."""

from datetime import timedelta
from functools import partial
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.limits import MAX_URL_CHARACTERS
from tracker.api.resource import Resource, one_by_one, record_of
from tracker.api.schema import (
    AccountId,
    AccountPage,
    Done,
    Page,
    Text,
    Timestamp,
    sent_fields,
    trimmed,
)
from tracker.api.services import Services
from tracker.errors import BadRequest
from tracker.syntax.url import check_url
from tracker.webhooks import target, template
from tracker.webhooks.delivery import Kind
from tracker.webhooks.limits import MAX_TEMPLATE_BYTES, MAX_TEMPLATE_DEPTH
from tracker.webhooks.schedule import MAX_FAILING_MS, Disabled
from tracker.webhooks.store import Webhook

TargetUrl = Annotated[
    str,
    Meta(
        description="receiver: absolute http or https URL, not in a private network",
        extra_json_schema={"format": "uri", "maxLength": MAX_URL_CHARACTERS},
        examples=["https://example.com/hooks/conversions"],
    ),
]
Method = Literal["POST", "PUT", "PATCH", "GET"]
PayloadTemplate = Annotated[
    dict[str, Any],
    Meta(
        description="its strings may have macros: "
        + "; ".join(f"{{{name}}} {meaning}" for name, meaning in template.MACROS.items())
        + "; {metadata.<key>} and {query.<name>}, a value of the metadata or of the click's query. "
        f"At most {MAX_TEMPLATE_BYTES} bytes and {MAX_TEMPLATE_DEPTH} levels deep; "
        "default: every macro under its own name",
        examples=[{"id": "{click_id}", "amount": "{value}"}],
    ),
]

Events = Annotated[
    tuple[Kind, ...],
    Meta(
        min_length=1,
        description="the events it is notified of. conversion: a conversion of the account; "
        "webhook.disabled: the service has disabled another webhook of the account; "
        "delivery.failed: a conversion did not reach another webhook, and is not retried. "
        "The payload template is for conversions; the others are sent as {type, timestamp, data}",
        examples=[["webhook.disabled", "delivery.failed"]],
    ),
]


class WebhookRecord(msgspec.Struct, kw_only=True):
    """A webhook, without its signing secret."""

    id: UUID
    account_id: UUID
    name: str
    target_url: str
    method: Method
    payload_template: Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
    events: Events
    active: bool
    disabled_reason: Annotated[
        Disabled | None,
        Meta(
            description="why the service disabled it. gone: its receiver answered 410; "
            f"failing: every attempt of {timedelta(milliseconds=MAX_FAILING_MS).days} days failed"
        ),
    ]
    disabled_at: Annotated[
        Timestamp | None,
        Meta(description="when the service disabled it; null once it is active again"),
    ]
    created_at: Timestamp


class CreatedWebhook(WebhookRecord, kw_only=True):
    """A new webhook with its signing secret, which is shown only once."""

    secret: Annotated[
        str, Meta(description="signs the deliveries (Standard Webhooks); shown only here")
    ]


class RotatedWebhook(CreatedWebhook, kw_only=True):
    """A webhook with its new signing secret, which is shown only once."""

    previous_secret_until: Annotated[
        Timestamp, Meta(description="until then the previous secret signs the deliveries too")
    ]


_WebhookRecord = TypeVar("_WebhookRecord", bound=WebhookRecord)


class CreateWebhook(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The webhook to create."""

    account_id: AccountId
    target_url: TargetUrl
    name: Annotated[Text, Meta(description="default: the host of the target")] | None = None
    method: Method = "POST"
    payload_template: PayloadTemplate | None = None
    events: Events = (Kind.CONVERSION,)

    def __post_init__(self) -> None:
        self.events = _distinct(self.events)
        if self.name is not None:
            self.name = trimmed("name", self.name)
        if self.payload_template is not None:
            template.check_template(self.payload_template)


class ChangeWebhook(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of a webhook to change; the others stay as they are."""

    name: Text | UnsetType = UNSET
    target_url: TargetUrl | UnsetType = UNSET
    method: Method | UnsetType = UNSET
    payload_template: PayloadTemplate | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    active: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.events is not UNSET:
            self.events = _distinct(self.events)
        if self.name is not UNSET:
            self.name = trimmed("name", self.name)
        if self.payload_template is not UNSET:
            template.check_template(self.payload_template)


async def _check_target(services: Services, body: CreateWebhook | ChangeWebhook) -> None:
    """Check the rules of a target that need no look-up. Access is checked afterwards.

    Raises BadRequest if the target breaks one.
    """
    if body.target_url is not UNSET:
        target.check_encrypted(body.target_url, services.settings.http_targets_allowed)
        allow_private = services.settings.webhook_allow_private
        host, port = target.check_target(body.target_url, allow_private)
        if services.own_hosts.has(host, port):
            raise BadRequest(target.OWN_HOST)


async def _check_host(call: Call[Any, Any], url: str) -> None:
    """Check the host of a target by look-ups, after access is checked.

    Raises BadRequest if it is not allowed; RateLimited or Unavailable if too many look-ups are in
    progress.
    """
    services = call.services
    host, port = check_url(target.FIELD, url).address
    if await services.own_hosts.serves(host, port):
        raise BadRequest(target.OWN_HOST)
    if not services.settings.webhook_allow_private:
        with services.dns_limiter.acquire(call.account_id):
            await target.check_addresses(host, services.dns.resolve)


def _record_of(kind: type[_WebhookRecord], webhook: Webhook) -> _WebhookRecord:
    payload_template = msgspec.Raw(webhook.payload_template.encode())
    return record_of(kind, webhook, payload_template=payload_template)


WEBHOOKS: Resource[Webhook, WebhookRecord] = Resource(
    "webhook",
    lambda call: call.services.webhooks.find(call.ids[0]),
    one_by_one(partial(_record_of, WebhookRecord)),
)


async def create(call: Call[Nothing, CreateWebhook]) -> CreatedWebhook:
    """Create a webhook, and return it with its secret.

    Raises BadRequest if its target is not allowed; RateLimited or Unavailable if too many look-ups
    are in progress.
    """
    body = call.body
    host, _ = check_url(target.FIELD, body.target_url).address
    await _check_host(call, body.target_url)
    webhook = await call.services.webhooks.create(
        account_id=call.account_id,
        name=body.name or host,
        target_url=body.target_url,
        method=body.method,
        payload_template=template.DEFAULT
        if body.payload_template is None
        else body.payload_template,
        events=body.events,
    )
    return _record_of(CreatedWebhook, webhook)


async def change(call: Call[Nothing, ChangeWebhook]) -> WebhookRecord:
    """Change the fields of a webhook that were sent.

    Raises NotFound or Forbidden if the account has no such webhook; BadRequest, RateLimited or
    Unavailable as `create` does.
    """
    webhook = await WEBHOOKS.own(call)
    changed = sent_fields(call.body)
    if "target_url" in changed:
        await _check_host(call, changed["target_url"])
    if changed:
        stored = await call.services.webhooks.change(webhook.id, changed)
        webhook = WEBHOOKS.checked(call, stored)
    return await WEBHOOKS.show(call, webhook)


async def rotate_secret(call: Call[Nothing, Nothing]) -> RotatedWebhook:
    """Give a webhook a new secret, and return it with the time at which the previous one ends.

    Raises NotFound or Forbidden if the account has no such webhook.
    """
    webhook = await WEBHOOKS.own(call)
    rotated = await call.services.webhooks.rotate_secret(webhook.id)
    return _record_of(RotatedWebhook, WEBHOOKS.checked(call, rotated))


async def delete(call: Call[Nothing, Nothing]) -> Done:
    """Delete a webhook. Raises NotFound or Forbidden if the account has no such webhook."""
    webhook = await WEBHOOKS.own(call)
    await call.services.webhooks.delete(webhook.id)
    return Done()


def _distinct(events: Events) -> Events:
    """Return `events` without repeats, in the order of Kind."""
    return tuple(kind for kind in Kind if kind in events)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/webhooks",
        "webhooks:read",
        WEBHOOKS.lister(lambda services: services.webhooks),
        "List webhooks, newest first",
        Page[WebhookRecord],
        query=AccountPage,
    ),
    Endpoint(
        "POST",
        "/api/webhooks",
        "webhooks:write",
        create,
        "Create a webhook; the signing secret is in this answer only",
        CreatedWebhook,
        body=CreateWebhook,
        check=_check_target,
        example={
            "name": "Sales",
            "target_url": "https://example.com/hooks/conversions",
            "payload_template": {"id": "{click_id}", "amount": "{value}"},
        },
    ),
    Endpoint(
        "GET",
        "/api/webhooks/{id}",
        "webhooks:read",
        WEBHOOKS.show_own,
        "Show a webhook",
        WebhookRecord,
    ),
    Endpoint(
        "PATCH",
        "/api/webhooks/{id}",
        "webhooks:write",
        change,
        "Change a webhook",
        WebhookRecord,
        body=ChangeWebhook,
        check=_check_target,
        example={"active": False},
    ),
    Endpoint("DELETE", "/api/webhooks/{id}", "webhooks:write", delete, "Delete a webhook", Done),
    Endpoint(
        "POST",
        "/api/webhooks/{id}/secret",
        "webhooks:write",
        rotate_secret,
        "Change a webhook's signing secret; the new one is in this answer only, and the previous "
        "one signs too for a day",
        RotatedWebhook,
    ),
)
