"""The requests and answers of `/api/webhooks`, and the rules of their fields."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.errors import BadRequest
from tracker.web.limits import MAX_URL_CHARACTERS
from tracker.web.schema import AccountId, Text, Timestamp, trimmed
from tracker.webhooks.delivery import Kind, Preset
from tracker.webhooks.filters import Filter
from tracker.webhooks.headers import MASK, check_headers
from tracker.webhooks.limits import (
    MAX_CLICKS,
    MAX_FILLED_TARGET_CHARACTERS,
    MAX_HEADERS,
    MAX_HEADERS_CHARACTERS,
    MAX_TEMPLATE_BYTES,
    MAX_TEMPLATE_DEPTH,
)
from tracker.webhooks.macros import ALL_MACROS
from tracker.webhooks.payloads import template
from tracker.webhooks.presets.ads import PLATFORMS, expanded
from tracker.webhooks.schedule import MAX_FAILING, Disabled

TargetUrl = Annotated[
    str,
    Meta(
        description="receiver: absolute http or https URL, not in a private network. Path and "
        "query may have the macros of payload_template; each value is percent-encoded. With them "
        f"it has at most {MAX_FILLED_TARGET_CHARACTERS:,} characters",
        # No format: a target may have braces, a URI may not.
        extra_json_schema={"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://", "maxLength": MAX_URL_CHARACTERS},
        examples=["https://example.com/postback?cid={click_id}&payout={payout}"],
    ),
]
Method = Literal["POST", "PUT", "PATCH", "GET"]
PayloadTemplate = Annotated[
    dict[str, Any],
    Meta(
        description="its strings may have macros: "
        + "; ".join(f"{{{name}}} {meaning}" for name, meaning in ALL_MACROS.items())
        + ". "
        f"At most {MAX_TEMPLATE_BYTES} bytes and {MAX_TEMPLATE_DEPTH} levels deep; "
        "default: every macro under its own name",
        examples=[{"id": "{click_id}", "amount": "{value}"}],
    ),
]

_HEADERS: Final = (
    "additional headers of each request, by name. Values may have the macros of payload_template; "
    "characters of a macro's value that are not printable ASCII are percent-encoded. Names are "
    "tokens of RFC 9110. Names that HTTP or the service sets are refused, such as Host, "
    f"Content-Type and webhook-*. At most {MAX_HEADERS}, and {MAX_HEADERS_CHARACTERS:,} characters "
    "in total. Values are stored encrypted and never shown"
)
_HEADERS_EXAMPLE: Final = {"Authorization": "Bearer s3cret", "X-Click": "{click_id}"}
Headers = Annotated[dict[str, str], Meta(description=_HEADERS, examples=[_HEADERS_EXAMPLE])]
ChangedHeaders = Annotated[
    dict[str, str | None],
    Meta(
        description=f"{_HEADERS}. null keeps the stored value; a name that is left out is removed. "
        "If target_url changes before its query, all values must be sent again",
        examples=[{"Authorization": None, "X-Click": "{click_id}"}],
    ),
]

Events = Annotated[
    tuple[Kind, ...],
    Meta(
        min_length=1,
        description="the events that it subscribes to. conversion: a conversion of the account; "
        "conversion.recorded is another name for it; conversion.updated: its status or money has "
        "changed; click.recorded: clicks were stored, of which a request has up to "
        f"{MAX_CLICKS}, as {{clicks, skipped}}; link.created, link.changed: a short link; "
        "webhook.disabled: the service has disabled another webhook of the account; "
        "delivery.failed: a conversion did not reach another webhook, and is not retried; "
        "alert.fired, summary.sent: alerts and summaries that name the webhook, also unasked. "
        "The payload template is for conversions, changes and clicks; others are sent as {type, "
        "timestamp, data}",
        examples=[["webhook.disabled", "delivery.failed"]],
    ),
]


PresetIn = Annotated[
    Preset | None,
    Meta(
        description="the chat service that it sends to, or one that takes the same requests: "
        "values are escaped, so that it reads no mention or markup in them, texts are cut to its "
        "limit, and messages are sent as text in words. Or the ad platform that it tells of "
        "conversions, whose target and template follow from settings. null: none"
    ),
]
Settings = Annotated[
    dict[str, str],
    Meta(
        description="of the ad platform that is its preset; target_url and payload_template follow "
        "from them. "
        + "; ".join(
            f"{preset}: {', '.join(one.settings)}"
            + "".join(f", {name} (optional)" for name in one.optional)
            for preset, one in PLATFORMS.items()
        ),
        examples=[{"pixel_id": "1234567890", "event_name": "Purchase"}],
    ),
]


class WebhookRecord(msgspec.Struct, kw_only=True):
    """A webhook, without its signing secret."""

    id: UUID
    account_id: UUID
    name: str
    target_url: Annotated[
        str, Meta(description=f"without webhooks:write only its origin, and {MASK} for the rest")
    ]
    method: Method
    payload_template: Annotated[
        msgspec.Raw,
        Meta(
            description=f"without webhooks:write {MASK} hides all but names and macros",
            extra_json_schema={"type": "object"},
        ),
    ]
    preset: PresetIn
    settings: Settings
    headers: Annotated[
        dict[str, str | None],
        Meta(description="additional headers by name; values are never shown, so they are null"),
    ]
    events: Events
    filter: Filter
    active: bool
    disabled_reason: Annotated[
        Disabled | None,
        Meta(
            description="why the service disabled it. gone: its receiver answered 410; "
            f"failing: every attempt of {MAX_FAILING.days} days failed"
        ),
    ]
    disabled_at: Annotated[
        Timestamp | None,
        Meta(description="when the service disabled it; null once it is active again"),
    ]
    failing_since: Annotated[
        Timestamp | None, Meta(description="the first failed attempt since one succeeded")
    ]
    created_at: Timestamp


class ShownWebhook(WebhookRecord, kw_only=True):
    """A webhook, and what keeps its deliveries from arriving."""

    warnings: Annotated[
        list[str],
        Meta(description="why deliveries may not arrive: DNS has no address of the host now"),
    ] = []


class CreatedWebhook(ShownWebhook, kw_only=True):
    """A new webhook with its signing secret, which is shown only once."""

    secret: Annotated[
        str, Meta(description="signs the deliveries (Standard Webhooks); shown only here")
    ]


class RotatedWebhook(CreatedWebhook, kw_only=True):
    """A webhook with its new signing secret, which is shown only once."""

    previous_secret_until: Annotated[
        Timestamp, Meta(description="until then the previous secret signs the deliveries too")
    ]


class CreateWebhook(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The webhook to create."""

    account_id: AccountId
    target_url: TargetUrl | UnsetType = UNSET
    name: Annotated[Text, Meta(description="default: the host of the target")] | None = None
    method: Method = "POST"
    payload_template: PayloadTemplate | None = None
    preset: PresetIn = None
    settings: Settings = {}
    headers: Headers = {}
    events: Events = (Kind.CONVERSION,)
    filter: Filter | None = None

    def __post_init__(self) -> None:
        for name, made in expanded(self.preset, self.settings).items():
            if getattr(self, name) in (None, UNSET):
                setattr(self, name, made)
        if self.target_url is UNSET:
            raise BadRequest("target_url: required")
        _check(self)


class ChangeWebhook(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of a webhook to change; the others stay as they are."""

    name: Text | UnsetType = UNSET
    target_url: TargetUrl | UnsetType = UNSET
    method: Method | UnsetType = UNSET
    payload_template: PayloadTemplate | UnsetType = UNSET
    preset: PresetIn | UnsetType = UNSET
    settings: Settings | UnsetType = UNSET
    headers: ChangedHeaders | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    filter: Filter | UnsetType | None = UNSET
    active: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        _check(self)


def _check(webhook: CreateWebhook | ChangeWebhook) -> None:
    """Check the given fields. Bring events into the order of Kind, without repeats."""
    if isinstance(webhook.events, tuple):
        webhook.events = tuple(kind for kind in Kind if kind in webhook.events)
    if isinstance(webhook.name, str):
        webhook.name = trimmed("name", webhook.name)
    if isinstance(webhook.payload_template, dict):
        template.check_template(webhook.payload_template)
    if isinstance(webhook.headers, dict):
        check_headers(webhook.headers)
