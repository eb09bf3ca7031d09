"""What a correction states about a stored conversion, and the conversion as it will be. Pure.

A correction is in the journal for a moment before the drain stores it. Until then `correcting` of
the conversion's document has it, so that a second one sees what the first has changed.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, cast
from uuid import UUID

import orjson
from bson import Decimal128

from tracker.clock import now, now_ms
from tracker.conversions.conversion import Correction
from tracker.conversions.corrections.changes import MAX_CHANGES, Change
from tracker.conversions.corrections.status import Status
from tracker.conversions.document import COUNTED, ConversionDocument
from tracker.conversions.postbacks.parameters import checked_value
from tracker.conversions.restating import change_of, changes_of, restated
from tracker.errors import BadRequest, LimitReached
from tracker.ids import new_id

CORRECTING: Final = "correcting"
MAX_CORRECTING: Final = 20

_UNSTORED: Final = timedelta(hours=1)
"""After this time a correction that is not stored is taken for lost."""

_REFUNDABLE: Final = (Status.APPROVED, Status.REFUNDED)


def waiting(document: Mapping[str, Any]) -> Sequence[Change]:
    """Return the corrections that are on their way; of MAX_CORRECTING or more the newest."""
    known = {one["id"] for one in changes_of(cast(ConversionDocument, document))}
    since = now() - _UNSTORED
    kept: Sequence[Change] = document.get(CORRECTING, ())
    return [one for one in kept if one["id"] not in known and one["at"] > since]


def as_corrected(document: Mapping[str, Any], home: str | None) -> ConversionDocument:
    """Return the conversion as it is once the corrections on their way are stored.

    `home` is the currency of its account.
    """
    return restated(cast(ConversionDocument, document), waiting(document), home)


def correction_of(
    before: ConversionDocument, fields: Mapping[str, Any], account_id: UUID, **others: Any
) -> Correction:
    """Return the record that states the sent `fields`, later than every change that is known.

    Raises BadRequest if one breaks a rule, alone or beside what the conversion has.
    """
    if before["status"] not in COUNTED:
        raise BadRequest(f"conversion: is {before['status']} and does not count")
    stated = {name: _checked(name, value) for name, value in fields.items()}
    _check_refund({**before, **stated})
    if len(before.get("changes", ())) >= MAX_CHANGES:
        raise LimitReached(f"conversion: has {MAX_CHANGES} changes, the most that are kept")
    latest = max(one["at"] for one in changes_of(before))
    return Correction(
        id=new_id().bytes,
        at=max(now_ms(), round(latest.timestamp() * 1000) + 1),
        account_id=account_id.bytes,
        event_id=int(before["_id"]),
        stated=orjson.dumps(stated, default=str).decode(),
        **others,
    )


def after(
    before: ConversionDocument, correction: Correction, home: str | None
) -> ConversionDocument:
    """Return the conversion once the correction is stored; `before` if it makes no difference."""
    made = restated(before, [change_of(correction)], home)
    return made if len(changes_of(made)) > len(changes_of(before)) else before


def _checked(name: str, value: Any) -> Any:
    if value is None or name == "reported":
        return value
    amount = checked_value(name, value)
    if name == "refunded_value" and amount < 0:
        raise BadRequest("refunded_value: must be 0 or more")
    return Decimal128(amount)


def _check_refund(made: Mapping[str, Any]) -> None:
    refunded, value = made.get("refunded_value"), made["value"]
    is_refunded = made.get("reported") == Status.REFUNDED
    if is_refunded and value is not None and value.to_decimal() < 0:
        raise BadRequest("value: of a refunded conversion at least 0")
    if refunded is None:
        return
    if made.get("reported", Status.APPROVED) not in _REFUNDABLE:
        raise BadRequest("refunded_value: only of an approved or refunded conversion; send null")
    if value is None or refunded.to_decimal() > value.to_decimal():
        raise BadRequest("refunded_value: at most the value of the conversion")
