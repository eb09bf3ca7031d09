"""The payloads of deliveries, as OpenAPI describes them. Their schemas follow from samples."""

import re
from typing import Any, Final

import msgspec

from tracker.clock import now
from tracker.ids import EXAMPLE_ID
from tracker.web.openapi_parts import TEXT, OpenApiPart, json_content
from tracker.webhooks.delivery import Kind
from tracker.webhooks.operational_messages import envelope
from tracker.webhooks.payloads.sample import sample_content
from tracker.webhooks.payloads.template import DEFAULT, DEFAULT_OF_CLICKS
from tracker.webhooks.store import Webhook

_TOLD: Final = {
    Kind.CONVERSION: "A conversion was recorded. The fields are those of the default template.",
    Kind.CONVERSION_UPDATED: "A conversion has changed. The fields are those of a conversion.",
    Kind.CLICK_RECORDED: "Clicks were recorded. Their fields are those of the default template.",
    Kind.LINK_CREATED: "A link was created.",
    Kind.LINK_CHANGED: "A link has changed.",
    Kind.WEBHOOK_DISABLED: "Another webhook of the account was disabled.",
    Kind.DELIVERY_FAILED: "A conversion has not reached another webhook of the account.",
    Kind.ALERT_FIRED: "What an alert waits for has come.",
    Kind.SUMMARY_SENT: "The figures of a week or month.",
}
_OF_RULE: Final = f'"account_id":"{EXAMPLE_ID}","id":"{EXAMPLE_ID}","name":"Sample"'
_DATA: Final = {
    Kind.DELIVERY_FAILED: f'"account_id":"{EXAMPLE_ID}","webhook_id":"{EXAMPLE_ID}","delivery_id":'
    f'"{EXAMPLE_ID}","event_id":1,"attempts":10,"last_attempt_at":"2026-01-31T09:30:00.000Z",'
    '"code":500,"error":null',
    Kind.ALERT_FIRED: f'{_OF_RULE},"measure":"clicks","value":3,"limit":10,"hours":24,'
    '"until":"2026-01-31T09:30:00.000Z"',
    Kind.SUMMARY_SENT: f'{_OF_RULE},"from":"2026-01-01","to":"2026-01-31","totals":{{"clicks":3}},'
    '"previous":{"clicks":2},"panels":{"country":{"rows":[{"key":"DE","name":"Germany"}]}}',
}
"""What messages say that have no sample, as JSON; and each a text."""

_FIXED: Final = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), EXAMPLE_ID),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "2026-01-31T09:30:00.000Z"),
    (re.compile(r'(?<=_unix":)\d+'), "1769851800"),
)
_TYPES: Final = {str: "string", bool: "boolean", int: "number", float: "number"}


def payload_descriptions() -> dict[str, OpenApiPart]:
    """Return the path items of OpenAPI's `webhooks`, by kind of delivery."""
    return {str(kind): _description(kind, told) for kind, told in _TOLD.items()}


def _description(kind: Kind, told: str) -> OpenApiPart:
    sample = _sample(kind)
    headers = ("webhook-id", "webhook-timestamp", "webhook-signature")
    operation = {
        "operationId": "receive" + "".join(map(str.capitalize, re.split("[._]", kind))),
        "summary": told,
        "tags": ["Webhooks"],
        "parameters": [{"name": one, "in": "header", "schema": TEXT} for one in headers],
        "requestBody": {"content": json_content(_schema(sample), sample)},
        "responses": {"2XX": {"description": "Received."}},
    }
    return {"post": operation}


def _sample(kind: Kind) -> Any:
    if kind in _DATA:
        data = msgspec.json.decode(f'{{{_DATA[kind]},"text":"Sample"}}')
        text = envelope(kind, now(), data)
    else:
        template = DEFAULT_OF_CLICKS if kind is Kind.CLICK_RECORDED else DEFAULT
        fields: dict[str, Any] = {
            "id": EXAMPLE_ID,
            "account_id": EXAMPLE_ID,
            "name": "",
            "method": "POST",
        }
        fields |= {"target_url": "https://example.com/", "secret": "", "active": True}
        fields |= {"payload_template": msgspec.json.encode(template).decode(), "created_at": now()}
        webhook = msgspec.convert(fields, Webhook)
        text = sample_content(webhook, kind, "go.example.com").payload
    for pattern, value in _FIXED:
        text = pattern.sub(value, text)
    return msgspec.json.decode(text)


def _schema(value: Any) -> OpenApiPart:
    if isinstance(value, dict):
        properties = {name: _schema(one) for name, one in value.items()}
        required = ("type", "timestamp", "data") if "data" in value else ()
        return {"type": "object", "properties": properties, "required": [*required]}
    if isinstance(value, list):
        return {"type": "array", "items": _schema(value[0]) if value else {}}
    return {} if value is None else {"type": [_TYPES[type(value)], "null"]}
