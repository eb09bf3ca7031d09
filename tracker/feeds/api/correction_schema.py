"""Corrections of conversions in requests, and the changes of a conversion in answers."""

from decimal import Decimal
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.conversions.corrections.status import Status
from tracker.conversions.postbacks.parameters import MAX_TRANSACTION_ID_CHARACTERS, MAX_VALUE
from tracker.ids import MAX_EVENT_ID
from tracker.reports.dimensions import EVENT, FILTERS
from tracker.web.schema import AccountId, FilterText, Timestamp, trimmed

MAX_NOTE_CHARACTERS: Final = 500
MAX_BULK_CORRECTIONS: Final = 500
MAX_CORRECTIONS_BYTES: Final = 2 * 1024 * 1024

_STATED: Final = {
    "status": "reported",
    **{one: one for one in ("value", "payout", "refunded_value")},
}
"""The fields that a correction may state, with their names in documents."""

CorrectionReason = Literal[
    "customer_refund",
    "chargeback",
    "order_cancelled",
    "fraud",
    "duplicate",
    "test",
    "wrong_value",
    "network_adjustment",
    "late_approval",
    "mapped",
    "other",
]

# Any, because msgspec would accept a number in a string too.
NewAmount = Annotated[
    Any,
    Meta(
        description="the whole new amount, not a difference; null: none. The payout does not "
        "follow the value; refunded_value is 0 or more, and at most the value",
        extra_json_schema={
            "type": ["number", "null"],
            "minimum": -MAX_VALUE,
            "maximum": MAX_VALUE,
        },
    ),
]


class CorrectConversion(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """New values of some fields of a conversion, and why; what is not sent stays as it is."""

    status: Status | UnsetType = UNSET
    value: NewAmount = UNSET
    payout: NewAmount = UNSET
    refunded_value: NewAmount = UNSET
    reason: CorrectionReason
    note: Annotated[str | None, Meta(extra_json_schema={"maxLength": MAX_NOTE_CHARACTERS})] = None

    def __post_init__(self) -> None:
        if self.note is not None:
            self.note = trimmed("note", self.note, MAX_NOTE_CHARACTERS) if self.note else None
        if not self.stated():
            raise ValueError(f"{' or '.join(_STATED)}: at least one is required")

    def stated(self) -> dict[str, Any]:
        """Return the values that were sent, by their names in documents."""
        sent = {name: getattr(self, one) for one, name in _STATED.items()}
        return {name: value for name, value in sent.items() if value is not UNSET}


class CorrectTransaction(CorrectConversion, kw_only=True):
    """The correction of the account's conversion with a transaction id."""

    account_id: AccountId = field(name="accountId")


class CorrectionRow(CorrectConversion, kw_only=True):
    """The correction of one of many conversions, named by event_id or by transaction_id."""

    event_id: Annotated[int, Meta(ge=1, le=MAX_EVENT_ID)] | UnsetType = UNSET
    transaction_id: (
        Annotated[str, Meta(min_length=1, max_length=MAX_TRANSACTION_ID_CHARACTERS)] | UnsetType
    ) = UNSET
    event: FilterText | UnsetType = UNSET

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.event_id is UNSET) == (self.transaction_id is UNSET):
            raise ValueError("event_id: give this or transaction_id")


class CorrectConversions(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The corrections to make; each conversion once."""

    account_id: AccountId = field(name="accountId")
    rows: Annotated[list[CorrectionRow], Meta(min_length=1, max_length=MAX_BULK_CORRECTIONS)]


class NamedTransaction(msgspec.Struct, kw_only=True):
    """Which of several conversions with the transaction id."""

    event: Annotated[
        FilterText | UnsetType,
        Meta(description=f"{FILTERS[EVENT].about}. Required where several have conversions"),
    ] = UNSET


class ChangeActor(msgspec.Struct, kw_only=True):
    """Who changed a conversion."""

    kind: Literal["postback", "upload", "person", "key"]
    id: UUID | None
    name: Annotated[str | None, Meta(description="of a person or a key, as it is called now")]


class ChangedFields(msgspec.Struct, kw_only=True):
    """Values of the fields of a conversion that a change states."""

    status: Status | UnsetType = UNSET
    value: Decimal | UnsetType | None = UNSET
    payout: Decimal | UnsetType | None = UNSET
    currency: str | UnsetType | None = UNSET
    refunded_value: Decimal | UnsetType | None = UNSET


class ConversionChange(msgspec.Struct, kw_only=True):
    """A report or a correction of a conversion."""

    at: Annotated[Timestamp, Meta(description="the moment that it speaks of; a newer one counts")]
    recorded_at: Timestamp
    actor: ChangeActor
    reason: CorrectionReason | None
    note: str | None
    stated: ChangedFields
    before: Annotated[
        ChangedFields, Meta(description="the same fields before; empty for the original")
    ]
