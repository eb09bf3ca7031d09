"""`/api/account`: the account, its time zone and currency, its rules against forged conversions."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from tracker.access.audit import AuditObject, FieldChange, audit_value, differences
from tracker.accounts.accounts import Account
from tracker.accounts.parameters import checked_names, names_of
from tracker.accounts.services import AccountCall
from tracker.accounts.time_zones import checked_zone
from tracker.calendar import Calendar
from tracker.clicks.document import OWN_PARAMETERS
from tracker.clicks.pages.origins import MAX_ORIGINS, checked_origins
from tracker.clock import now
from tracker.conversions.account_rules import CachedRules
from tracker.conversions.postbacks.parameters import MAX_VALUE
from tracker.conversions.rules import (
    MAX_PER_CLICK,
    checked_max_per_click,
    checked_max_value,
)
from tracker.errors import BadRequest, NotFound
from tracker.links.options import CLICK_PARAMETER, check_parameter
from tracker.syntax.currency import checked_currency
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import record_of
from tracker.web.schema import AccountId, AccountQuery, Day, Text, Timestamp, sent_fields, trimmed

endpoint = Endpoints("accounts")

_RequirePbk = Annotated[
    bool, Meta(description="a conversion needs a postback key; a click id alone is refused")
]
_NoNegativeValues = Annotated[bool, Meta(description="a conversion's value below 0 is refused")]

# Any, because msgspec would accept a number in a string too.
_SentMaxValue = Annotated[
    Any,
    Meta(
        description="the highest value that a conversion may have; null: any",
        extra_json_schema={"type": ["number", "null"], "minimum": 0, "maximum": MAX_VALUE},
    ),
]
_SentMaxPerClick = Annotated[
    Any,
    Meta(
        description="how many conversions of one click and event configuration count; null: any "
        "number",
        extra_json_schema={"type": ["integer", "null"], "minimum": 1, "maximum": MAX_PER_CLICK},
    ),
]

CostParameter = Annotated[
    str,
    Meta(
        description="the parameter of a click with its cost, within five minutes; null: none",
        extra_json_schema={"pattern": f"^{CLICK_PARAMETER.pattern}$"},
    ),
]

OwnParameters = Annotated[
    list[str],
    Meta(
        max_length=len(OWN_PARAMETERS),
        description="names of query parameters of a click that are dimensions of reports, within "
        "five minutes",
        examples=[["sub1", "placement"]],
    ),
]


SentOrigins = Annotated[
    list[str],
    Meta(
        max_length=MAX_ORIGINS,
        description="origins of pages that may report clicks: https://shop.example, shop.example "
        "or *.example.com. Those of the account's domains need no entry",
        examples=[["https://shop.example", "*.example.com"]],
    ),
]


class ConversionRulesRecord(msgspec.Struct, kw_only=True):
    """The current rules of an account against forged conversions."""

    require_pbk: _RequirePbk
    no_negative_values: _NoNegativeValues
    max_value: Annotated[Decimal | None, Meta(description="null: any")]
    max_per_click: Annotated[int | None, Meta(description="null: any number")]


class TimeZoneChangeRecord(msgspec.Struct, kw_only=True):
    """A change of time zone that has not begun. Earlier days keep the old zone."""

    time_zone: Annotated[str, Meta(description="the new one")]
    first_day: Annotated[Day, Meta(description="the first day in it; begins as days did before")]
    hours: Annotated[int, Meta(description="the length of that day", examples=[23])]


class AccountRecord(msgspec.Struct, kw_only=True):
    """An account and its settings."""

    id: UUID
    name: str
    created_at: Timestamp
    time_zone: Annotated[
        str, Meta(description="IANA name; the zone of days and hours in reports, today")
    ]
    time_zone_change: Annotated[
        TimeZoneChangeRecord | None, Meta(description="null: none is ahead")
    ]
    currency: Annotated[
        str | None,
        Meta(description="of its money, by ISO 4217; null: units of the account's own"),
    ]
    conversion_rules: ConversionRulesRecord
    cost_parameter: CostParameter | None
    parameters: OwnParameters
    origins: SentOrigins


class ConversionRulesChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The rules to change. Omitted rules stay."""

    require_pbk: _RequirePbk | UnsetType = UNSET
    no_negative_values: _NoNegativeValues | UnsetType = UNSET
    max_value: _SentMaxValue = UNSET
    max_per_click: _SentMaxPerClick = UNSET

    def __post_init__(self) -> None:
        if self.max_value is not UNSET:
            self.max_value = checked_max_value(self.max_value)
        if self.max_per_click is not UNSET:
            self.max_per_click = checked_max_per_click(self.max_per_click)


class ChangeAccount(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The settings to change. Omitted settings stay."""

    account_id: AccountId = field(name="accountId")
    name: Text | UnsetType = UNSET
    time_zone: (
        Annotated[str, Meta(description="IANA name", examples=["Europe/Berlin"])] | UnsetType
    ) = UNSET
    currency: (
        Annotated[
            str,
            Meta(
                description="by ISO 4217, of all its money. Another one only while no stored "
                "conversion has money",
                examples=["EUR"],
            ),
        ]
        | UnsetType
    ) = UNSET
    conversion_rules: ConversionRulesChange | UnsetType = UNSET
    cost_parameter: CostParameter | UnsetType | None = UNSET
    parameters: OwnParameters | UnsetType = UNSET
    origins: SentOrigins | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not UNSET:
            self.name = trimmed("name", self.name)
        if self.time_zone is not UNSET:
            self.time_zone = checked_zone(self.time_zone)
        if self.currency is not UNSET:
            self.currency = checked_currency("currency", self.currency)
        if isinstance(self.cost_parameter, str):
            check_parameter("cost_parameter", self.cost_parameter)
        if self.parameters is not UNSET:
            checked_names(self.parameters)
        if self.origins is not UNSET:
            self.origins = checked_origins(self.origins)


@endpoint("GET", "/api/account", "account:read")
async def show(call: AccountCall[AccountQuery, Nothing]) -> AccountRecord:
    """Show the account, its time zone, currency, and rules against forged conversions."""
    services = call.services
    account = await _account(call)
    settings = await services.conversions.account_rules.stored(call.account_id)
    return _record(account, settings, await services.time_zones.find(call.account_id))


@endpoint(
    "PATCH",
    "/api/account",
    "account:write",
    example={"conversion_rules": {"require_pbk": True, "max_per_click": 1}},
)
async def change(call: AccountCall[Nothing, ChangeAccount]) -> AccountRecord:
    """Change the account's name, time zone, currency and rules. Omitted fields stay."""
    services = call.services
    account = await _account(call)
    _check_cost_parameter(account, call.body)
    settings = services.conversions.account_rules
    before = await settings.stored(call.account_id)
    changes: dict[str, FieldChange] = {}
    sent = call.body.conversion_rules
    changed = {} if sent is UNSET else sent_fields(sent)
    if call.body.currency is not UNSET:
        await settings.set_currency(call.account_id, call.body.currency)
    if changed:
        await settings.change(call.account_id, changed)
    after = await settings.stored(call.account_id)
    changes |= differences(before.rules, after.rules)
    if before.currency != after.currency:
        changes["currency"] = FieldChange(before=before.currency, after=after.currency)
    if call.body.name not in (UNSET, account.name):
        changes["name"] = FieldChange(before=account.name, after=call.body.name)
        account = await services.accounts.rename(account.id, str(call.body.name))
    if (chosen := call.body.cost_parameter) not in (UNSET, account.cost_parameter):
        old, account = account, await services.accounts.set_cost_parameter(account.id, chosen)
        changes |= differences(old, account)
    if not isinstance(call.body.parameters, UnsetType):
        account = await _name_parameters(call, call.body.parameters, account, changes)
    if call.body.origins is not UNSET and (new := tuple(call.body.origins)) != account.origins:
        await services.origins.change(account.id, new)
        old, account = account, replace(account, origins=new)
        changes |= differences(old, account)
    calendar = await _change_zone(call, changes)
    if changes:
        target = AuditObject(kind="account", id=account.id, name=account.name)
        await call.audit("account.changed", target, changes)
    return _record(account, after, calendar)


def _check_cost_parameter(account: Account, body: ChangeAccount) -> None:
    """Raise BadRequest if the cost's parameter would be one of the sender's own."""
    names = names_of(account.parameters) if body.parameters is UNSET else body.parameters
    cost = account.cost_parameter if body.cost_parameter is UNSET else body.cost_parameter
    if cost in names:
        raise BadRequest(f"parameters: {cost} is the cost_parameter")


async def _name_parameters(
    call: AccountCall[Nothing, ChangeAccount],
    names: Sequence[str],
    before: Account,
    changes: dict[str, FieldChange],
) -> Account:
    """Name the sender's own parameters, if the names differ; return the account."""
    old = names_of(before.parameters)
    if {*old} == {*names}:
        return before
    account = await call.services.accounts.set_parameters(before.id, names)
    new = names_of(account.parameters)
    changes["parameters"] = FieldChange(before=audit_value(old), after=audit_value(new))
    return account


async def _change_zone(
    call: AccountCall[Nothing, ChangeAccount], changes: dict[str, FieldChange]
) -> Calendar:
    """Request the time zone in the body, if it differs; return the account's calendar."""
    time_zones, wanted = call.services.time_zones, call.body.time_zone
    if wanted is UNSET:
        return await time_zones.find(call.account_id)
    before, calendar = await time_zones.request(call.account_id, wanted)
    if before != wanted:
        changes["time_zone"] = FieldChange(before=before, after=wanted)
    return calendar


async def _account(call: AccountCall[Any, Any]) -> Account:
    """Return the account of the principal. Raises NotFound if it no longer exists."""
    account = await call.services.accounts.find(call.account_id)
    if account is None:
        raise NotFound("account: not found")
    return account


def _record(account: Account, settings: CachedRules, calendar: Calendar) -> AccountRecord:
    at = now()
    change = calendar.change_after(at)
    return record_of(
        AccountRecord,
        account,
        time_zone=calendar.zone_at(at),
        time_zone_change=change
        and TimeZoneChangeRecord(
            time_zone=change.zone, first_day=change.first.isoformat(), hours=change.hours
        ),
        currency=settings.currency,
        conversion_rules=record_of(ConversionRulesRecord, settings.rules),
        parameters=names_of(account.parameters),
    )
