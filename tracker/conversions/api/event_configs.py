"""`/api/event-configs`: create, list, change and archive event configurations."""

from decimal import Decimal
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.access.audit import differences
from tracker.conversions.api.event_schema import EXAMPLE_PBK
from tracker.conversions.api.postback_keys import SHOWN_CHARACTERS, may_read_keys, shortened
from tracker.conversions.corrections.status import OnRepeat, Status
from tracker.conversions.event_config import (
    MAX_MIN_SECONDS,
    MAX_PAYOUT,
    MAX_WINDOW_DAYS,
    EventConfig,
    PayoutType,
    checked_payout,
)
from tracker.conversions.postbacks.aliases import (
    ALIAS_PATTERN,
    MAX_ALIASES,
    AliasedParameter,
    check_aliases,
)
from tracker.conversions.postbacks.words import MAX_WORDS, Meaning, checked_statuses
from tracker.conversions.services import ConversionCall
from tracker.errors import BadRequest
from tracker.syntax.amounts import DECIMALS
from tracker.syntax.currency import checked_currency
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import (
    AccountId,
    AccountPage,
    Done,
    Page,
    Text,
    Timestamp,
    sent_fields,
    trimmed,
)

endpoint = Endpoints("conversions")


# Any, because msgspec would accept a number in a string too.
SentPayout = Annotated[
    Any,
    Meta(
        description="the payout of a conversion: a percentage of its value if the payout type is "
        f"RevShare, else an amount; at most {DECIMALS} decimals",
        extra_json_schema={"type": "number", "minimum": 0, "maximum": MAX_PAYOUT},
    ),
]


SentPayoutType = Annotated[PayoutType, Meta(description="case is ignored")]


ParameterAliases = Annotated[
    dict[str, AliasedParameter],
    Meta(
        description="names that senders use instead of parameters of /api/event, each with its "
        "parameter",
        examples=[{"cid": "click_id", "payout": "value", "tid": "transaction_id"}],
        extra_json_schema={
            "maxProperties": MAX_ALIASES,
            "propertyNames": {"pattern": ALIAS_PATTERN},
        },
    ),
]


Statuses = Annotated[
    dict[str, Meaning],
    Meta(
        description="the network's words of a status, each with its meaning, without case; count: "
        "one more conversion. Words that mean one thing everywhere need none",
        examples=[{"hold": "pending", "1": "approved", "upsell": "count"}],
        extra_json_schema={"maxProperties": MAX_WORDS},
    ),
]
UnknownStatus = Annotated[Status, Meta(description="the status of words without a meaning")]
OnRepeats = Annotated[
    OnRepeat | None,
    Meta(
        description="what becomes of a further report of the same transaction id, or of the same "
        "click with a status. first: nothing; update: it restates what it carries; count: a "
        "conversion of its own. null: update with a status, else first"
    ),
]
WindowDays = Annotated[
    Annotated[int, Meta(ge=1, le=MAX_WINDOW_DAYS)] | None,
    Meta(
        description="later conversions than so many days after the click are late; null: none is",
    ),
]
MinSeconds = Annotated[
    Annotated[int, Meta(ge=1, le=MAX_MIN_SECONDS)] | None,
    Meta(
        description="earlier conversions than so many seconds after the click are too_fast; null: "
        "none is",
    ),
]
Currency = Annotated[
    str | None,
    Meta(
        description="of conversions that bring none, by ISO 4217; null: the account's, without "
        "which there is none",
        examples=["EUR"],
    ),
]


class EventConfigRecord(msgspec.Struct, kw_only=True):
    """An event configuration."""

    id: UUID
    account_id: UUID
    name: str
    pbk: Annotated[
        str,
        Meta(
            description="postback key: selects the configuration at /api/event. Without the scope "
            f"event_configs:write only its first {SHOWN_CHARACTERS} characters and an ellipsis",
            examples=[EXAMPLE_PBK, shortened(EXAMPLE_PBK)],
        ),
    ]
    payout_type: PayoutType
    payout: Decimal
    active: bool
    parameter_aliases: ParameterAliases
    statuses: Statuses
    unknown_status: UnknownStatus
    on_repeat: OnRepeats
    window_days: WindowDays
    min_seconds: MinSeconds
    currency: Currency
    created_at: Timestamp


class CreateEventConfig(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The event configuration to create."""

    account_id: AccountId = field(name="accountId")
    name: Text
    payout_type: SentPayoutType
    payout: SentPayout = 0
    parameter_aliases: ParameterAliases | UnsetType = UNSET
    statuses: Statuses | UnsetType = UNSET
    unknown_status: UnknownStatus | UnsetType = UNSET
    on_repeat: OnRepeats | UnsetType = UNSET
    window_days: WindowDays | UnsetType = UNSET
    min_seconds: MinSeconds | UnsetType = UNSET
    currency: Currency | UnsetType = UNSET

    def __post_init__(self) -> None:
        _check(self)


class ChangeEventConfig(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of an event configuration to change; the others stay as they are."""

    name: Text | UnsetType = UNSET
    payout_type: SentPayoutType | UnsetType = UNSET
    payout: SentPayout = UNSET
    active: bool | UnsetType = UNSET
    parameter_aliases: ParameterAliases | UnsetType = UNSET
    statuses: Statuses | UnsetType = UNSET
    unknown_status: UnknownStatus | UnsetType = UNSET
    on_repeat: OnRepeats | UnsetType = UNSET
    window_days: WindowDays | UnsetType = UNSET
    min_seconds: MinSeconds | UnsetType = UNSET
    currency: Currency | UnsetType = UNSET

    def __post_init__(self) -> None:
        _check(self)


def _check(body: CreateEventConfig | ChangeEventConfig) -> None:
    if body.name is not UNSET:
        body.name = trimmed("name", body.name)
    if body.payout is not UNSET:
        body.payout = checked_payout(body.payout)
    if body.parameter_aliases is not UNSET:
        check_aliases(body.parameter_aliases)
    if body.statuses is not UNSET:
        body.statuses = dict(checked_statuses(body.statuses))
    if body.currency not in (UNSET, None):
        body.currency = checked_currency("currency", body.currency)


async def _check_currency(call: ConversionCall[Any, Any], currency: str | UnsetType | None) -> None:
    """Raises BadRequest for a currency if the account has none to compare it with."""
    if currency in (UNSET, None):
        return
    if (await call.services.account_rules.stored(call.account_id)).currency is None:
        raise BadRequest("currency: the account has none yet; set that first")


CONFIGS: Resource[EventConfig, EventConfigRecord] = Resource(
    "event config",
    lambda call: call.services.event_configs.find(call.ids[0]),
    one_by_one(partial(record_of, EventConfigRecord)),
)


@endpoint("GET", "/api/event-configs", "event_configs:read")
async def list_configs(call: ConversionCall[AccountPage, Nothing]) -> Page[EventConfigRecord]:
    """List event configurations, newest first."""
    fetch = partial(call.services.event_configs.page, call.account_id)
    page = await CONFIGS.page(call, call.query, fetch)
    if not may_read_keys(call.principal):
        for row in page.rows:
            row.pbk = shortened(row.pbk)
    return page


@endpoint(
    "POST",
    "/api/event-configs",
    "event_configs:write",
    example={
        "name": "Purchase",
        "payout_type": "RevShare",
        "payout": 12.5,
        "parameter_aliases": {"cid": "click_id"},
    },
)
async def create(call: ConversionCall[Nothing, CreateEventConfig]) -> EventConfigRecord:
    """Create an event configuration and its postback key."""
    await _check_currency(call, call.body.currency)
    fields = {**sent_fields(call.body), "account_id": call.account_id}
    config = await call.services.event_configs.create(**fields)
    await call.audit("event_config.created", CONFIGS.audit_object(config))
    return await CONFIGS.show(call, config)


@endpoint("PATCH", "/api/event-configs/{id}", "event_configs:write", example={"payout": 15})
async def change(call: ConversionCall[Nothing, ChangeEventConfig]) -> EventConfigRecord:
    """Change an event configuration; earlier conversions keep their payout."""
    config = await CONFIGS.find(call)
    fields = sent_fields(call.body)
    if not fields:
        return await CONFIGS.show(call, config)
    await _check_currency(call, call.body.currency)
    changed = await call.services.event_configs.change(config.id, fields)
    if changes := differences(config, changed):
        await call.audit("event_config.changed", CONFIGS.audit_object(changed), changes)
    return await CONFIGS.show(call, changed)


@endpoint("DELETE", "/api/event-configs/{id}", "event_configs:write")
async def archive(call: ConversionCall[Nothing, Nothing]) -> Done:
    """Archive an event configuration: its postback key stops working, its conversions stay."""
    config = await CONFIGS.find(call)
    await call.services.event_configs.change(config.id, {"archived": True})
    await call.audit("event_config.archived", CONFIGS.audit_object(config))
    return Done()
