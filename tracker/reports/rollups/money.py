"""Amounts of money in rollups: in billionths, so that sums are exact up to 10^25. Pure.

Documents hold Decimal128, with 34 digits. Beyond 10^25 MongoDB rounds each addition, so the last
digits depend on the order.
"""

from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

from bson import Decimal128

from tracker.reports.limits import CACHED_AMOUNTS

_DECIMALS: Final = 9
_BILLIONTH: Final = Decimal("1e-9")
_WIDE: Final = Context(prec=60)
_STORED: Final = Context(prec=34)

EXACT: Final = 10**34
"""Sums below this number of billionths are exact."""

_PARTS_COMPARED: Final = 10**30
"""Sums beyond EXACT are equal if they differ by less than one part in this number."""


def billionths(money: Decimal128) -> int:
    return _billionths_of(money.bid)


def whole_number(stored: int | Decimal128) -> int:
    """Return a stored sum as a whole number: money in billionths, counts as they are."""
    return billionths(stored) if isinstance(stored, Decimal128) else stored


# How Decimal128 has a number of up to 34 digits, little-endian: its sign, an exponent above a bias,
# and its digits. Both bits of _OTHER_FORM mark another form: it has infinity.
_SIGN_BIT: Final = 127
_DIGIT_BITS: Final = 113
_EXPONENTS: Final = (1 << 14) - 1
_BIAS: Final = 6176
_OTHER_FORM: Final = 3 << 125
_DIGITS_LIMIT: Final = 10**34


@lru_cache(maxsize=CACHED_AMOUNTS)
def _billionths_of(bid: bytes) -> int:
    bits = int.from_bytes(bid, "little")
    exponent = (bits >> _DIGIT_BITS & _EXPONENTS) - _BIAS
    digits = bits & (1 << _DIGIT_BITS) - 1
    is_plain = digits < _DIGITS_LIMIT and bits & _OTHER_FORM != _OTHER_FORM
    if is_plain and -_DECIMALS <= exponent <= 0:
        number: int = digits * 10 ** (exponent + _DECIMALS)
        return -number if bits >> _SIGN_BIT else number
    exact = Decimal128.from_bid(bid).to_decimal()
    return int(exact.quantize(_BILLIONTH, context=_WIDE).scaleb(9, _WIDE))


@lru_cache(maxsize=CACHED_AMOUNTS)
def decimal_of_billionths(number: int) -> Decimal128:
    """Return `number` billionths as Decimal128.

    Cached because an event adds one amount to many cells.
    """
    digits, exponent = abs(number), -_DECIMALS
    while digits and not digits % 10:
        digits //= 10
        exponent += 1
    if 0 < digits < _DIGITS_LIMIT and exponent <= _DECIMALS:
        bits = (number < 0) << _SIGN_BIT | (exponent + _BIAS) << _DIGIT_BITS | digits
        return Decimal128.from_bid(bits.to_bytes(16, "little"))
    return Decimal128(Decimal(number).scaleb(-9, _WIDE).normalize(_STORED))


def sum_in_billionths(exact: Decimal) -> int:
    """Return a sum in billionths, whatever the precision of the thread's context."""
    return int(exact.scaleb(9, _WIDE))


def differ(one: int, other: int) -> bool:
    """Return whether two sums differ by more than the rounding of MongoDB."""
    largest = max(abs(one), abs(other))
    return one != other if largest < EXACT else abs(one - other) * _PARTS_COMPARED > largest
