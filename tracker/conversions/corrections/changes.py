"""The reports and corrections of one conversion, and what follows from them all. Pure.

A conversion that was restated keeps a list of changes; the first is what it was recorded with.
Each states new values of some fields, never differences. For each field the newest change that
states it counts, so the result is the same in whatever order they arrive.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, Final, TypedDict

from bson import Decimal128

from tracker.conversions.corrections.status import Status

MAX_CHANGES: Final = 200
"""Changes of one conversion. Further ones are not recorded."""


class Restated(TypedDict, total=False):
    """The fields that a change states. Money is in the conversion's currency.

    `unknown_word`: the word without a meaning that `reported` stands for.
    """

    reported: Status
    unknown_word: str
    value: Decimal128 | None
    payout: Decimal128 | None
    currency: str
    refunded_value: Decimal128 | None


class Change(Restated, total=False):
    """A report or correction.

    - `id`: of the journal record that brought it, so that it is stored once.
    - `at`: the moment that it speaks of. A newer one overrules it.
    - `actor`: `postback`, `upload:<id>`, `person:<id>` or `key:<id>`.
    - `fixed_payout`: of an event configuration with a fixed amount. The oldest one counts, unless
      a `payout` is stated: later conversions only have the new amount.
    - `reason` and `note`: of a correction.
    - `again`: when a field was last stated again, with the same value, by field.
    """

    id: str
    at: datetime
    recorded_at: datetime
    actor: str
    fixed_payout: Decimal128 | None
    reason: str
    note: str
    again: dict[str, Sequence[Any]]


Stamp = tuple[Any, ...]
"""The place of a statement among others: the moment, the time of its record, and its id."""


_DEFAULT: Final = Status.APPROVED

RESTATED: Final = ("reported", "value", "payout", "currency", "refunded_value")


def result_of(changes: Sequence[Change]) -> Restated:
    """Return the fields that a conversion with these changes has. It lacks what none states."""
    found: Restated = {}
    for change in in_order(changes):
        if "payout" not in found and "fixed_payout" in change:
            found["payout"] = change["fixed_payout"]
    for _, name, change in _statements(changes):
        found[name] = _value(change, name)  # type: ignore[literal-required]
        if name == "reported":
            found.pop("unknown_word", None)
            if "unknown_word" in change:
                found["unknown_word"] = change["unknown_word"]
    return found


def with_change(changes: Sequence[Change], new: Change) -> Sequence[Change]:
    """Return the changes with a new one; the same object if it makes no difference.

    If it states what was stated before, that statement gets its time, and no change is added.
    """
    if any(one["id"] == new["id"] for one in changes):
        return changes
    if "again" in new:
        return [*changes, new]
    stamp = _stamp(new)
    before = {name: change for at, name, change in _statements(changes) if at < stamp}
    again: dict[int, dict[str, Sequence[Any]]] = {}
    for name in RESTATED:
        if name not in new:
            continue
        stating = before.get(name) or _silent_on(name, changes)
        if stating is None or not _is_same(_value(stating, name), new.get(name)):
            return [*changes, new]
        if name == "reported" and stating.get("unknown_word") != new.get("unknown_word"):
            return [*changes, new]
        if list(stamp) > list(stating.get("again", {}).get(name, ())):
            again.setdefault(id(stating), {})[name] = list(stamp)
    if "fixed_payout" in new and not any("fixed_payout" in one for one in _until(changes, stamp)):
        return [*changes, new]
    if not again:
        return changes
    return [
        {**one, "again": {**one.get("again", {}), **again[id(one)]}} if id(one) in again else one
        for one in changes
    ]


def in_order(changes: Iterable[Change]) -> Sequence[Change]:
    """Return the changes by the moment that they speak of. Equal ones are in a fixed order."""
    return sorted(changes, key=_stamp)


def _silent_on(name: str, changes: Sequence[Change]) -> Change | None:
    """Return the change that stands for what a field is while no change states it."""
    silent = [one for one in in_order(changes) if name not in one]
    fixed = [one for one in silent if name == "payout" and "fixed_payout" in one]
    return next(iter(fixed or silent), None)


def _value(change: Change, name: str) -> Any:
    return change.get(name, change.get("fixed_payout") if name == "payout" else None)


def _until(changes: Iterable[Change], stamp: Stamp) -> Iterable[Change]:
    return (one for one in changes if _stamp(one) < stamp)


def _stamp(change: Change) -> Stamp:
    return change["at"], change["recorded_at"], change["id"]


def _statements(changes: Iterable[Change]) -> list[tuple[Stamp, str, Change]]:
    """Return what states a field, in the order of its moments."""
    found: list[tuple[Stamp, str, Change]] = [
        (_stamp(one), name, one) for one in changes for name in RESTATED if name in one
    ]
    found += [
        (tuple(stamp), name, one) for one in changes for name, stamp in one.get("again", {}).items()
    ]
    return sorted(found, key=itemgetter(0))


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values of a field are one. Without a status it is approved."""
    if isinstance(one, Decimal128) and isinstance(other, Decimal128):
        return one.to_decimal() == other.to_decimal()
    return (one or _DEFAULT) == (other or _DEFAULT)
