"""The document of a conversion event in MongoDB, as the drain stores and changes it. Pure."""

from collections.abc import Mapping
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
from tracker.conversions.event import Event
from tracker.conversions.rules import Rule

CACHED_AMOUNTS: Final = 10_000
"""Amounts of money that stay converted in memory."""

_FIXED_FIELDS: Final = ("at", "event_config_id", "click_id", "value", "metadata")

Transaction = tuple[bytes | None, str]
"""A transaction id in its scope; unique."""

ClickAndConfig = tuple[bytes, bytes | None]
"""A click and an event configuration: an account may limit the conversions of each pair."""


class EventIdTaken(Exception):
    """The error of two events with one id, which a database restored from a backup can cause."""


class Status(StrEnum):
    """The state of a stored event."""

    CLAIMED = "claimed"
    """It was stored early, while Redis was unavailable, so that its transaction id is taken. It
    counts when its journal entry arrives."""
    PENDING = "pending"
    """It names a click that has not arrived."""
    ATTRIBUTED = "attributed"
    """It carries the dimensions of its click."""
    NO_CLICK = "no_click"
    """It names no click."""
    FOREIGN_CLICK = "foreign_click"
    """Its click belongs to another account than its event configuration."""
    DUPLICATE = "duplicate"
    """Its click has revealed its account, where another event has its transaction id."""
    REFUSED = "refused"
    """It breaks the rule of its account that `refused` names, which was found after its answer."""
    TEST = "test"
    """Its account sent it as a test, or its click is a test. If it names a click, it carries the
    dimensions of that."""


COUNTED: Final = (Status.PENDING, Status.NO_CLICK, Status.FOREIGN_CLICK, Status.ATTRIBUTED)
"""The states in which an event counts, if its account is known."""


class _Optional(VisitorFields, SourceFields, total=False):
    """Fields that only some events have.

    - From `link_id` to `click_at`, and dimensions of visitor and source: values of the click that
      the event was attributed to.
    - `refused` is the rule that a refused event breaks.
    - `tell_at` is the state of its notification: see `conversions/notification_state`.
    - `expires_at` is when MongoDB deletes an event without an account.
    """

    transaction_id: str
    link_id: bytes
    domain_name: str
    bot: str | None
    click_at: datetime
    refused: Rule
    tell_at: datetime | None
    expires_at: datetime


class EventDocument(_Optional):
    """A stored event. `_id` is the event id; all other ids are the 16 bytes of a UUID."""

    _id: int
    at: datetime
    account_id: bytes | None
    event_config_id: bytes | None
    click_id: bytes | None
    value: Decimal128 | None
    payout: Decimal128 | None
    metadata: str | None
    status: Status
    transaction_scope: bytes | None


class EventFields(_Optional, total=False):
    """Fields to set on a stored event; the others stay."""

    account_id: bytes | None
    payout: Decimal128 | None
    status: Status
    transaction_scope: bytes | None


def changed(event: EventDocument, fields: EventFields) -> EventDocument:
    return cast(EventDocument, {**event, **fields})


def fields_but_id(event: EventDocument) -> EventFields:
    """Return the fields that make a stored event the same as `event`, which has its id."""
    fields: Mapping[str, Any] = event
    return cast(EventFields, {name: fields[name] for name in fields if name != "_id"})


DIMENSIONS: Final = ("link_id", "domain_name", *visitor_dimensions.NAMES, "bot")
"""The fields that an event takes over from its click, besides those of its source."""

_TAKEN: Final = (*DIMENSIONS, *sources.FIELDS)

CLICK_FIELDS: Final = ("account_id", "at", "test", *_TAKEN)
"""The fields of a click that are read here."""


def attribute(event: EventDocument, click: ClickDocument) -> EventFields:
    """Return the fields to set on an `event` whose `click` has arrived."""
    if event["account_id"] not in (None, click["account_id"]):
        return {"status": Status.FOREIGN_CLICK}
    # The names come from the tables of dimensions. An older click lacks the newest.
    taken = {name: click[name] for name in _TAKEN if name in click}  # type: ignore[literal-required]
    fields = cast(EventFields, taken)
    is_test = event["status"] == Status.TEST or "test" in click
    fields["status"] = Status.TEST if is_test else Status.ATTRIBUTED
    fields["account_id"] = click["account_id"]
    fields["click_at"] = click["at"]
    if event["transaction_scope"] == event["click_id"] is not None:
        fields["transaction_scope"] = click["account_id"]
    return fields


def check_same(stored: EventDocument, arrived: EventDocument) -> None:
    """Check that the stored event is the one that arrived again. Raises EventIdTaken if not."""
    if any(stored[name] != arrived[name] for name in _FIXED_FIELDS):
        raise EventIdTaken(f"event id {arrived['_id']} belongs to another event")


def click_and_config(event: EventDocument) -> ClickAndConfig | None:
    """Return the click and the event configuration that an event names; None without a click."""
    if event["click_id"] is None:
        return None
    return event["click_id"], event["event_config_id"]


def transaction_of(event: EventDocument) -> Transaction | None:
    """Return the transaction id of a stored event in its scope; None if it has none."""
    if "transaction_id" not in event:
        return None
    return event["transaction_scope"], event["transaction_id"]


def document(event: Event) -> EventDocument:
    """Return the event as it is stored while its click is not known."""
    made: EventDocument = {
        "_id": event.id,
        "at": moment(event.at),
        "account_id": event.account_id,
        "event_config_id": event.event_config_id,
        "click_id": event.click_id,
        "value": _money(event.value),
        "payout": _money(event.payout),
        # As text: a visitor's keys never become field names.
        "metadata": event.metadata,
        "status": _first_status(event),
        "transaction_scope": event.transaction_scope,
    }
    if event.transaction_id is not None:
        made["transaction_id"] = event.transaction_id
    return made


def _first_status(event: Event) -> Status:
    if event.test:
        return Status.TEST
    return Status.NO_CLICK if event.click_id is None else Status.PENDING


@lru_cache(maxsize=CACHED_AMOUNTS)
def _money(text: str | None) -> Decimal128 | None:
    return None if text is None else Decimal128(Decimal(text))
