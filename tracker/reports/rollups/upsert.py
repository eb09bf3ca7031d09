"""What a batch adds to one rollup, as a statement or, if it is not stored, as a document. Pure.

Clicks and events with the same values are added to the same cells. In a batch of many links or
accounts nearly every rollup has only one such group, so it is made of whole cells, not path by
path: an event is added to 24 paths of 8 cells.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import cycle
from typing import Any, Final, NamedTuple

from bson import Decimal128, encode
from bson.raw_bson import RawBSONDocument

from tracker.reports.dimensions import EVENT
from tracker.reports.limits import CACHED_PATHS
from tracker.reports.rollups.layout import (
    MONEY_ENDS,
    Sums,
    event_cell,
    increments,
    statement_of,
    without_zeros,
)
from tracker.reports.rollups.money import decimal_of_billionths

_CACHED_CELLS: Final = 2000
"""Cells of inserted documents in memory: most documents have a single visit's, at most 3 KB."""

Cells = tuple[str, ...]
"""Names of cells, such as `total` and `device.mobile`."""

Stored = int | Decimal128


class Addition(NamedTuple):
    """What is added to each of the `cells`, and to that of an `event`: a number by measure."""

    cells: Cells
    event: str
    numbers: Mapping[str, int]


class Upsert(NamedTuple):
    """What is added to the document of `id`, or inserted.

    `own_cells` are cells by domain, if an account has several. `others` has further paths.
    Only a link has a `domain_name`.
    """

    id: Mapping[str, Any]
    domain_name: str | None
    additions: Sequence[Addition] = ()
    own_cells: Sequence[tuple[str, Mapping[str, int]]] = ()
    others: Mapping[str, Stored] = {}

    def sums(self) -> Sums:
        """Return the sums of additions and own cells, without zeros."""
        sums: Sums = {}
        for cells, event, numbers in self.additions:
            paths = _paths(cells, tuple(numbers))
            for path, number in zip(paths, cycle(numbers.values()), strict=False):
                sums[path] = sums.get(path, 0) + number
            if event:
                _add_cell(sums, event_cell(event), numbers)
        for cell, numbers in self.own_cells:
            _add_cell(sums, cell, numbers)
        return without_zeros(sums)

    def increments(self) -> Mapping[str, Stored]:
        common = self._common()
        if common is None:
            return {**increments(self.sums()), **self.others}
        cells, event, numbers = common
        paths = _paths(cells, tuple(numbers))
        added: dict[str, Stored] = dict(zip(paths, (*numbers.values(),) * len(cells), strict=True))
        if event:
            cell = event_cell(event)
            added |= {f"{cell}.{name}": number for name, number in numbers.items()}
        if self.own_cells:
            added |= self._of_own_cells()
        return {**added, **self.others} if self.others else added

    def statement(self) -> dict[str, Any]:
        """Return the statement of the `update` command."""
        return statement_of(self.id, self.increments(), self.domain_name)

    def document(self) -> dict[str, Any]:
        """Return the document that the statement would insert. Documents share equal cells."""
        fields: dict[str, Any] = {"_id": self.id}
        if self.domain_name is not None:
            fields["domain_name"] = self.domain_name
        common = None if self.others else self._common()
        if common is None:
            return fields | _fields(self.increments().items())
        cells, event, numbers = common
        if any(name.endswith(MONEY_ENDS) for name in numbers):  # Decimal128 has no hash.
            # Once for nine cells: of a Decimal128 the driver asks Python.
            numbers = RawBSONDocument(encode(numbers))
            fields |= _same_cells(cells, numbers)
        else:
            fields |= _cached_cells(cells, *numbers.items())
        if event:
            fields[EVENT] = {event: numbers}
        if self.own_cells:
            fields |= _fields(self._of_own_cells().items())
        return fields

    def _common(self) -> tuple[Cells, str, Mapping[str, Stored]] | None:
        """Return the cells and event of all additions, and what each gets; None if they differ."""
        if not self.additions:
            return None
        cells, event, sums = self.additions[0]
        for others, other_event, numbers in self.additions[1:]:
            if others is not cells or other_event != event:
                return None
            sums = {**sums, **{one: sums.get(one, 0) + numbers[one] for one in numbers}}
        stored = {
            name: decimal_of_billionths(number) if name.endswith(MONEY_ENDS) else number
            for name, number in sums.items()
            if number
        }
        return cells, event, stored

    def _of_own_cells(self) -> Mapping[str, Stored]:
        sums: Sums = {}
        for cell, numbers in self.own_cells:
            _add_cell(sums, cell, numbers)
        return increments(without_zeros(sums))


def _add_cell(sums: Sums, cell: str, numbers: Mapping[str, int]) -> None:
    for measure, number in numbers.items():
        path = f"{cell}.{measure}"
        sums[path] = sums.get(path, 0) + number


@lru_cache(maxsize=CACHED_PATHS)
def _paths(cells: Cells, measures: tuple[str, ...]) -> Sequence[str]:
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
