"""Conversions whose reports repeat and change them, and what may have become of each. Pure.

For each field the newest statement counts. Of two whose times overlap either may be the newer one,
and one that was not answered may be lost.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.conversions.corrections.status import Status, click_key

WORDS: Final = {
    Status.PENDING: ("pending", "Waiting"),
    Status.APPROVED: ("approved", "PAID"),
    Status.REJECTED: ("rejected", "trash"),
    Status.REFUNDED: ("chargeback",),
}
FIELDS: Final = ("reported", "value", "refunded_value")
"""The fields that are compared, by their names in documents."""

_REMEMBERED: Final = 60
_NEW_SHARE: Final = 0.3
_TRANSACTION_SHARE: Final = 0.5
_KEYLESS_SHARE: Final = 0.4
_LATE_SHARE: Final = 0.2
_LATE_MS: Final = 60_000

Fields = Mapping[str, Any]


class Statement(NamedTuple):
    """Fields of a conversion that were stated between two moments, in milliseconds."""

    stated: Fields
    first: int
    last: int
    is_answered: bool


class Report(NamedTuple):
    """The parameters of a postback about the conversion `key`, and what it states.

    `occurred_at` is its time; None for the time of the request.
    """

    key: str
    parameters: Fields
    stated: Fields
    occurred_at: int | None


class Reports:
    """Reports drawn at random. Late ones occurred in the minute before `began`."""

    def __init__(self, draw: Random, pbks: Sequence[str], began: int) -> None:
        self._random = draw
        self._pbks = pbks
        self._began = began
        self._known: deque[tuple[str, dict[str, Any]]] = deque(maxlen=_REMEMBERED)

    def next(self, number: int, click_id: UUID) -> Report:
        """Return the first report of a conversion of this click, or a further one of another."""
        draw = self._random
        if not self._known or draw.random() < _NEW_SHARE:
            self._known.append(self._new(number, click_id))
        key, of = draw.choice(self._known)
        status, value = draw.choice(tuple(WORDS)), draw.randrange(1_000, 99_999) / 100
        parameters = {**of, "status": draw.choice(WORDS[status]), "value": value}
        occurred_at = None
        if draw.random() < _LATE_SHARE:
            occurred_at = self._began - draw.randrange(_LATE_MS)
            parameters["occurred_at"] = occurred_at
        stated = {"reported": status, "value": Decimal(str(value))}
        return Report(key, parameters, stated, occurred_at)

    def _new(self, number: int, click_id: UUID) -> tuple[str, dict[str, Any]]:
        """All reports of a click name one configuration, as each has a conversion of its own."""
        of = {"pbk": self._pbks[click_id.int % len(self._pbks)], "click_id": str(click_id)}
        if self._random.random() > _TRANSACTION_SHARE:
            return click_key(click_id), of
        if self._random.random() < _KEYLESS_SHARE:
            del of["pbk"]
        return f"lead-{number}", {**of, "transaction_id": f"lead-{number}"}


def wrong_fields(conversion: Fields, statements: Iterable[Statement]) -> list[str]:
    """Return the fields of a stored conversion that have no value that these statements allow."""
    known = list(statements)
    shown = {name: _shown(conversion, name) for name in FIELDS}
    return [name for name in FIELDS if shown[name] not in allowed(name, known)]


def allowed(name: str, statements: Iterable[Statement]) -> set[Any]:
    """Return the values that a field of a conversion may have after these statements."""
    stating = [one for one in statements if name in one.stated]
    latest = max((one.first for one in stating if one.is_answered), default=None)
    if latest is None:
        unstated = Status.APPROVED if name == "reported" else None
        return {unstated, *(one.stated[name] for one in stating)}
    return {one.stated[name] for one in stating if one.last >= latest}


def _shown(conversion: Fields, name: str) -> Any:
    if name == "reported":
        return status_of(conversion)
    return None if conversion.get(name) is None else conversion[name].to_decimal()


def status_of(conversion: Fields) -> Status:
    return Status(conversion.get("reported", Status.APPROVED))


def was_approved(conversion: Fields) -> bool:
    """Return whether the conversion is approved, or one of its reports said so."""
    told = [conversion, *conversion.get("changes", ())]
    return any(status_of(one) is Status.APPROVED for one in told)


def totals(conversions: Iterable[Fields]) -> dict[str, float]:
    """Return what a report tells of conversions that count."""
    names = ("conversions", "pendingConversions", "rejectedConversions")
    found = dict.fromkeys((*names, "value", "pendingValue", "refundedValue"), Decimal(0))
    for one in conversions:
        value, refunded = (_shown(one, name) for name in FIELDS[1:])
        match status_of(one):
            case Status.APPROVED:
                found["conversions"] += 1
                found["value"] += (value or 0) - (refunded or 0)
                found["refundedValue"] += refunded or 0
            case Status.PENDING:
                found["pendingConversions"] += 1
                found["pendingValue"] += value or 0
            case Status.REJECTED:
                found["rejectedConversions"] += 1
            case Status.REFUNDED:
                found["refundedValue"] += (value or 0) if refunded is None else refunded
    return {name: float(number) for name, number in found.items()}
