"""`/api/webhooks/preview` and `/api/webhooks/macros`: what a payload template becomes."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tracker.api.account import AccountQuery
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.schema import AccountId
from tracker.api.webhook_schema import Method, PayloadTemplate
from tracker.errors import BadRequest
from tracker.webhooks import template
from tracker.webhooks.limits import MAX_PAYLOAD_BYTES
from tracker.webhooks.payload import TooLong, as_query, render
from tracker.webhooks.sample import sample_texts, sample_values


class PreviewPayload(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The template to preview."""

    account_id: AccountId
    payload_template: PayloadTemplate
    method: Method = "POST"

    def __post_init__(self) -> None:
        template.check_template(self.payload_template)


class PayloadPreview(msgspec.Struct, kw_only=True):
    """The payload that a template makes of a sample conversion."""

    payload: Annotated[str, Meta(description="JSON text; with the method GET, the query")]


class Macro(msgspec.Struct, kw_only=True):
    """A macro of payload templates, which writes it in braces."""

    name: str
    description: str
    example: Annotated[str, Meta(description="its value in a preview, within a longer text")]


class Macros(msgspec.Struct, kw_only=True):
    """All macros."""

    rows: list[Macro]


async def preview(call: Call[Nothing, PreviewPayload]) -> PayloadPreview:
    """Return the payload of a template for a sample conversion.

    Raises BadRequest if it is too long.
    """
    body = call.body
    values = sample_values(call.account_id, call.services.public_url.host)
    try:
        payload = render(template.template_text(body.payload_template), values)
    except TooLong:
        rule = f"its payload may have at most {MAX_PAYLOAD_BYTES} bytes"
        raise BadRequest(f"{template.FIELD}: {rule}") from None
    return PayloadPreview(payload=as_query(payload) if body.method == "GET" else payload.decode())


async def list_macros(call: Call[AccountQuery, Nothing]) -> Macros:
    """Return every macro with its meaning and an example."""
    texts = sample_texts(sample_values(call.account_id, call.services.public_url.host))
    rows = [
        Macro(name=name, description=meaning, example=texts[name])
        for name, meaning in template.ALL_MACROS.items()
    ]
    return Macros(rows=rows)


ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/webhooks/preview",
        "webhooks:read",
        preview,
        "Show the payload that a template makes of a sample conversion; nothing is sent",
        PayloadPreview,
        body=PreviewPayload,
        example={"payload_template": {"id": "{click_id}", "amount": "{value}"}},
    ),
    Endpoint(
        "GET",
        "/api/webhooks/macros",
        "webhooks:read",
        list_macros,
        "List the macros of payload templates",
        Macros,
        query=AccountQuery,
    ),
)
