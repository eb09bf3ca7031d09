"""The rows of a report, from its counts: keys, order, and one page. Pure."""

import functools
import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from tracker.reports.answers.figures import MONEY, RowFigures, money_of
from tracker.reports.answers.sums import OF_FURTHER, SUMS
from tracker.reports.arrays import np
from tracker.reports.columns import (
    Codes,
    Column,
    Columns,
    Numbers,
    column_of,
)
from tracker.reports.dimensions import (
    CURRENCY,
    DIMENSIONS,
    DOMAIN,
    HOME_CURRENCY,
    NO_EVENT,
    NO_KEY,
    OF_EVENTS,
)
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.query import Bots, Bound, CurrencyMeasures, GroupRow, Measures, SortBy
from tracker.reports.series import NO_MEASURES

CurrenciesByKey: TypeAlias = Mapping[str, Sequence[CurrencyMeasures]]


_LAST: Final = frozenset(NO_KEY.values())
"""Keys that come last among equal figures."""

SEPARATOR: Final = "\0"
"""Stands between the keys of a row in a cross table, which has those above it too."""

_SORTED_AT_ONCE: Final = 5000
"""Rows of one sort, which takes milliseconds and lets no other thread run. Strangers can make two
million rows with made-up campaign names, and sorting them would take seconds."""

_ROW_BYTES: Final = 130
"""Bytes of a row: its key without the characters, and a number in each array."""


class ReportRows:
    """The keys of a report, and an array for each measure, in the same order.

    `currencies` are the other currencies of each key that has any. Measures of `OF_FURTHER` may be
    missing.
    """

    def __init__(
        self,
        keys: Sequence[str],
        measures: Mapping[str, Numbers],
        currencies: CurrenciesByKey = MappingProxyType({}),
    ) -> None:
        self.keys = keys
        self._measures = measures
        self._currencies = currencies

    def bytes(self) -> int:
        """Return their approximate size in memory."""
        return _ROW_BYTES * len(self.keys) + sum(map(len, self.keys))

    def with_keys(self, keys: Collection[str]) -> "ReportRows":
        """Return these rows, and rows of zeros for the missing keys."""
        known = set(self.keys)
        return self.and_zeros([key for key in keys if key not in known])

    def and_zeros(self, added: Sequence[str]) -> "ReportRows":
        measures = {
            name: np.concatenate([one, np.zeros(len(added), one.dtype)])
            for name, one in self._measures.items()
        }
        return ReportRows([*self.keys, *added], measures, self._currencies)

    def with_currencies(self, currencies: CurrenciesByKey) -> "ReportRows":
        return ReportRows(self.keys, self._measures, currencies)

    def chosen(self, passes: Callable[[str], bool]) -> "ReportRows":
        return self.at([number for number, key in enumerate(self.keys) if passes(key)])

    def change(self, by: SortBy, previous: "PreviousRows") -> Numbers:
        return self.figures().change(by, previous.beside(self.keys))

    def having(self, bounds: Sequence[Bound]) -> "ReportRows":
        return self.at(np.flatnonzero(self.figures().passing(bounds)))

    def ordered(
        self,
        by: SortBy,
        descending: bool,
        name_of: Callable[[str], str],
        at_most: int,
        change: "Numbers | None" = None,
    ) -> "ReportRows":
        """Return the first rows in an order, then by key. Only `name` calls `name_of`.

        They are in the order of their `change`, if it is given.
        """
        keys = self.keys
        if by == "key":
            return self.at(_first(range(len(keys)), keys.__getitem__, at_most, descending))
        if by == "name":
            shown = [name_of(key).casefold() for key in keys]
            by_key = _first(range(len(keys)), keys.__getitem__, len(keys))
            return self.at(_first(by_key, shown.__getitem__, at_most, descending))
        figures = self.figures().of(by) if change is None else change
        signed = -figures if descending else figures
        if signed.dtype == float:  # what is not known comes last
            signed = np.where(np.isnan(signed), np.inf, signed)
        candidates = self._smallest(signed, at_most)
        return self.at(candidates[np.argsort(signed[candidates], kind="stable")])

    def _smallest(self, figures: Numbers, count: int) -> Codes:
        """Return the numbers of the smallest figures, by their keys. First keys win ties."""
        if len(figures) <= count:
            return self._by_key(np.arange(len(figures)), count)
        limit = np.partition(figures, count - 1)[count - 1]
        less, equal = np.flatnonzero(figures < limit), np.flatnonzero(figures == limit)
        few = self._by_key(equal, count - len(less))
        return self._by_key(np.concatenate([less, few]), count)

    def _by_key(self, numbers: Codes, at_most: int) -> Codes:
        """Return the first of these numbers in the order of their keys, with _LAST at the end."""
        key_of, candidates = self.keys.__getitem__, numbers.tolist()
        last = sorted((one for one in candidates if _is_last(key_of(one))), key=key_of)
        known = set(last)
        first = _first([one for one in candidates if one not in known], key_of, at_most)
        return np.array([*first, *last][:at_most], np.int64)

    def page(self, first: int, size: int) -> "ReportRows":
        end = min(first + size, len(self.keys))
        return self if (first, end) == (0, len(self.keys)) else self.at(range(first, end))

    def measures(self) -> list[Measures]:
        return [
            _measures(
                {name: numbers[at] for name, numbers in self._measures.items()},
                self._currencies.get(key, ()),
            )
            for at, key in enumerate(self.keys)
        ]

    def figures(self) -> RowFigures:
        return RowFigures(self._measures, len(self.keys))

    def at(self, numbers: "Sequence[int] | Codes") -> "ReportRows":
        chosen = np.array(numbers, np.int64)
        return ReportRows(
            [self.keys[number] for number in chosen.tolist()],
            {name: one[chosen] for name, one in self._measures.items()},
            self._currencies,
        )


def _is_last(key: str) -> bool:
    return key.rpartition(SEPARATOR)[2] in _LAST


class PreviousRows:
    """All rows of other days. `paired` maps keys to their counterparts, if these differ.

    `keys` are their keys in the report: a counterpart's, in place of an hour, day, week or month.
    """

    def __init__(self, rows: ReportRows, paired: Mapping[str, str] | None) -> None:
        self._rows = rows
        numbers = {key: number for number, key in enumerate(rows.keys)}
        if paired is not None:
            numbers = {key: numbers[one] for key, one in paired.items() if one in numbers}
        self._numbers = numbers
        self.keys = numbers.keys()

    def bytes(self) -> int:
        """Return their approximate size in memory."""
        return 2 * self._rows.bytes()

    def beside(self, keys: Sequence[str]) -> RowFigures:
        """Return their figures for these keys, zeros for those without any."""
        numbers = np.array([self._numbers.get(key, -1) for key in keys], np.int64)
        return self._rows.and_zeros([""]).at(numbers).figures()

    def of(self, rows: Sequence[GroupRow]) -> Mapping[str, Measures]:
        found = {row.key: self._numbers[row.key] for row in rows if row.key in self._numbers}
        measures = self._rows.at(list(found.values())).measures()
        return dict.fromkeys((row.key for row in rows), NO_MEASURES) | dict(
            zip(found, measures, strict=True)
        )


def rows_of(
    table: Columns,
    group_by: str,
    bots: Bots,
    scope: ReportScope,
    host: str,
) -> ReportRows:
    """Return the rows that are not all zeros."""
    return rows_by(keyed(table, group_by, scope, host), group_by, bots)


def rows_by(found: Columns, group_by: str, bots: Bots) -> ReportRows:
    """Return the rows of a table by one column, those that are not all zeros."""
    column = found.dimensions[group_by]
    measures = _of_bots(found, bots)
    shown = np.zeros(found.rows, bool)
    for numbers in measures.values():
        shown |= numbers != 0
    if group_by in OF_EVENTS:
        shown &= np.array([column.values[code] != NO_EVENT for code in column.codes], bool)
    rows = ReportRows(column.in_rows(), measures)
    return rows if shown.all() else rows.at(np.flatnonzero(shown))


def totals_of(table: Columns, bots: Bots, currencies: Sequence[CurrencyMeasures] = ()) -> Measures:
    """Return the totals: each click and conversion counts once."""
    return _measures(
        {
            name: sum(map(table.total, of.plus)) - sum(map(table.total, of.minus))
            for name, of in SUMS[bots].items()
        },
        currencies,
    )


def _of_bots(table: Columns, bots: Bots) -> dict[str, Numbers]:
    # One zero for all rows: an array of them takes as long as their sum, one of objects 50 times.
    zeros = np.broadcast_to(np.int64(0), table.rows)
    found = {}
    for name, of in SUMS[bots].items():
        plus = [table.measures[one] for one in of.plus if one in table.measures]
        minus = [table.measures[one] for one in of.minus if one in table.measures]
        if name in OF_FURTHER and not plus:
            continue
        found[name] = sum(plus[1:], plus[0] if plus else zeros)
        for one in minus:
            found[name] = found[name] - one
    return found


def keyed(table: Columns, group_by: str, scope: ReportScope, host: str) -> Columns:
    """Return the sums by the report's keys."""
    one = DIMENSIONS[group_by]
    if one.key is not None:
        table = table.by(one.derived_from)
    return table.with_column(group_by, key_column(table, group_by, scope, host)).by([group_by])


def key_column(table: Columns, group_by: str, scope: ReportScope, host: str) -> Column:
    """Return the report's key of each row."""
    one, called = DIMENSIONS[group_by], {}
    if one.key is not None:
        values = [table.dimensions[name].in_rows() for name in one.derived_from]
        return column_of(list(map(functools.cache(partial(one.key, scope.calendar)), *values)))
    if group_by == DOMAIN:
        called = {"": host}
    elif group_by == CURRENCY and scope.currency is not None:
        called = {HOME_CURRENCY: scope.currency}
    column = table.dimensions[group_by]
    return column.mapped(lambda name: called.get(name, name)) if called else column


def _first(
    numbers: Sequence[int], sort_key: Callable[[int], Any], at_most: int, descending: bool = False
) -> list[int]:
    """Return the first of these numbers by `sort_key`. Equal ones stay in order."""
    if at_most <= _SORTED_AT_ONCE:
        chosen = heapq.nlargest if descending else heapq.nsmallest
        return chosen(at_most, numbers, key=sort_key)
    pieces = [
        sorted(numbers[start : start + _SORTED_AT_ONCE], key=sort_key, reverse=descending)
        for start in range(0, len(numbers), _SORTED_AT_ONCE)
    ]
    return list(islice(heapq.merge(*pieces, key=sort_key, reverse=descending), at_most))


def _measures(sums: Mapping[str, int], currencies: Sequence[CurrencyMeasures]) -> Measures:
    found: dict[str, Any] = {
        name: money_of(one) if name in MONEY else int(one) for name, one in sums.items()
    }
    if not found.pop("costed", 0):
        found["cost"] = None
    found["has_other_payout"] = bool(found.pop("other_payout", 0))
    return Measures(**found, other_currencies=tuple(currencies))
