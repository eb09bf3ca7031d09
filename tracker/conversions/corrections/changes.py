"""The reports and corrections of one conversion, and what follows from them all. Pure.

A conversion that was restated keeps a list of changes; the first is what it was recorded with.
Each states new values of some fields, never differences. For each field the newest change that
states it counts, so the result is the same in whatever order they arrive.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, TypedDict

from bson import Decimal128

from tracker.conversions.corrections.status import Status

MAX_CHANGES: Final = 200
"""Changes of one conversion. Further ones are not recorded."""


class Restated(TypedDict, total=False):
    """The fields that a change states. Money is in the conversion's currency."""

    reported: Status
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
    """

    id: str
    at: datetime
    recorded_at: datetime
    actor: str
    fixed_payout: Decimal128 | None
    reason: str
    note: str


RESTATED: Final = ("reported", "value", "payout", "currency", "refunded_value")


def result_of(changes: Iterable[Change]) -> Restated:
    """Return the fields that a conversion with these changes has. It lacks what none states."""
    found: Restated = {}
    for change in in_order(changes):
        if "payout" not in found and "fixed_payout" in change:
            found["payout"] = change["fixed_payout"]
    stated: Restated = {}
    for change in in_order(changes):
        for name in RESTATED:
            if name in change:
                stated[name] = change[name]
    return {**found, **stated}


def in_order(changes: Iterable[Change]) -> Sequence[Change]:
    """Return the changes by the moment that they speak of. Equal ones are in a fixed order."""
    return sorted(changes, key=lambda one: (one["at"], one["recorded_at"], one["id"]))
