"""Intervals of rates, against values that were published or computed by other programs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.reports.experiments.statistics import (
    Sample,
    difference_bounds,
    rate_bounds,
    smallest_increase,
)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    visitors = draw(st.integers(1, 10**9))
    return Sample(visitors, draw(st.integers(0, visitors)))


@pytest.mark.parametrize(
    ("conversions", "visitors", "low", "high"),
    [
        # R. G. Newcombe, "Two-sided confidence intervals for the single proportion" (Statistics in
        # Medicine 17, 1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # scipy 1.17.1: binomtest(…).proportion_ci(method="wilson").
        (20, 20, 0.838875, 1.0),
        (5, 1000, 0.002138, 0.011651),
        (37, 100_000, 0.000268, 0.00051),
        (1, 1, 0.206549, 1.0),
    ],
)
def test_the_interval_of_a_rate_is_that_of_wilson(
    conversions: int, visitors: int, low: float, high: float
) -> None:
    assert rate_bounds(Sample(visitors, conversions)) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("other", "first", "low", "high"),
    [
        # R. G. Newcombe, "Interval estimation for the difference between independent proportions"
        # (Statistics in Medicine 17, 1998), table II, method 10.
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0000),
        ((10, 10), (0, 10), 0.6075, 1.0000),
        # statsmodels 0.15.0: confint_proportions_2indep(…, method="newcomb").
        ((120, 1000), (100, 1000), -0.007492, 0.047551),
        ((5300, 100_000), (5000, 100_000), 0.001063, 0.004938),
        ((1, 3), (0, 200), 0.06084, 0.79234),
    ],
)
def test_the_interval_of_a_difference_is_that_of_newcombe(
    other: tuple[int, int], first: tuple[int, int], low: float, high: float
) -> None:
    found = difference_bounds(Sample(*first[::-1]), Sample(*other[::-1]))
    assert found == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("first", "visitors", "increase"),
    [
        # statsmodels 0.15.0: power_proportions_2indep is 0.8 there, found by scipy's brentq.
        ((100, 1000), 1000, 0.040745),
        ((200, 10_000), 5000, 0.007296),
        ((0, 100), 100, 0.074672),
        ((25, 50), 500, 0.197619),
        ((5000, 100_000), 100_000, 0.002766),
        ((19, 20), 20, None),
        ((10, 10), 10, None),
        ((4, 5), 5, None),
        ((0, 1), 1, None),
    ],
)
def test_the_smallest_increase_is_seen_four_times_in_five(
    first: tuple[int, int], visitors: int, increase: float | None
) -> None:
    found = smallest_increase(Sample(*first[::-1]), visitors)
    assert found == (None if increase is None else pytest.approx(increase, abs=5e-6))


@given(samples(), samples())
def test_intervals_hold_their_rates_and_change_sides_with_them(
    first: Sample, other: Sample
) -> None:
    low, high = rate_bounds(first)
    assert 0 <= low <= first.rate <= high <= 1
    low, high = difference_bounds(first, other)
    assert -1 - 1e-12 <= low <= other.rate - first.rate <= high <= 1 + 1e-12
    assert difference_bounds(other, first) == pytest.approx((-high, -low), abs=1e-12)


@given(samples(), st.integers(1, 10**9))
def test_an_increase_that_can_be_seen_keeps_the_rate_within_one(
    first: Sample, visitors: int
) -> None:
    increase = smallest_increase(first, visitors)
    assert increase is None or 0 < increase <= 1 - first.rate + 1e-12
