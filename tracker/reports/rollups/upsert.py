"""What a batch adds to one rollup, as a statement or, if it is not stored, as a document. Pure.

Clicks and events with the same values are added to the same cells. In a batch of many links or
accounts nearly every rollup has only one such group, so it is made of whole cells, not path by
path: an event is added to 24 paths of 8 cells.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from bson import Decimal128

from tracker.reports.limits import CACHED_PATHS
from tracker.reports.rollups.layout import (
    MONEY,
    Sums,
    increments,
    statement_of,
    without_zeros,
)
from tracker.reports.rollups.money import decimal_of_billionths

_CACHED_CELLS: Final = 2000
"""Cells of inserted documents in memory: most have those of a single visit, at most 3 KB."""

Cells = tuple[str, ...]
"""Names of cells, such as `total` and `device.mobile`."""

Measures = tuple[str, ...]
Stored = int | Decimal128


class Addition(NamedTuple):
    """A number to add to each of the `measures` of each of the `cells`."""

    cells: Cells
    measures: Measures
    number: int


class Upsert(NamedTuple):
    """What is added to the document of `id`, or inserted.

    `own_cells` are those that the values of a visit do not name, such as `domain.go%2Etest`.
    `others` has further paths. Only a link has a `domain_name`.
    """

    id: Mapping[str, Any]
    domain_name: str | None
    additions: Sequence[Addition] = ()
    own_cells: Mapping[tuple[str, Measures], int] = {}
    others: Mapping[str, Stored] = {}

    def sums(self) -> Sums:
        """Return the sums of additions and own cells, without zeros."""
        sums = self._own_sums()
        for cells, measures, number in self.additions:
            for path in _paths(cells, measures):
                sums[path] = sums.get(path, 0) + number
        return without_zeros(sums)

    def increments(self) -> Mapping[str, Stored]:
        common = self._common()
        if common is None:
            return {**increments(self.sums()), **self.others}
        cells, numbers = common
        paths = _paths(cells, tuple(numbers))
        added: dict[str, Stored] = dict(zip(paths, (*numbers.values(),) * len(cells), strict=True))
        if self.own_cells:
            added |= increments(without_zeros(self._own_sums()))
        return {**added, **self.others} if self.others else added

    def statement(self) -> dict[str, Any]:
        """Return the statement of the `update` command."""
        return statement_of(self.id, self.increments(), self.domain_name)

    def document(self) -> dict[str, Any]:
        """Return the document that the statement would insert. Others share its cells."""
        fields: dict[str, Any] = {"_id": self.id}
        if self.domain_name is not None:
            fields["domain_name"] = self.domain_name
        common = None if self.others else self._common()
        if common is None:
            return fields | _fields(self.increments().items())
        cells, numbers = common
        if any(name.endswith(MONEY) for name in numbers):  # Decimal128 has no hash.
            fields |= _same_cells(cells, numbers)
        else:
            fields |= _cached_cells(cells, *numbers.items())
        if self.own_cells:
            fields |= _fields(increments(without_zeros(self._own_sums())).items())
        return fields

    def _common(self) -> tuple[Cells, Mapping[str, Stored]] | None:
        """Return the cells of all additions and what each gets; None if they differ."""
        if not self.additions:
            return None
        cells, measures, number = self.additions[0]
        sums = dict.fromkeys(measures, number)
        for other, measures, number in self.additions[1:]:
            if other is not cells:
                return None
            for one in measures:
                sums[one] = sums.get(one, 0) + number
        return cells, {
            name: decimal_of_billionths(number) if name.endswith(MONEY) else number
            for name, number in sums.items()
            if number
        }

    def _own_sums(self) -> Sums:
        sums: Sums = {}
        for (cell, measures), number in self.own_cells.items():
            for measure in measures:
                path = f"{cell}.{measure}"
                sums[path] = sums.get(path, 0) + number
        return sums


@lru_cache(maxsize=CACHED_PATHS)
def _paths(cells: Cells, measures: Measures) -> Sequence[str]:
    return [f"{cell}.{measure}" for cell in cells for measure in measures]


@lru_cache(maxsize=_CACHED_CELLS)
def _cached_cells(cells: Cells, *numbers: tuple[str, Stored]) -> Mapping[str, Any]:
    return _same_cells(cells, dict(numbers))


def _same_cells(cells: Cells, numbers: Mapping[str, Stored]) -> dict[str, Any]:
    """Return the fields of cells of different maps, all with the same numbers."""
    return {
        name: {value: numbers} if value else numbers for name, value in _names_and_values(cells)
    }


@lru_cache(maxsize=CACHED_PATHS)
def _names_and_values(cells: Cells) -> Sequence[tuple[str, str]]:
    split = [cell.partition(".") for cell in cells]
    return [(name, value) for name, _, value in split]


def _fields(added: Iterable[tuple[str, Stored]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for path, number in added:
        cell, _, measure = path.rpartition(".")
        name, _, value = cell.partition(".")
        field = fields.setdefault(name, {})
        if value:
            field = field.setdefault(value, {})
        field[measure] = number
    return fields
