"""Money is added up exactly to a billionth, as far as MongoDB's 34 digits go."""

from decimal import Context, Decimal

import pytest
from bson import Decimal128

from tracker.reports.rollups.money import (
    EXACT,
    billionths,
    decimal_of_billionths,
    differ,
    sum_in_billionths,
)


@pytest.mark.parametrize(
    ("amount", "number"),
    [
        ("0", 0),
        ("12.50", 12_500_000_000),
        ("-0.000000001", -1),
        ("0.0000000006", 1),
        ("9999999999999999999.123456789", 9_999_999_999_999_999_999_123_456_789),
        ("9999999999999999999999999.999999999", 10**34 - 1),
        ("1E+30", 10**39),
    ],
)
def test_an_amount_survives_as_billionths(amount: str, number: int) -> None:
    assert billionths(Decimal128(amount)) == number
    stored = decimal_of_billionths(number)
    assert billionths(stored) == sum_in_billionths(stored.to_decimal()) == number


@pytest.mark.parametrize("digits", [1, 7, 10**9 + 1, 10**18, 123_456_789_012_345_678, 10**34 - 1])
@pytest.mark.parametrize("exponent", [-12, -10, -9, -8, -1, 0, 1, 5])
@pytest.mark.parametrize("sign", [1, -1])
def test_amounts_are_what_decimal_arithmetic_makes_of_them(
    sign: int, digits: int, exponent: int
) -> None:
    wide, stored = Context(prec=60), Context(prec=34)
    exact = Decimal(sign * digits).scaleb(exponent, wide)
    number = int(exact.quantize(Decimal("1e-9"), context=wide).scaleb(9, wide))
    assert billionths(Decimal128(exact)) == number
    expected = Decimal(number).scaleb(-9, wide).normalize(stored)
    assert decimal_of_billionths(number).bid == Decimal128(expected).bid


def test_digits_beyond_34_are_zero_as_the_standard_says() -> None:
    bits = (6176 - 9) << 113 | 10**34
    assert billionths(Decimal128.from_bid(bits.to_bytes(16, "little"))) == 0


def test_a_sum_beyond_34_digits_is_rounded_as_mongodb_rounds() -> None:
    assert decimal_of_billionths(10**35 + 1) == Decimal128("1E+26")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1, False),
        (1, 2, True),
        (EXACT - 1, EXACT - 2, True),
        (EXACT + 1, EXACT, False),
        (10**40, 10**40 + 10**9, False),
        (10**40, 10**40 + 10**11, True),
        (-(10**40), 10**40, True),
        (0, EXACT, True),
    ],
)
def test_sums_differ_exactly_below_the_limit_and_by_their_first_digits_above(
    one: int, other: int, expected: bool
) -> None:
    assert differ(one, other) == differ(other, one) == expected
