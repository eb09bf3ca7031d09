"""The document of a conversion in MongoDB, as the drain stores and changes it. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypedDict, cast

from bson import Decimal128

from tracker import visitor_dimensions
from tracker.clicks import sources
from tracker.clicks.document import (
    DECIDED,
    OWN_PARAMETERS,
    PARENT_LINK,
    ClickDocument,
    DecidedFields,
    OwnParameterFields,
    ParentFields,
    SourceFields,
    VisitorFields,
)
from tracker.conversions.corrections.changes import Change
from tracker.conversions.corrections.status import Status
from tracker.conversions.rules import Rule

REPEATED: Final = "sent again; counted once"
"""The warning of a conversion whose transaction id was repeated."""

_FIXED_FIELDS: Final = ("event_config_id", "metadata")
_RESTATED_FIELDS: Final = ("at", "click_id", "value")
"""A stored conversion with an `_id` has these fields for ever, the latter until it is restated."""

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
    LATE = "late"
    """It came too long after its click to be attributed to it."""
    TOO_FAST = "too_fast"
    """It came too soon after its click to be attributed to it."""


COUNTED: Final = (
    Attribution.PENDING,
    Attribution.NO_CLICK,
    Attribution.FOREIGN_CLICK,
    Attribution.ATTRIBUTED,
    Attribution.LATE,
    Attribution.TOO_FAST,
)
"""The states in which a conversion counts, if its account is known."""


class StoredReport(TypedDict, total=False):
    """What later reports and the click need to know of the record of a conversion.

    - `restates`: the conversion is made of reports that restate only, so an earlier one may follow.
    - `fixed_payout`, `min_ms`, `max_ms`, `actor`: as in the record; without defaults.
    - `silent`: webhooks are not told of the conversion.
    - `reported` and `currency`: as they were sent, even if the conversion's fields lack them.
    """

    restates: bool
    fixed_payout: bool
    silent: bool
    min_ms: int
    max_ms: int
    actor: str
    reported: Status
    currency: str


class _OptionalFields(
    VisitorFields, SourceFields, OwnParameterFields, DecidedFields, ParentFields, total=False
):
    """Fields that only some conversions have.

    - From `link_id` to `click_at`, and the dimensions: values of the attributed click.
    - `refused`: the rule that a refused conversion breaks.
    - `tell_at`: when webhooks are notified of a pending one, if its click is late. None: they were.
      Missing: its account is unknown, or it is settled.
    - `expires_at`: when MongoDB deletes a conversion without an account.
    - `warnings`: of its answer, and of repeats of its transaction id.
    - `repeats`, `last_repeat_at`: how often that was, and when last (`conversions/append`).
    - `reported`: the status, if it is not approved. `unknown_word`: a word that is not mapped.
    - `currency`, if it is not the account's. `refunded_value`: of an approved one, a part.
    - `received_at`: if that is not `at`, when it occurred.
    - `consent` of the visitor, if the conversion told it.
    - `changes` and `revision`: what restated it, and how often (`conversions/restating`).
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
    reported: Status
    unknown_word: str
    currency: str
    refunded_value: Decimal128
    received_at: datetime
    report: StoredReport
    changes: Sequence[Change]
    revision: int
    consent: str


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

    at: datetime
    click_id: bytes | None
    value: Decimal128 | None
    account_id: bytes | None
    payout: Decimal128 | None
    status: Attribution
    transaction_scope: bytes | None


def changed(conversion: ConversionDocument, fields: ConversionFields) -> ConversionDocument:
    return cast(ConversionDocument, {**conversion, **fields})


DIMENSIONS: Final = ("link_id", "domain_name", *visitor_dimensions.NAMES, "bot")
"""A conversion copies these fields from its click, besides the source, own parameters, rule, and
link of the parent."""

_COPIED: Final = (*DIMENSIONS, *sources.FIELDS, *OWN_PARAMETERS, *DECIDED, PARENT_LINK)

_OF_CLICK: Final = frozenset((*_COPIED, "click_at"))

OUT_OF_TIME: Final = (Attribution.LATE, Attribution.TOO_FAST)

CLICK_FIELDS: Final = ("account_id", "at", "test", "parent_id", *_COPIED)


def attribute(conversion: ConversionDocument, click: ClickDocument) -> ConversionFields:
    """Return the fields to set on a conversion whose click is stored."""
    if conversion["account_id"] not in (None, click["account_id"]):
        return {"status": Attribution.FOREIGN_CLICK}
    is_test = conversion["status"] == Attribution.TEST or "test" in click
    status = Attribution.TEST if is_test else Attribution.ATTRIBUTED
    if "report" in conversion and not is_test:
        status = _by_time(conversion["report"], conversion["at"] - click["at"])
    # The names come from the tables of dimensions. An older click lacks the newest.
    of_click: Mapping[str, Any] = {} if status in OUT_OF_TIME else click
    fields = cast(ConversionFields, {name: of_click[name] for name in _COPIED if name in of_click})
    fields["status"] = status
    fields["account_id"] = click["account_id"]
    fields["click_at"] = click["at"]
    if conversion["transaction_scope"] == conversion["click_id"] is not None:
        fields["transaction_scope"] = click["account_id"]
    return fields


def _by_time(report: StoredReport, since_click: timedelta) -> Attribution:
    milliseconds = since_click / timedelta(milliseconds=1)
    if milliseconds > report.get("max_ms", milliseconds):
        return Attribution.LATE
    if milliseconds < report.get("min_ms", milliseconds):
        return Attribution.TOO_FAST
    return Attribution.ATTRIBUTED


def window_of(conversion: ConversionDocument) -> StoredReport:
    """Return the allowed time since its click. A report that names no click tells of none."""
    report = conversion.get("report", {})
    return cast(StoredReport, {one: report[one] for one in ("min_ms", "max_ms") if one in report})


def without_click(conversion: ConversionDocument) -> ConversionDocument:
    """Return the conversion without the values of its click."""
    return cast(
        ConversionDocument,
        {name: field for name, field in conversion.items() if name not in _OF_CLICK},
    )


def check_same(stored: ConversionDocument, arrived: ConversionDocument) -> None:
    """Raises EventIdTaken if the arrived conversion is not the stored one."""
    names = _FIXED_FIELDS if "revision" in stored else (*_FIXED_FIELDS, *_RESTATED_FIELDS)
    if any(stored[name] != arrived[name] for name in names):  # type: ignore[literal-required]
        raise EventIdTaken(f"event id {arrived['_id']} belongs to another event")


def click_and_config(conversion: ConversionDocument) -> ClickAndConfig | None:
    if conversion["click_id"] is None:
        return None
    return conversion["click_id"], conversion["event_config_id"]


def transaction_id_of(conversion: ConversionDocument) -> TransactionId | None:
    if "transaction_id" not in conversion:
        return None
    return conversion["transaction_scope"], conversion["transaction_id"]


def is_notified(conversion: ConversionDocument) -> bool:
    """Return whether webhooks were notified of a pending conversion, without its click."""
    return conversion.get(_NOTIFICATION, _NOTIFICATION) is None


def unchanged(conversion: ConversionDocument) -> dict[str, Any]:
    """Return a filter for the stored conversion, while nothing that counts has changed.

    Null matches a missing field too, but no notification changes from one to the other.
    """
    names: Final = (_NOTIFICATION, "revision", PARENT_LINK)
    return {name: conversion.get(name) for name in names}
