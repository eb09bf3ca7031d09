"""Intervals of conversion rates and of their differences, at 95 %. Pure.

Sources: the score interval of E. B. Wilson (1927); for two rates method 10 of R. G. Newcombe,
"Interval estimation for the difference between independent proportions" (Statistics in Medicine
17, 1998); the power of the comparison as in J. L. Fleiss, "Statistical Methods for Rates and
Proportions" (2nd edition, 1981), chapter 3, without a correction for continuity.
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
    """The conversions of some visitors, of at least one."""

    conversions: int
    visitors: int

    @property
    def rate(self) -> float:
        return self.conversions / self.visitors

    @property
    def variance(self) -> float:
        """Return that of the rate."""
        return self.rate * (1 - self.rate) / self.visitors


class Bounds(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


def rate_bounds(sample: Sample) -> Bounds:
    """Return the interval of a rate, which is within 0 and 1."""
    rate, visitors = sample.rate, sample.visitors
    shift = _Z * _Z / visitors
    middle = (rate + shift / 2) / (1 + shift)
    half = _Z * sqrt(sample.variance + shift / (4 * visitors)) / (1 + shift)
    # A rate of 0 or 1 is an end itself, which rounding would miss.
    return Bounds(min(rate, max(0.0, middle - half)), max(rate, min(1.0, middle + half)))


def difference_bounds(first: Sample, other: Sample) -> Bounds:
    """Return the interval of the other's rate less the first's."""
    of_first, of_other = rate_bounds(first), rate_bounds(other)
    difference = other.rate - first.rate
    return Bounds(
        difference - hypot(other.rate - of_other.low, of_first.high - first.rate),
        difference + hypot(of_other.high - other.rate, first.rate - of_first.low),
    )


def smallest_increase(first: Sample, other: Sample) -> float | None:
    """Return the smallest increase of the first's rate that the other would show with POWER.

    None if so few visitors would show none at all.
    """
    low, high = first.rate, 1.0
    if not _is_seen(first, high, other.visitors):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _is_seen(first, middle, other.visitors):
            high = middle
        else:
            low = middle
    return high - first.rate


def _is_seen(first: Sample, rate: float, visitors: int) -> bool:
    """Return whether so many visitors with this rate differ from the first, with POWER."""
    together = (first.conversions + rate * visitors) / (first.visitors + visitors)
    by_chance = sqrt(together * (1 - together) * (1 / first.visitors + 1 / visitors))
    if by_chance == 0:  # both rates are 0 or 1
        return False
    real = sqrt(first.variance + rate * (1 - rate) / visitors)
    return rate - first.rate >= _Z * by_chance + _Z_OF_POWER * real
