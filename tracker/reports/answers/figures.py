"""The figures that rows are ordered by, their change, and conditions on them. Pure.

Money is in billionths. What is not known is NaN.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias

from tracker.reports.arrays import np
from tracker.reports.columns import Numbers
from tracker.reports.query import Bound

if TYPE_CHECKING:
    import numpy.typing as npt

Passing: TypeAlias = "npt.NDArray[np.bool_]"

MONEY: Final = frozenset(("value", "payout", "pending_value", "refunded_value", "cost"))

_RATIOS: Final[Mapping[str, tuple[str, str]]] = {
    "conversion_rate": ("attributed", "clicks"),
    "roi": ("profit", "cost"),
    "epc": ("payout", "clicks"),
    "cpc": ("cost", "clicks"),
    "cpa": ("cost", "conversions"),
}
_OF_COST: Final = frozenset(("cost", "profit", "roi", "cpc", "cpa"))
_AMOUNTS: Final = ("cost", "profit")
_OF_PAYOUT: Final = frozenset(("profit", "roi", "epc"))
_UNITS: Final[Mapping[str, int]] = dict.fromkeys((*MONEY, "profit", "epc", "cpc", "cpa"), 10**9)
_DECIMALS: Final = 6
_NO_MONEY: Final = Decimal(0)
_BILLIONTHS: Final = 10**9


class RowFigures:
    """The figures of `count` rows, from an array for each measure. Some may be missing."""

    def __init__(self, measures: Mapping[str, Numbers], count: int) -> None:
        self._measures = measures
        self._count = count

    def of(self, by: str) -> Numbers:
        found = self._of(by)
        if by in _OF_COST:
            found[self._sums("costed") == 0] = np.nan
        return found

    def change(self, by: str, before: "RowFigures") -> Numbers:
        """Return the differences. Costs of no clicks are 0, and rates of none are not known."""
        now, then = (one._compared(by) for one in (self, before))
        return now - then

    def passing(self, bounds: Sequence[Bound]) -> Passing:
        """Return which rows pass all conditions. A figure that is not known passes none."""
        passes = np.ones(self._count, bool)
        for one in bounds:
            unit, figures = _UNITS.get(one.measure, 1), self.of(one.measure)
            if one.measure in _RATIOS:  # as they are shown
                unit, figures = 1, np.round(figures / unit, _DECIMALS)
            is_exact = figures.dtype == object
            if one.least is not None:
                passes &= figures >= (one.least * unit if is_exact else float(one.least * unit))
            if one.most is not None:
                passes &= figures <= (one.most * unit if is_exact else float(one.most * unit))
        return passes

    def _compared(self, by: str) -> Numbers:
        if by in _AMOUNTS:
            found, clicks = self._of(by), self._sums("clicks") + self._sums("bot_clicks")
            found[(self._sums("costed") == 0) & (clicks != 0)] = np.nan
            return found
        found = self.of(by)
        if by == "conversion_rate":
            found[self._sums("clicks") == 0] = np.nan
        return found

    def _of(self, by: str) -> Numbers:
        if by not in _RATIOS and by not in _OF_COST:
            return self._sums(by)
        name, divisor = _RATIOS.get(by, (by, None))
        figures = self._floats(name)
        if divisor is not None:
            divisors = self._floats(divisor)
            none = np.full(self._count, 0.0 if by == "conversion_rate" else np.nan)
            figures = np.divide(figures, divisors, out=none, where=divisors != 0)
        if by in _OF_PAYOUT:
            figures[self._sums("other_payout") != 0] = np.nan
        return figures

    def _floats(self, name: str) -> Numbers:
        if name == "profit":
            return np.asarray(self._sums("payout") - self._sums("cost")).astype(float)
        return self._sums(name).astype(float)

    def _sums(self, name: str) -> Numbers:
        return self._measures.get(name, np.zeros(self._count, np.int64))


def money_of(billionths: int) -> Decimal:
    """Return a sum without trailing zeros."""
    if not billionths:
        return _NO_MONEY
    sign, whole = ("-" if billionths < 0 else ""), abs(int(billionths))
    units, rest = divmod(whole, _BILLIONTHS)
    return Decimal(f"{sign}{units}.{rest:09}".rstrip("0").rstrip("."))
