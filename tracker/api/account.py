"""`/api/account`: the account of the key, and its rules against forged conversions."""

from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.access.accounts import Account
from tracker.access.audit import Change, Target, differences
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.schema import AccountId, Text, Timestamp, sent_fields, trimmed
from tracker.clock import iso
from tracker.conversions.rules import (
    MAX_PER_CLICK,
    MAX_VALUE,
    ConversionRules,
    checked_max_per_click,
    checked_max_value,
)
from tracker.errors import NotFound

_RequirePbk = Annotated[
    bool, Meta(description="conversions need a postback key: a click id alone is refused")
]
_NoNegativeValues = Annotated[bool, Meta(description="conversions of a value below 0 are refused")]

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


class ConversionRulesRecord(msgspec.Struct, kw_only=True):
    """The current rules of an account against forged conversions."""

    require_pbk: _RequirePbk
    no_negative_values: _NoNegativeValues
    max_value: Annotated[Decimal | None, Meta(description="null: any")]
    max_per_click: Annotated[int | None, Meta(description="null: any number")]


class AccountRecord(msgspec.Struct, kw_only=True):
    """An account and its settings."""

    id: UUID
    name: str
    created_at: Timestamp
    conversion_rules: ConversionRulesRecord


class AccountQuery(msgspec.Struct, kw_only=True):
    """The account to show."""

    account_id: AccountId = field(name="accountId")


class ChangeConversionRules(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The rules to change; the others stay as they are."""

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
    """The settings of an account to change; the others stay as they are."""

    account_id: AccountId = field(name="accountId")
    name: Text | UnsetType = UNSET
    conversion_rules: ChangeConversionRules | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not UNSET:
            self.name = trimmed("name", self.name)


async def show(call: Call[AccountQuery, Nothing]) -> AccountRecord:
    """Return the account of the key. Raises NotFound if it no longer exists."""
    return _record(await _account(call), await call.services.account_rules.find(call.account_id))


async def change(call: Call[Nothing, ChangeAccount]) -> AccountRecord:
    """Change the name and the rules that were sent.

    Raises NotFound if the account no longer exists.
    """
    account, rules = await _account(call), await call.services.account_rules.find(call.account_id)
    changes: dict[str, Change] = {}
    sent = call.body.conversion_rules
    changed = {} if sent is UNSET else sent_fields(sent)
    if changed:
        after = await call.services.account_rules.change(call.account_id, changed)
        changes |= differences(rules, after)
        rules = after
    if call.body.name not in (UNSET, account.name):
        changes["name"] = Change(before=account.name, after=call.body.name)
        account = await call.services.accounts.rename(account.id, str(call.body.name))
    if changes:
        await call.audit("account.changed", _target(account), changes)
    return _record(account, rules)


async def _account(call: Call[Any, Any]) -> Account:
    """Return the account of the principal. Raises NotFound if it no longer exists."""
    account = await call.services.accounts.find(call.account_id)
    if account is None:
        raise NotFound("account: not found")
    return account


def _target(account: Account) -> Target:
    return Target(kind="account", id=account.id, name=account.name)


def _record(account: Account, rules: ConversionRules) -> AccountRecord:
    return AccountRecord(
        id=account.id,
        name=account.name,
        created_at=iso(account.created_at),
        conversion_rules=ConversionRulesRecord(**msgspec.structs.asdict(rules)),
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/account",
        "account:read",
        show,
        "Show the account and its rules against forged conversions",
        AccountRecord,
        query=AccountQuery,
    ),
    Endpoint(
        "PATCH",
        "/api/account",
        "account:write",
        change,
        "Change the name, and the rules against forged conversions; what is left out stays",
        AccountRecord,
        body=ChangeAccount,
        example={"conversion_rules": {"require_pbk": True, "max_per_click": 1}},
    ),
)
