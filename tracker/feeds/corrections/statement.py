"""What a correction states about a stored conversion, and the conversion as it will be. Pure.

A correction is in the journal for a moment before the drain stores it. Until then `correcting` of
the conversion's document has it, so that a second one sees what the first has changed.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, cast
from uuid import UUID

import orjson
from bson import Decimal128

from tracker.clock import moment, now, now_ms
from tracker.conversions.conversion import POSTBACK, Correction
from tracker.conversions.corrections.changes import (
    MAX_CHANGES,
    RESTATED,
    Change,
    Restated,
    in_order,
    result_of,
)
from tracker.conversions.corrections.status import Status
from tracker.conversions.document import COUNTED
from tracker.conversions.postbacks.parameters import checked_value
from tracker.errors import BadRequest
from tracker.ids import new_id

CORRECTING: Final = "correcting"
MAX_CORRECTING: Final = 20

_UNSTORED: Final = timedelta(hours=1)
"""After this time a correction that is not stored is taken for lost."""

_REFUNDABLE: Final = (Status.APPROVED, Status.REFUNDED)

MongoDocument = Mapping[str, Any]


class CorrectionReason(StrEnum):
    """Why a conversion is corrected."""

    CUSTOMER_REFUND = "customer_refund"
    CHARGEBACK = "chargeback"
    ORDER_CANCELLED = "order_cancelled"
    FRAUD = "fraud"
    DUPLICATE = "duplicate"
    TEST = "test"
    WRONG_VALUE = "wrong_value"
    NETWORK_ADJUSTMENT = "network_adjustment"
    LATE_APPROVAL = "late_approval"
    OTHER = "other"


def changes_of(document: MongoDocument) -> list[Change]:
    """Return the stored changes, the original first, and the corrections on their way."""
    stored: Sequence[Change] = document.get("changes") or [_original(document)]
    known = {one["id"] for one in stored}
    waiting: Sequence[Change] = document.get(CORRECTING, ())
    since = now() - _UNSTORED
    return [*stored, *(one for one in waiting if one["id"] not in known and one["at"] > since)]


def corrected(document: MongoDocument, changes: Sequence[Change]) -> dict[str, Any]:
    """Return the document as it is with these changes."""
    return {**document, **result_of(changes), "changes": in_order(changes)}


def statement(document: MongoDocument, fields: Mapping[str, Any]) -> Restated:
    """Return what the sent `fields` state; nothing if they are what the conversion has.

    Raises BadRequest if one breaks a rule, alone or beside what the conversion has.
    """
    if document["status"] not in COUNTED:
        raise BadRequest(f"conversion: is {document['status']} and does not count")
    stated = cast(Restated, {name: _checked(name, value) for name, value in fields.items()})
    changes = changes_of(document)
    before = result_of(changes)
    _check_refund({**before, **stated})
    if all(before.get(name, _ABSENT.get(name)) == value for name, value in stated.items()):
        return {}
    if len(changes) >= MAX_CHANGES:
        raise BadRequest(f"conversion: has {MAX_CHANGES} changes, the most that are kept")
    return stated


_ABSENT: Final[Mapping[str, Any]] = {"reported": Status.APPROVED}


def correction_of(
    document: MongoDocument,
    stated: Restated,
    account_id: UUID,
    actor: str,
    reason: CorrectionReason,
    note: str | None,
) -> Correction:
    """Return the record of a correction, which is later than every change that is known."""
    latest = max(one["at"] for one in changes_of(document))
    money = {
        name: str(value) if isinstance(value, Decimal128) else value
        for name, value in stated.items()
    }
    return Correction(
        id=new_id().bytes,
        at=max(now_ms(), round(latest.timestamp() * 1000) + 1),
        account_id=account_id.bytes,
        event_id=int(document["_id"]),
        stated=orjson.dumps(money).decode(),
        actor=actor,
        reason=reason,
        note=note,
    )


def change_of(correction: Correction) -> Change:
    """Return the change that the conversion has once the correction is stored."""
    stated = {
        name: value if value is None or name in ("reported", "currency") else Decimal128(value)
        for name, value in orjson.loads(correction.stated).items()
    }
    at = moment(correction.at)
    change = {
        "id": str(UUID(bytes=correction.id)),
        "at": at,
        "recorded_at": at,
        "actor": correction.actor,
        "reason": correction.reason,
        **stated,
    }
    return cast(Change, change if correction.note is None else {**change, "note": correction.note})


def _original(document: MongoDocument) -> Change:
    stated = {name: document[name] for name in RESTATED if name in document}
    change = {
        "id": str(document["_id"]),
        "at": document["at"],
        "recorded_at": document.get("received_at", document["at"]),
        "actor": POSTBACK,
    }
    return cast(Change, {**change, **stated})


def _checked(name: str, value: Any) -> Any:
    if value is None or name == "reported":
        return value
    amount = checked_value(name, value)
    if name == "refunded_value" and amount < 0:
        raise BadRequest("refunded_value: must be 0 or more")
    return Decimal128(amount)


def _check_refund(after: Restated) -> None:
    refunded = after.get("refunded_value")
    if refunded is None:
        return
    if after.get("reported", Status.APPROVED) not in _REFUNDABLE:
        raise BadRequest("refunded_value: only of an approved or refunded conversion; send null")
    value = after.get("value")
    if value is None or refunded.to_decimal() > value.to_decimal():
        raise BadRequest("refunded_value: at most the value of the conversion")
