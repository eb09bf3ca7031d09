"""Intervals of conversion rates and of their differences, at 95 %. Pure.

Sources: for a rate the score interval of E. B. Wilson (1927); for two rates method 10 of
R. G. Newcombe, "Interval estimation for the difference between independent proportions" (Statistics
in Medicine 17, 1998); for the power J. L. Fleiss, "Statistical Methods for Rates and Proportions"
(1981), chapter 3, without its correction for continuity.
"""

from math import hypot, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

CONFIDENCE: Final = 0.95
POWER: Final = 0.8

_Z: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
_Z_OF_POWER: Final = NormalDist().inv_cdf(POWER)
_STEPS: Final = 40
"""Halvings of a range of at most 1: more than enough for six decimals."""


class Sample(NamedTuple):
    """Visitors, and how many of them have converted."""

    visitors: int
    converted: int

    @property
    def rate(self) -> float:
        return self.converted / self.visitors


def rate_bounds(sample: Sample) -> tuple[float, float]:
    """Return the interval of a rate. It holds the rate, and is within 0 and 1."""
    rate, shift = sample.rate, _Z * _Z / sample.visitors
    middle = (rate + shift / 2) / (1 + shift)
    half = sqrt((rate * (1 - rate) + shift / 4) * shift) / (1 + shift)
    # A rate of 0 or 1 is an end itself, which rounding would miss.
    return min(rate, max(0.0, middle - half)), max(rate, min(1.0, middle + half))


def difference_bounds(first: Sample, other: Sample) -> tuple[float, float]:
    """Return the interval of the other's rate less the first's."""
    first_low, first_high = rate_bounds(first)
    low, high = rate_bounds(other)
    difference = other.rate - first.rate
    return (
        difference - hypot(other.rate - low, first_high - first.rate),
        difference + hypot(high - other.rate, first.rate - first_low),
    )


def smallest_increase(first: Sample, visitors: int) -> float | None:
    """Return the smallest increase of a rate that other visitors show with POWER; None: none."""
    low, high = first.rate, 1.0
    if not _is_seen(first, high, visitors):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if _is_seen(first, middle, visitors) else (middle, high)
    return high - first.rate


def _is_seen(first: Sample, rate: float, visitors: int) -> bool:
    """Return whether so many visitors with this rate differ from the first, with POWER."""
    together = (first.converted + rate * visitors) / (first.visitors + visitors)
    by_chance = sqrt(together * (1 - together) * (1 / first.visitors + 1 / visitors))
    if by_chance == 0:  # both rates are 0 or 1
        return False
    real = sqrt(first.rate * (1 - first.rate) / first.visitors + rate * (1 - rate) / visitors)
    return rate - first.rate >= _Z * by_chance + _Z_OF_POWER * real
