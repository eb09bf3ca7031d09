"""All rows of a report, in their order, for those who take them piece by piece."""

from collections.abc import Mapping, Sequence
from typing import Final

from tracker.reports.names import name_of
from tracker.reports.query import Measures, Row
from tracker.reports.rows import Rows

_ROW_BYTES: Final = 130
"""Bytes of a row as a key, without its characters, and a number in each array."""


class WholeReport:
    """The rows of a report as arrays, because as objects they would take more.

    `stored_names` has the names of those keys that have records.
    """

    def __init__(self, group_by: str, rows: Rows, stored_names: Mapping[str, str]) -> None:
        self.keys = rows.keys
        self._group_by = group_by
        self._rows = rows
        self._stored_names = stored_names

    def bytes(self) -> int:
        """Return about how many bytes the rows take."""
        return _ROW_BYTES * len(self.keys) + sum(map(len, self.keys))

    def piece(self, first: int, size: int) -> Sequence[Row]:
        """Return `size` rows from number `first` on, fewer where they end."""
        page = self._rows.page(first, size)
        return [
            Row(key=key, name=name_of(self._group_by, key, self._stored_names), measures=measures)
            for key, measures in zip(page.keys, page.measures(), strict=True)
        ]

    def measures(self, numbers: Sequence[int]) -> list[Measures]:
        """Return the measures of the rows with these numbers."""
        return self._rows.at(numbers).measures()
