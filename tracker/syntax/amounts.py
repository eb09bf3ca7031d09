"""Amounts of money, in settings and in texts of networks. Pure."""

import re
from decimal import Decimal
from typing import Final

from tracker.errors import BadRequest

DECIMALS: Final = 6
MAX_COST: Final = 1_000_000
"""The highest cost of a click."""

_WRITTEN: Final = re.compile(r"(?:\d{1,7}(?:\.\d{0,30})?|\.\d{1,30})", re.ASCII)
_BILLIONTH: Final = Decimal("1e-9")


def checked_amount(name: str, value: object, most: int, wanted: str = "a number") -> Decimal:
    """Return an amount of the API. Raises BadRequest if it breaks a rule."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise BadRequest(f"{name}: must be {wanted}")
    amount = Decimal(value)
    if not (amount.is_finite() and 0 <= amount <= most):
        raise BadRequest(f"{name}: must be from 0 to {most}")
    if amount != round(amount, DECIMALS):
        raise BadRequest(f"{name}: at most {DECIMALS} decimals")
    return amount


def cost_text(name: str, value: object) -> str:
    """Return the cost of a click as it is stored. Raises BadRequest if it breaks a rule."""
    return _plain(checked_amount(name, value, MAX_COST, "a number or null"))


def cost_in(text: str) -> str | None:
    """Return the cost that a network has written, to nine decimals; None if it is none."""
    if not _WRITTEN.fullmatch(text):
        return None
    cost = Decimal(text)
    return _plain(cost.quantize(_BILLIONTH)) if cost <= MAX_COST else None


def _plain(amount: Decimal) -> str:
    """Return an amount without exponent and trailing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
