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


def cost_text(name: str, value: object) -> str:
    """Return the cost of a click as it is stored. Raises BadRequest if it breaks a rule."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise BadRequest(f"{name}: must be a number or null")
    cost = Decimal(value)
    if not (cost.is_finite() and 0 <= cost <= MAX_COST):
        raise BadRequest(f"{name}: must be from 0 to {MAX_COST}")
    if cost != round(cost, DECIMALS):
        raise BadRequest(f"{name}: at most {DECIMALS} decimals")
    return _plain(cost)


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
