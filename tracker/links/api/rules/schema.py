"""The rules and splits of links in requests and answers."""

from collections.abc import Sequence
from typing import Annotated, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.links.macros import MACRO_NAMES
from tracker.links.rules.rule import (
    MAX_CONDITIONS,
    MAX_RULES,
    MAX_VARIANTS,
    MIN_VARIANTS,
    Rule,
    Split,
)
from tracker.web.limits import MAX_URL_CHARACTERS
from tracker.web.schema import TimeZone

MAX_NAME_CHARACTERS: Final = 100
MAX_VALUES: Final = 50
MAX_VALUE_CHARACTERS: Final = 100
MAX_KEY_CHARACTERS: Final = 64
MAX_WEIGHT: Final = 1_000_000

DestinationUrl = Annotated[
    str,
    Meta(
        description="redirect target: absolute http or https URL; may hold the macros "
        + " ".join(f"{{{name}}}" for name in MACRO_NAMES)
        + ". Other names in braces are refused",
        # No format: a destination may have braces, a URI may not.
        extra_json_schema={"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://", "maxLength": MAX_URL_CHARACTERS},
        examples=["https://example.com/offer?ref={slug}"],
    ),
]
_Id = Annotated[UUID, Meta(description="made by the service; sent again, it stays")]
_Name = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": MAX_NAME_CHARACTERS})]
_Value = Annotated[str, Meta(max_length=MAX_VALUE_CHARACTERS)]


_Values = Annotated[list[_Value], Meta(min_length=1, max_length=MAX_VALUES, examples=[["DE"]])]
_Hour = Annotated[int, Meta(ge=0, le=23)]
_Weekday = Annotated[int, Meta(ge=1, le=7)]
_Clock = Annotated[
    str,
    Meta(
        description="of each day, or of one; `to` is over then. Both have one form",
        extra_json_schema={"pattern": r"^(\d{4}-\d\d-\d\dT)?\d\d:\d\d$"},
        examples=["09:00", "2026-12-24T18:00"],
    ),
]


class QueryCondition(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A parameter of the visitor's query. Without values it only has to be there."""

    key: Annotated[str, Meta(min_length=1, max_length=MAX_KEY_CHARACTERS)]
    values: _Values | UnsetType = UNSET


class TimeCondition(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A time. All that is given must hold."""

    zone: TimeZone
    weekdays: (
        Annotated[list[_Weekday], Meta(min_length=1, max_length=7, description="1 is Monday")]
        | UnsetType
    ) = UNSET
    hours: Annotated[list[_Hour], Meta(min_length=1, max_length=24)] | UnsetType = UNSET
    from_: _Clock | UnsetType = field(default=UNSET, name="from")
    to: _Clock | UnsetType = UNSET


class RuleCondition(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A condition of exactly one kind. Any of its values is enough; with `not` none may be one.

    A part of the visitor that is not known never holds.
    """

    country: _Values | UnsetType = UNSET
    language: _Values | UnsetType = UNSET
    device: _Values | UnsetType = UNSET
    os: _Values | UnsetType = UNSET
    browser: _Values | UnsetType = UNSET
    referrer: _Values | UnsetType = UNSET
    ip: _Values | UnsetType = UNSET
    query: QueryCondition | UnsetType = UNSET
    time: TimeCondition | UnsetType = UNSET
    not_: bool | UnsetType = field(default=UNSET, name="not")


class VariantInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A variant of a split. Its share follows from the weights of the active ones."""

    id: _Id | UnsetType = UNSET
    name: _Name
    destination_url: DestinationUrl
    weight: Annotated[int, Meta(ge=0, le=MAX_WEIGHT)]
    active: Annotated[bool, Meta(description="false: nobody draws it")] = True


class VariantRecord(VariantInput, forbid_unknown_fields=True, kw_only=True):
    """A stored variant."""

    id: _Id


class SplitInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Destinations of which each visitor keeps one, by address and user agent."""

    variants: Annotated[list[VariantInput], Meta(min_length=MIN_VARIANTS, max_length=MAX_VARIANTS)]


class SplitRecord(msgspec.Struct, kw_only=True):
    """A stored split."""

    variants: list[VariantRecord]


class RuleInput(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A rule. If all its conditions hold, it leads to its destination or its split."""

    id: _Id | UnsetType = UNSET
    name: _Name
    conditions: Annotated[list[RuleCondition], Meta(min_length=1, max_length=MAX_CONDITIONS)]
    destination_url: DestinationUrl | UnsetType = UNSET
    split: SplitInput | UnsetType = UNSET


class RuleRecord(msgspec.Struct, kw_only=True):
    """A stored rule."""

    id: _Id
    name: _Name
    conditions: list[RuleCondition]
    destination_url: DestinationUrl | UnsetType = UNSET
    split: SplitRecord | UnsetType = UNSET


RulesIn = Annotated[
    list[RuleInput], Meta(max_length=MAX_RULES, description="the first that holds decides")
]


def rule_records(rules: Sequence[Rule]) -> list[RuleRecord]:
    return [
        RuleRecord(
            id=rule.id,
            name=rule.name,
            conditions=msgspec.convert(msgspec.to_builtins(rule.conditions), list[RuleCondition]),
            destination_url=rule.destination_url or UNSET,
            split=UNSET if rule.split is None else split_record(rule.split),
        )
        for rule in rules
    ]


def split_record(split: Split) -> SplitRecord:
    """Return a split without the secret of its draw."""
    return SplitRecord(
        variants=[VariantRecord(**msgspec.structs.asdict(one)) for one in split.variants]
    )
