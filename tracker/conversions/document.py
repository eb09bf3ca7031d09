"""The document of a conversion in MongoDB, as the drain stores and changes it. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, cast

from bson import Decimal128

from tracker import visitor_dimensions
from tracker.clicks import sources
from tracker.clicks.document import ClickDocument, SourceFields, VisitorFields
from tracker.clock import moment
from tracker.conversions.conversion import Conversion
from tracker.conversions.rules import Rule

CACHED_AMOUNTS: Final = 10_000

REPEATED: Final = "transaction_id: sent again; counted once"
"""The warning of a conversion whose transaction id was repeated."""

_FIXED_FIELDS: Final = ("at", "event_config_id", "click_id", "value", "metadata")

TransactionId = tuple[bytes | None, str]
"""(scope, transaction id), which is unique."""

_NOTIFICATION: Final = "tell_at"
"""The field of the notification about a pending conversion."""

ClickAndConfig = tuple[bytes, bytes | None]
"""An account may limit the conversions of a click and event configuration."""


class EventIdTaken(Exception):
    """Two conversions have one id, which a restored backup can cause."""


class Attribution(StrEnum):
    """The state of a stored conversion."""

    CLAIMED = "claimed"
    """Stored early, while Redis was unavailable. It counts when its journal entry arrives."""
    PENDING = "pending"
    """It names a click that has not arrived."""
    ATTRIBUTED = "attributed"
    """It carries the dimensions of its click."""
    NO_CLICK = "no_click"
    FOREIGN_CLICK = "foreign_click"
    """Its click belongs to another account than its event configuration."""
    DUPLICATE = "duplicate"
    """Its click has shown its account, where another conversion has its transaction id."""
    REFUSED = "refused"
    """It breaks the rule in `refused`. This was found after its answer."""
    TEST = "test"
    """Its account sent it as a test, or its click is a test. It carries the click's dimensions."""


COUNTED: Final = (
    Attribution.PENDING,
    Attribution.NO_CLICK,
    Attribution.FOREIGN_CLICK,
    Attribution.ATTRIBUTED,
)
"""The states in which a conversion counts, if its account is known."""


class _OptionalFields(VisitorFields, SourceFields, total=False):
    """Fields that only some conversions have.

    - From `link_id` to `click_at`, and the dimensions: values of the attributed click.
    - `refused`: the rule that a refused conversion breaks.
    - `tell_at`: when webhooks are notified of a pending one, if its click is late. None: they were.
      Missing: its account is unknown, or it is settled.
    - `expires_at`: when MongoDB deletes a conversion without an account.
    - `warnings`: of its answer, and of repeats of its transaction id.
    - `repeats`, `last_repeat_at`: how often that was, and when last (`conversions/append`).
    """

    transaction_id: str
    link_id: bytes
    domain_name: str
    bot: str | None
    click_at: datetime
    refused: Rule
    tell_at: datetime | None
    expires_at: datetime
    warnings: Sequence[str]
    repeats: int
    last_repeat_at: datetime


class ConversionDocument(_OptionalFields):
    """A stored conversion. `_id` is the event id; all other ids are the 16 bytes of a UUID."""

    _id: int
    at: datetime
    account_id: bytes | None
    event_config_id: bytes | None
    click_id: bytes | None
    value: Decimal128 | None
    payout: Decimal128 | None
    metadata: str | None
    status: Attribution
    transaction_scope: bytes | None


class ConversionFields(_OptionalFields, total=False):
    """Fields to set on a stored conversion."""

    account_id: bytes | None
    payout: Decimal128 | None
    status: Attribution
    transaction_scope: bytes | None


def changed(conversion: ConversionDocument, fields: ConversionFields) -> ConversionDocument:
    return cast(ConversionDocument, {**conversion, **fields})


def fields_without_id(conversion: ConversionDocument) -> ConversionFields:
    """Return all fields but the id, to replace a stored document."""
    fields: Mapping[str, Any] = conversion
    return cast(ConversionFields, {name: fields[name] for name in fields if name != "_id"})


DIMENSIONS: Final = ("link_id", "domain_name", *visitor_dimensions.NAMES, "bot")
"""A conversion copies these fields from its click, besides its source."""

_COPIED: Final = (*DIMENSIONS, *sources.FIELDS)

CLICK_FIELDS: Final = ("account_id", "at", "test", *_COPIED)


def attribute(conversion: ConversionDocument, click: ClickDocument) -> ConversionFields:
    """Return the fields to set on a conversion whose click is stored."""
    if conversion["account_id"] not in (None, click["account_id"]):
        return {"status": Attribution.FOREIGN_CLICK}
    # The names come from the tables of dimensions. An older click lacks the newest.
    copied = {name: click[name] for name in _COPIED if name in click}  # type: ignore[literal-required]
    fields = cast(ConversionFields, copied)
    is_test = conversion["status"] == Attribution.TEST or "test" in click
    fields["status"] = Attribution.TEST if is_test else Attribution.ATTRIBUTED
    fields["account_id"] = click["account_id"]
    fields["click_at"] = click["at"]
    if conversion["transaction_scope"] == conversion["click_id"] is not None:
        fields["transaction_scope"] = click["account_id"]
    return fields


def check_same(stored: ConversionDocument, arrived: ConversionDocument) -> None:
    """Raises EventIdTaken if the arrived conversion is not the stored one."""
    if any(stored[name] != arrived[name] for name in _FIXED_FIELDS):
        raise EventIdTaken(f"event id {arrived['_id']} belongs to another event")


def click_and_config(conversion: ConversionDocument) -> ClickAndConfig | None:
    if conversion["click_id"] is None:
        return None
    return conversion["click_id"], conversion["event_config_id"]


def transaction_id_of(conversion: ConversionDocument) -> TransactionId | None:
    if "transaction_id" not in conversion:
        return None
    return conversion["transaction_scope"], conversion["transaction_id"]


def document(conversion: Conversion) -> ConversionDocument:
    """Return the document of a conversion whose click is not known yet."""
    made: ConversionDocument = {
        "_id": conversion.id,
        "at": moment(conversion.at),
        "account_id": conversion.account_id,
        "event_config_id": conversion.event_config_id,
        "click_id": conversion.click_id,
        "value": _money(conversion.value),
        "payout": _money(conversion.payout),
        # As text: a visitor's keys never become field names.
        "metadata": conversion.metadata,
        "status": _first_status(conversion),
        "transaction_scope": conversion.transaction_scope,
    }
    if conversion.transaction_id is not None:
        made["transaction_id"] = conversion.transaction_id
    if conversion.warnings:
        made["warnings"] = conversion.warnings
    return made


def _first_status(conversion: Conversion) -> Attribution:
    if conversion.test:
        return Attribution.TEST
    return Attribution.NO_CLICK if conversion.click_id is None else Attribution.PENDING


@lru_cache(maxsize=CACHED_AMOUNTS)
def _money(text: str | None) -> Decimal128 | None:
    return None if text is None else Decimal128(Decimal(text))


def is_notified(conversion: ConversionDocument) -> bool:
    """Return whether webhooks were notified of a pending conversion, without its click."""
    return conversion.get(_NOTIFICATION, _NOTIFICATION) is None


def unchanged(conversion: ConversionDocument) -> dict[str, Any]:
    """Return a filter for the stored conversion, while its notification is in the same state.

    Null matches a missing field too, but no conversion changes from one to the other.
    """
    return {_NOTIFICATION: conversion.get("tell_at")}


def outdated(conversion: ConversionDocument, fields: ConversionFields) -> dict[str, str]:
    """Return the field to unset: the old state, unless `fields` set a new one."""
    is_over = _NOTIFICATION in conversion and _NOTIFICATION not in fields
    return {_NOTIFICATION: ""} if is_over else {}
