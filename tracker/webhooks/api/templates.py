"""`/api/webhooks/preview` and `/api/webhooks/macros`: help to write templates."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from tracker.errors import BadRequest
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import AccountId, AccountQuery
from tracker.webhooks.api.schema import ChangedHeaders, Method, PayloadTemplate, TargetUrl
from tracker.webhooks.headers import check_headers, fill_headers, macros_in, with_stored_values
from tracker.webhooks.macros import ALL_MACROS, Unfillable
from tracker.webhooks.payloads import template
from tracker.webhooks.payloads.content import texts_of
from tracker.webhooks.payloads.payload import as_query, render
from tracker.webhooks.payloads.sample import sample_texts, sample_values
from tracker.webhooks.payloads.target_template import TargetTemplate, check_target_macros
from tracker.webhooks.payloads.values import MacroValues
from tracker.webhooks.services import WebhookCall
from tracker.webhooks.store import template_text

endpoint = Endpoints("webhooks")


class PreviewPayload(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The template to preview, and a target."""

    account_id: AccountId
    payload_template: PayloadTemplate
    method: Method = "POST"
    target_url: TargetUrl | None = None
    headers: ChangedHeaders | None = None

    def __post_init__(self) -> None:
        check_headers(self.headers or {})
        template.check_template(self.payload_template)
        if self.target_url is not None:
            check_target_macros(self.target_url)


class PayloadPreview(msgspec.Struct, kw_only=True):
    """The payload and the URL of a sample conversion."""

    payload: Annotated[str, Meta(description="JSON text; with the method GET, the query")]
    url: Annotated[
        str | None,
        Meta(description="the target with its macros filled, for GET without the payload"),
    ]
    headers: Annotated[
        Mapping[str, str | None],
        Meta(description="the headers with their macros filled; null for one without a value"),
    ]


class Macro(msgspec.Struct, kw_only=True):
    """A macro of webhooks, written in braces."""

    name: str
    description: str
    example: Annotated[str, Meta(description="its value in a preview, within a longer text")]


class WebhookMacros(msgspec.Struct, kw_only=True):
    """All macros."""

    rows: list[Macro]


@endpoint(
    "POST",
    "/api/webhooks/preview",
    "webhooks:read",
    example={"payload_template": {"id": "{click_id}", "amount": "{value}"}},
    operation_id="previewWebhookPayload",
)
async def preview(call: WebhookCall[Nothing, PreviewPayload]) -> PayloadPreview:
    """Preview payload, URL and headers for a sample conversion; nothing is sent.

    Raises BadRequest if payload, URL or headers would be too long.
    """
    body = call.body
    values = sample_values(call.account_id, call.services.public_url.host)
    try:
        payload = render(template_text(body.payload_template), values)
        url = None if body.target_url is None else _filled(body.target_url, values)
        headers = _filled_headers(body.headers or {}, values)
    except Unfillable as reason:
        raise BadRequest(str(reason)) from None
    shown = as_query(payload) if body.method == "GET" else payload.decode()
    return PayloadPreview(payload=shown, url=url, headers=headers)


def _filled(target_url: str, values: MacroValues) -> str:
    target = TargetTemplate(target_url)
    return target.fill(texts_of(values, target.macros))


def _filled_headers(
    headers: Mapping[str, str | None], values: MacroValues
) -> Mapping[str, str | None]:
    """Return filled headers in their order; None where no value was sent."""
    sent = {name: value for name, value in headers.items() if value is not None}
    filled = fill_headers(with_stored_values({}, sent), texts_of(values, macros_in(sent)))
    return {name: filled.get(name) for name in headers}


@endpoint("GET", "/api/webhooks/macros", "webhooks:read")
async def list_macros(call: WebhookCall[AccountQuery, Nothing]) -> WebhookMacros:
    """List the macros of webhooks."""
    texts = sample_texts(sample_values(call.account_id, call.services.public_url.host))
    rows = [
        Macro(name=name, description=meaning, example=texts[name])
        for name, meaning in ALL_MACROS.items()
    ]
    return WebhookMacros(rows=rows)
