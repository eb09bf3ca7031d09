"""The document of a conversion event in MongoDB, as the drain stores and changes it. Pure."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, cast

from bson import Decimal128

from tracker import visitor_dimensions
from tracker.clicks import sources
from tracker.clicks.document import ClickDocument, SourceFields
from tracker.conversions.rules import Rule


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


class _Optional(SourceFields, total=False):
    """Fields that only some events have.

    - From `link_id` to `click_at`, and source dimensions: values of the click that the event was
      attributed to.
    - `refused` is the rule that a refused event breaks.
    - `tell_at` is the state of its notification: see `conversions/notification_state`.
    - `expires_at` is when MongoDB deletes an event without an account.
    """

    transaction_id: str
    link_id: bytes
    domain_name: str
    country: str
    device: str
    browser: str
    os: str
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
    """Return the event with `fields` set."""
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
