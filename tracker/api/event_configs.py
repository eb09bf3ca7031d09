"""`/api/event-configs`: create, list, change and archive event configurations."""

from decimal import Decimal
from functools import partial
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.access.audit import Target, differences
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.event_schema import EXAMPLE_PBK
from tracker.api.postback_keys import SHOWN_CHARACTERS, may_read_keys, shortened
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
from tracker.conversions.event_config import (
    MAX_PAYOUT,
    PAYOUT_DECIMALS,
    EventConfig,
    PayoutType,
    checked_payout,
)

# Any, because msgspec would accept a number in a string too.
SentPayout = Annotated[
    Any,
    Meta(
        description="what a conversion pays: a percentage of its value if the payout type is "
        f"RevShare, else an amount; at most {PAYOUT_DECIMALS} decimals",
        extra_json_schema={"type": "number", "minimum": 0, "maximum": MAX_PAYOUT},
    ),
]


SentPayoutType = Annotated[PayoutType, Meta(description="case is ignored")]


class EventConfigRecord(msgspec.Struct, kw_only=True):
    """An event configuration."""

    id: UUID
    account_id: UUID
    name: str
    pbk: Annotated[
        str,
        Meta(
            description="postback key: names the configuration at /api/event; without the scope "
            f"event_configs:write only its first {SHOWN_CHARACTERS} characters and an ellipsis",
            examples=[EXAMPLE_PBK, shortened(EXAMPLE_PBK)],
        ),
    ]
    payout_type: PayoutType
    payout: Decimal
    active: bool
    created_at: Timestamp


class CreateEventConfig(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The event configuration to create."""

    account_id: AccountId = field(name="accountId")
    name: Text
    payout_type: SentPayoutType
    payout: SentPayout = 0

    def __post_init__(self) -> None:
        self.name = trimmed("name", self.name)
        self.payout = checked_payout(self.payout)


class ChangeEventConfig(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of an event configuration to change; the others stay as they are."""

    name: Text | UnsetType = UNSET
    payout_type: SentPayoutType | UnsetType = UNSET
    payout: SentPayout = UNSET
    active: bool | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not UNSET:
            self.name = trimmed("name", self.name)
        if self.payout is not UNSET:
            self.payout = checked_payout(self.payout)


CONFIGS: Resource[EventConfig, EventConfigRecord] = Resource(
    "event config",
    lambda call: call.services.event_configs.find(call.ids[0]),
    one_by_one(partial(record_of, EventConfigRecord)),
)


async def list_configs(call: Call[AccountPage, Nothing]) -> Page[EventConfigRecord]:
    """Return a page of the account's configurations."""
    fetch = partial(call.services.event_configs.page, call.account_id)
    page = await CONFIGS.page(call, call.query, fetch)
    if not may_read_keys(call.principal):
        for row in page.rows:
            row.pbk = shortened(row.pbk)
    return page


async def create(call: Call[Nothing, CreateEventConfig]) -> EventConfigRecord:
    """Create an event configuration with a new postback key."""
    body = call.body
    config = await call.services.event_configs.create(
        call.account_id, body.name, body.payout_type, body.payout
    )
    await call.audit("event_config.created", _target(config))
    return await CONFIGS.show(call, config)


async def change(call: Call[Nothing, ChangeEventConfig]) -> EventConfigRecord:
    """Change the fields of an event configuration that were sent.

    Raises NotFound or Forbidden if the account has no such configuration.
    """
    config = await CONFIGS.own(call)
    fields = sent_fields(call.body)
    if not fields:
        return await CONFIGS.show(call, config)
    changed = await call.services.event_configs.change(config.id, fields)
    if changes := differences(config, changed):
        await call.audit("event_config.changed", _target(changed), changes)
    return await CONFIGS.show(call, changed)


async def archive(call: Call[Nothing, Nothing]) -> Done:
    """Archive an event configuration. Its postback key stops working; its conversions stay.

    Raises NotFound or Forbidden if the account has no such configuration.
    """
    config = await CONFIGS.own(call)
    await call.services.event_configs.change(config.id, {"archived": True})
    await call.audit("event_config.archived", _target(config))
    return Done()


def _target(config: EventConfig) -> Target:
    return Target(kind="event_config", id=config.id, name=config.name)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/event-configs",
        "event_configs:read",
        list_configs,
        "List event configurations, newest first",
        Page[EventConfigRecord],
        query=AccountPage,
    ),
    Endpoint(
        "POST",
        "/api/event-configs",
        "event_configs:write",
        create,
        "Create an event configuration and its postback key",
        EventConfigRecord,
        body=CreateEventConfig,
        example={"name": "Purchase", "payout_type": "RevShare", "payout": 12.5},
    ),
    Endpoint(
        "PATCH",
        "/api/event-configs/{id}",
        "event_configs:write",
        change,
        "Change an event configuration; conversions recorded before keep what they paid",
        EventConfigRecord,
        body=ChangeEventConfig,
        example={"payout": 15},
    ),
    Endpoint(
        "DELETE",
        "/api/event-configs/{id}",
        "event_configs:write",
        archive,
        "Archive an event configuration: its postback key stops working, its conversions stay",
        Done,
    ),
)
