"""`/api/webhooks`: make, list, show, change and delete who is told of conversions."""

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.schema import AccountId, AccountPage, Done, Page, Text, Timestamp, sent, trimmed
from tracker.clock import iso
from tracker.http.url import check_url
from tracker.services import Services
from tracker.webhooks import target, template
from tracker.webhooks.schedule import Disabled
from tracker.webhooks.store import Webhook

TargetUrl = Annotated[
    str,
    Meta(
        description="receiver: absolute http or https URL, not in a private network",
        extra_json_schema={"format": "uri", "maxLength": 2048},
        examples=["https://example.com/hooks/conversions"],
    ),
]
Method = Literal["POST", "PUT", "PATCH", "GET"]
PayloadTemplate = Annotated[
    dict[str, Any],
    Meta(
        description="texts in it may hold macros: "
        + "; ".join(f"{{{name}}} {meaning}" for name, meaning in template.MACROS.items())
        + "; {metadata.<key>} and {query.<name>}, one of the metadata's or the click query's. "
        f"At most {template.MAX_BYTES} bytes and {template.MAX_DEPTH} levels deep; "
        "default: every macro under its own name",
        examples=[{"id": "{click_id}", "amount": "{value}"}],
    ),
]


class WebhookRecord(msgspec.Struct, kw_only=True):
    id: UUID
    account_id: UUID
    name: str
    target_url: str
    method: Method
    payload_template: Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
    active: bool
    disabled_reason: Annotated[
        Disabled | None,
        Meta(
            description="why the service made it inactive. gone: its receiver answered 410; "
            "failing: every attempt of five days failed"
        ),
    ]
    created_at: Timestamp


class CreatedWebhook(WebhookRecord, kw_only=True):
    secret: Annotated[
        str, Meta(description="signs the deliveries (Standard Webhooks); shown only here")
    ]


class RotatedWebhook(CreatedWebhook, kw_only=True):
    previous_secret_until: Annotated[
        Timestamp, Meta(description="until then the secret before signs the deliveries as well")
    ]


class CreateWebhook(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    account_id: AccountId
    target_url: TargetUrl
    name: Annotated[Text, Meta(description="default: the host of the target")] | None = None
    method: Method = "POST"
    payload_template: PayloadTemplate | None = None

    def __post_init__(self) -> None:
        if self.name is not None:
            self.name = trimmed("name", self.name)
        if self.payload_template is not None:
            template.check_template(self.payload_template)


class ChangeWebhook(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    name: Text | UnsetType = UNSET
    target_url: TargetUrl | UnsetType = UNSET
    method: Method | UnsetType = UNSET
    payload_template: PayloadTemplate | UnsetType = UNSET
    active: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not UNSET:
            self.name = trimmed("name", self.name)
        if self.payload_template is not UNSET:
            template.check_template(self.payload_template)


async def _check_target(services: Services, body: CreateWebhook | ChangeWebhook) -> None:
    if body.target_url is not UNSET:
        allow_private = services.settings.webhook_allow_private
        await target.check_target(body.target_url, allow_private)


async def create(call: Call[Nothing, CreateWebhook]) -> CreatedWebhook:
    body = call.body
    host, _ = check_url(target.FIELD, body.target_url).address
    webhook = await call.services.webhooks.create(
        account_id=call.account_id,
        name=body.name or host,
        target_url=body.target_url,
        method=body.method,
        payload_template=template.DEFAULT
        if body.payload_template is None
        else body.payload_template,
    )
    return CreatedWebhook(**_fields(webhook), secret=webhook.secret)


async def list_webhooks(call: Call[AccountPage, Nothing]) -> Page[WebhookRecord]:
    query = call.query
    webhooks, total = await call.services.webhooks.page(
        call.account_id, query.page, query.page_size
    )
    return query.page_of([_shown(webhook) for webhook in webhooks], total)


async def show(call: Call[Nothing, Nothing]) -> WebhookRecord:
    return _shown(await own_webhook(call))


async def change(call: Call[Nothing, ChangeWebhook]) -> WebhookRecord:
    webhook = await own_webhook(call)
    changed = sent(call.body)
    if changed:
        webhook = call.own("webhook", await call.services.webhooks.change(webhook.id, changed))
    return _shown(webhook)


async def rotate_secret(call: Call[Nothing, Nothing]) -> RotatedWebhook:
    webhook = await own_webhook(call)
    webhook = call.own("webhook", await call.services.webhooks.rotate_secret(webhook.id))
    assert webhook.previous_secret_until is not None
    return RotatedWebhook(
        **_fields(webhook),
        secret=webhook.secret,
        previous_secret_until=iso(webhook.previous_secret_until),
    )


async def delete(call: Call[Nothing, Nothing]) -> Done:
    webhook = await own_webhook(call)
    await call.services.webhooks.delete(webhook.id)
    return Done()


async def own_webhook(call: Call[Any, Any]) -> Webhook:
    return call.own("webhook", await call.services.webhooks.find(call.ids[0]))


def _shown(webhook: Webhook) -> WebhookRecord:
    return WebhookRecord(**_fields(webhook))


def _fields(webhook: Webhook) -> dict[str, Any]:
    """Those of every answer."""
    return {
        "id": webhook.id,
        "account_id": webhook.account_id,
        "name": webhook.name,
        "target_url": webhook.target_url,
        "method": webhook.method,
        "payload_template": msgspec.Raw(webhook.payload_template.encode()),
        "active": webhook.active,
        "disabled_reason": webhook.disabled_reason,
        "created_at": iso(webhook.created_at),
    }


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/webhooks",
        "webhooks:read",
        list_webhooks,
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
    Endpoint("GET", "/api/webhooks/{id}", "webhooks:read", show, "Show a webhook", WebhookRecord),
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
        "Change a webhook's signing secret; the new one is in this answer only, and the one before "
        "signs beside it for a day",
        RotatedWebhook,
    ),
)
