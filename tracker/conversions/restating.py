"""What reports and corrections make of a conversion that is stored or planned. Pure.

The result is the same in whatever order they arrive, and a change that arrives again makes no
difference (`corrections/changes`).
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

import msgspec
from bson import Decimal128

from tracker.clock import moment
from tracker.conversions.conversion import POSTBACK, Correction
from tracker.conversions.corrections.changes import (
    MAX_CHANGES,
    Change,
    Restated,
    result_of,
    with_change,
)
from tracker.conversions.corrections.status import Status
from tracker.conversions.document import ConversionDocument, changed

TOO_MANY: Final = f"changes: more than {MAX_CHANGES}; further ones are not recorded"
NO_CURRENCY: Final = "currency: ignored, because the account has none"

_MONEY: Final = ("value", "payout", "refunded_value")


def changes_of(conversion: ConversionDocument) -> Sequence[Change]:
    """Return the changes of a conversion, at first what it was recorded with."""
    return conversion.get("changes") or [_original(conversion)]


def _original(conversion: ConversionDocument) -> Change:
    report = conversion.get("report", {})
    made: Change = {
        "id": str(conversion["_id"]),
        "at": conversion["at"],
        "recorded_at": recorded_at(conversion),
        "actor": report.get("actor", POSTBACK),
    }
    if status := conversion.get("reported", report.get("reported")):
        made["reported"] = status
    if word := conversion.get("unknown_word"):
        made["unknown_word"] = word
    if conversion["value"] is not None:
        made["value"] = conversion["value"]
    if conversion["payout"] is not None:
        made["fixed_payout" if "fixed_payout" in report else "payout"] = conversion["payout"]
    if currency := conversion.get("currency", report.get("currency")):
        made["currency"] = currency
    return made


def change_of(correction: Correction) -> Change:
    """Return the change that a correction makes."""
    made: Change = {
        "id": correction.id.hex(),
        "at": moment(correction.at),
        "recorded_at": moment(correction.at),
        "actor": correction.actor,
        "reason": correction.reason,
    }
    if correction.note is not None:
        made["note"] = correction.note
    stated: dict[str, Any] = msgspec.json.decode(correction.stated)
    for name in stated.keys() & _MONEY:
        stated[name] = None if stated[name] is None else Decimal128(stated[name])
    if "reported" in stated:
        stated["reported"] = Status(stated["reported"])
    return {**made, **cast(Restated, stated)}


def recorded_at(conversion: ConversionDocument) -> Any:
    """Return when the first report of the conversion was received."""
    return conversion.get("received_at", conversion["at"])


def restated(
    conversion: ConversionDocument,
    news: Iterable[Change],
    home: str | None,
    report: ConversionDocument | None = None,
) -> ConversionDocument:
    """Return the conversion after `news`; the same object if they make no difference.

    `home` is the currency of its account. A `report` that the news are from moves the conversion
    to its time if that is earlier; corrections never do.
    """
    is_in_units = home is None and conversion["account_id"] is not None
    news = [_without_currency(one) if is_in_units else one for one in news]
    old = changes = _in_one_kind(conversion, news)
    at, recorded, is_full = conversion["at"], recorded_at(conversion), False
    if report is not None:
        at, recorded = min(at, report["at"]), min(recorded, recorded_at(report))
    for one in news:
        if len(changes) < MAX_CHANGES:
            changes = with_change(changes, one)
        else:
            is_full = is_full or all(one["id"] != kept["id"] for kept in changes)
    is_moved = (at, recorded) != (conversion["at"], recorded_at(conversion))
    is_full = is_full and TOO_MANY not in conversion.get("warnings", ())
    if changes is old and not is_moved and not is_full:
        return conversion
    after = changed(conversion, {"changes": changes, "at": at})
    after["revision"] = conversion.get("revision", 0) + 1
    _set(after, "received_at", recorded if recorded != at else None)
    if is_full:
        after["warnings"] = [*conversion.get("warnings", ()), TOO_MANY]
    result = result_of(changes)
    after["value"], after["payout"] = result.get("value"), result.get("payout")
    status = result.get("reported", Status.APPROVED)
    _set(after, "reported", status if status != Status.APPROVED else None)
    _set(after, "unknown_word", result.get("unknown_word"))
    _set(after, "refunded_value", result.get("refunded_value"))
    _set(after, "currency", result.get("currency"))
    return in_currency(after, home)


def in_currency(conversion: ConversionDocument, home: str | None) -> ConversionDocument:
    """Return the conversion of a known account as it is stored: in its currency, if that is set."""
    if "currency" not in conversion or conversion["account_id"] is None:
        return conversion
    if home is not None and conversion["currency"] != home:
        return conversion
    after = changed(conversion, {})
    del after["currency"]
    if home is None:
        report = after.get("report", {}).copy()
        report.pop("currency", None)
        _set(after, "report", report or None)
        warnings = after.get("warnings", ())
        after["warnings"] = [*warnings, *[NO_CURRENCY] * (NO_CURRENCY not in warnings)]
    return after


def _without_currency(change: Change) -> Change:
    return cast(Change, {name: field for name, field in change.items() if name != "currency"})


def _in_one_kind(conversion: ConversionDocument, news: Sequence[Change]) -> Sequence[Change]:
    """Return the changes. A record without a report does not tell whether its payout is fixed."""
    changes = changes_of(conversion)
    first = changes[0]
    is_fixed = "payout" in first and any("fixed_payout" in one for one in news)
    if "report" in conversion or not is_fixed or first["id"] != str(conversion["_id"]):
        return changes
    known = cast(Change, {name: first[name] for name in first if name != "payout"})  # type: ignore[literal-required]
    known["fixed_payout"] = first["payout"]
    return [known, *changes[1:]]


def _set(conversion: ConversionDocument, name: str, value: object) -> None:
    fields = cast(dict[str, Any], conversion)
    if value is None:
        fields.pop(name, None)
    else:
        fields[name] = value
