"""Amounts of money as rollups add them up: in billionths, so that sums are exact up to 10^25. Pure.

For `reports/rollup`, whose documents hold them as Decimal128. That has 34 digits: beyond 10^25
MongoDB rounds with each addition, and what adds up the same amounts in another order may differ in
the last digits.
"""

from decimal import Context, Decimal
from functools import lru_cache
from typing import Final

from bson import Decimal128

_BILLIONTH: Final = Decimal("1e-9")
_WIDE: Final = Context(prec=60)
_STORED: Final = Context(prec=34)

EXACT: Final = 10**34
"""Billionths below which every sum is exact."""

_COMPARED: Final = 10**30
"""Beyond that sums are the same if their difference is not a part of so many."""


def billionths(money: Decimal128) -> int:
    """`money` to the nearest billionth."""
    return _billionths_of(money.bid)


@lru_cache(maxsize=10_000)
def _billionths_of(bid: bytes) -> int:
    """By the bytes of a Decimal128: the same amounts come again and again, and take 20 µs each."""
    exact = Decimal128.from_bid(bid).to_decimal()
    return int(exact.quantize(_BILLIONTH, context=_WIDE).scaleb(9, _WIDE))


@lru_cache(maxsize=10_000)
def of_billionths(number: int) -> Decimal128:
    """As MongoDB stores and adds them, to 34 digits. Of one event the same is added in each of its
    cells, and takes 10 µs."""
    return Decimal128(Decimal(number).scaleb(-9, _WIDE).normalize(_STORED))


def in_billionths(exact: Decimal) -> int:
    """Return a sum in billionths, whatever the precision of the thread's context."""
    return int(exact.scaleb(9, _WIDE))


def differ(one: int, other: int) -> bool:
    """Return whether two sums of the same amounts, in billionths, differ by more than MongoDB
    rounds."""
    largest = max(abs(one), abs(other))
    return one != other if largest < EXACT else abs(one - other) * _COMPARED > largest
