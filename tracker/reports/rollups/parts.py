"""The parts of rollups with many cells, so that no document grows without a bound.

Nothing limits the domains and event configurations of an account. A document takes MAX_CELLS cells
of both. Further cells go to PARTS documents by their names, under drain numbers that no drain has.
Reports add up all numbers, so none knows of parts.
"""

from collections.abc import Collection, Mapping
from typing import Final
from zlib import crc32

from bson import Decimal128

MAX_CELLS: Final = 500
"""A cell takes 54 bytes with clicks alone, and at most 600 with all measures and a long name."""

PARTS: Final = 64
"""2,000,000 cells fit into their 16 MB each."""

_NUMBERS_PER_PART: Final = 10_000
"""More than the numbers of drains and corrections."""

_DIVIDED: Final = ("domain.", "event.")


def divided(
    added: Mapping[str, int | Decimal128], drain_number: int
) -> Mapping[int, Mapping[str, int | Decimal128]]:
    """Return what is added to a full document and to its parts, by their numbers."""
    by_number: dict[int, dict[str, int | Decimal128]] = {}
    for path, number in added.items():
        by_number.setdefault(_number_for(path, drain_number), {})[path] = number
    return by_number


def has_many_cells(paths: Collection[str]) -> bool:
    cells = {path.rpartition(".")[0] for path in paths if path.startswith(_DIVIDED)}
    return len(cells) > MAX_CELLS


def _number_for(path: str, drain_number: int) -> int:
    if not path.startswith(_DIVIDED):
        return drain_number
    cell, _, _ = path.rpartition(".")
    return drain_number + _NUMBERS_PER_PART * (1 + crc32(cell.encode()) % PARTS)
