"""Medians of the samples, the factors between them, and which bounds hold. Pure."""

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Final, Literal, NamedTuple, get_args

from lab.growth.rows import Row
from lab.result import columns

Size = Literal["small", "large"]
SIZES: Final[Sequence[Size]] = get_args(Size)

FAILED: Final = math.inf
"""The sample of a request without its answer."""

_HEADS: Final = ("row", "", "small", "large", "factor", "", "bounds", "")
_TEXT_COLUMNS: Final = (0, 1, 5, 6, 7)


class Samples:
    """The samples of all rows, by size."""

    def __init__(self) -> None:
        self._samples: defaultdict[tuple[str, Size], list[float]] = defaultdict(list)

    def add(self, key: str, size: Size, sample: float) -> None:
        self._samples[key, size].append(sample)

    def median(self, key: str, size: Size) -> float | None:
        samples = self._samples[key, size]
        return median(samples) if samples else None


class Figures(NamedTuple):
    """The medians of a row, None without samples.

    `factor` is the large one as a multiple of the small one. `holds` is None without bounds.
    """

    key: str
    name: str
    unit: str
    small: float | None
    large: float | None
    factor: float | None
    bounds: str
    holds: bool | None


def figures(rows: Sequence[Row], samples: Samples) -> list[Figures]:
    return [_figures(row, samples) for row in rows]


def _figures(row: Row, samples: Samples) -> Figures:
    small, large = (samples.median(row.key, size) for size in SIZES)
    factor = _factor(small, large)
    return Figures(
        key=row.key,
        name=row.name,
        unit=row.unit,
        small=small,
        large=large,
        factor=factor,
        bounds=", ".join(f"{sign} {bound:g} {unit}" for sign, bound, unit in row.bounds),
        holds=_holds(row, large, factor) if row.bounds else None,
    )


def _factor(small: float | None, large: float | None) -> float | None:
    if small is None or large is None or math.isinf(small):
        return None
    return large / small if small else (FAILED if large else 1.0)


def _holds(row: Row, large: float | None, factor: float | None) -> bool:
    """Return whether every bound holds. A figure that is missing or failed breaks its bounds."""
    for sign, bound, unit in row.bounds:
        figure = factor if unit == "x" else large
        if figure is None or math.isinf(figure):
            return False
        if figure > bound if sign == "<=" else figure < bound:
            return False
    return True


def broken(found: Sequence[Figures]) -> list[str]:
    return [one.key for one in found if one.holds is False]


def table(found: Sequence[Figures]) -> str:
    words = {True: "holds", False: "DOES NOT HOLD", None: ""}
    rows = [
        (
            one.key,
            one.name,
            _text(one.small),
            _text(one.large),
            "-" if one.factor is None else f"{one.factor:.2f}",
            one.unit,
            one.bounds or "-",
            words[one.holds],
        )
        for one in found
    ]
    return "\n".join(columns([_HEADS, *rows], _TEXT_COLUMNS))


def _text(figure: float | None) -> str:
    if figure is None:
        return "-"
    if math.isinf(figure):
        return "failed"
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
