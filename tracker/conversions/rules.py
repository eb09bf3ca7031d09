"""Rules of an account against conversions that visitors forge from the click id in their URL. Pure.

- Every rule is off unless the account switches it on.
- A conversion of a known account is checked before its answer, any other by the drain.
- The drain alone decides the cap of conversions per click (`ingest/plan`).
"""

from decimal import Decimal
from enum import StrEnum
from typing import Final

import msgspec

from tracker.conversions.postbacks.parameters import MAX_VALUE
from tracker.errors import BadRequest
from tracker.syntax.amounts import checked_amount

MAX_PER_CLICK: Final = 1000


class Rule(StrEnum):
    """The rules for conversions. One that breaks a rule does not count."""

    REQUIRE_PBK = "require_pbk"
    NO_NEGATIVE_VALUES = "no_negative_values"
    MAX_VALUE = "max_value"
    MAX_PER_CLICK = "max_per_click"


class ConversionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of an account.

    `max_per_click` limits each click and event configuration. Conversions of a click without a
    postback key have a limit of their own.
    """

    require_pbk: bool = False
    no_negative_values: bool = False
    max_value: Decimal | None = None
    max_per_click: int | None = None

    def broken_by(self, has_pbk: bool, value: Decimal | None) -> Rule | None:
        """Return the first rule that a conversion breaks by itself."""
        if self.require_pbk and not has_pbk:
            return Rule.REQUIRE_PBK
        if value is None:
            return None
        if self.no_negative_values and value < 0:
            return Rule.NO_NEGATIVE_VALUES
        if self.max_value is not None and value > self.max_value:
            return Rule.MAX_VALUE
        return None

    def is_full(self, counted: int) -> bool:
        """Return whether the cap of a click with `counted` conversions has no room for another."""
        return self.max_per_click is not None and counted >= self.max_per_click


NO_RULES: Final = ConversionRules()


def checked_max_value(value: object) -> Decimal | None:
    """Check a rule that None switches off."""
    if value is None:
        return None
    return checked_amount("max_value", value, MAX_VALUE, "a number or null")


def checked_max_per_click(number: object) -> int | None:
    """Check a rule that None switches off. Raises BadRequest if it is no integer in the range."""
    if number is None:
        return None
    if type(number) is not int or not 1 <= number <= MAX_PER_CLICK:
        raise BadRequest(
            f"max_per_click: must be a whole number from 1 to {MAX_PER_CLICK}, or null"
        )
    return number
