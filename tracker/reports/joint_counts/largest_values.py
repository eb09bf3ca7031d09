"""The largest values of own parameters of a finished day and link; the rest is `others`. Pure.

Senders may send a new value with each click, and a row for each would outgrow all other counts.
Hours keep every value: once cut, they could not be added up to a day.
"""

import heapq
from collections.abc import Sequence
from functools import reduce

from tracker.clicks.document import OWN_PARAMETERS
from tracker.reports import limits
from tracker.reports.arrays import np
from tracker.reports.columns import COUNTED_ONCE, Codes, Column, Columns, column_of
from tracker.reports.dimensions import LINK, OTHERS


def read_to_cut(names: Sequence[str]) -> Sequence[str]:
    """Return the dimensions that counts of a day by `names` are cut by: with the link."""
    has_own = not {*OWN_PARAMETERS}.isdisjoint(names)
    return [LINK, *names] if has_own and LINK not in names else names


def cut(table: Columns) -> Columns:
    """Return the counts of a day with the largest values of each link, of one if it has no link.

    They are the largest by people's clicks, or by conversions, then by text.
    """
    for name in OWN_PARAMETERS:
        if name in table.dimensions and len(table.dimensions[name].values) > limits.MAX_OWN_VALUES:
            table = table.with_column(name, _cut(table, name)).by(list(table.dimensions))
    return table


def _cut(table: Columns, name: str) -> Column:
    column = table.dimensions[name]
    values, size = column.values, len(column.values)
    links = table.dimensions[LINK].codes if LINK in table.dimensions else 0
    # A number for each pair of a link and a value. Those of a link are one after the other.
    pairs, pair_of_row = np.unique(links * size + column.codes, return_inverse=True)
    counts = np.zeros(len(pairs), np.int64)
    measures = [table.measures[one] for one in ("clicks", *COUNTED_ONCE) if one in table.measures]
    np.add.at(counts, pair_of_row, reduce(np.add, measures, np.zeros(table.rows, np.int64)))
    is_own = np.array([one.partition("=")[2] not in ("", OTHERS) for one in values], bool)
    own = np.flatnonzero(is_own[pairs % size])
    stays = np.ones(len(pairs), bool)
    _, starts, lengths = np.unique(pairs[own] // size, return_index=True, return_counts=True)
    for number in np.flatnonzero(lengths > limits.MAX_OWN_VALUES).tolist():
        some = own[starts[number] : starts[number] + lengths[number]]
        texts = [values[one] for one in (pairs[some] % size).tolist()]
        stays[some] = False
        stays[some[_largest(counts[some], texts)]] = True
    return _with_others(column, stays[pair_of_row])


def _largest(counts: Codes, texts: Sequence[str]) -> list[int]:
    least = -np.partition(-counts, limits.MAX_OWN_VALUES - 1)[limits.MAX_OWN_VALUES - 1]
    more, equal = (np.flatnonzero(one).tolist() for one in (counts > least, counts == least))
    few = heapq.nsmallest(limits.MAX_OWN_VALUES - len(more), equal, key=texts.__getitem__)
    return [*more, *few]


def _with_others(column: Column, stays: Codes) -> Column:
    """Return the column with `others`, of the same name, in the rows that do not stay."""
    values = column.values
    left = np.unique(column.codes[~stays])
    owners = column_of([values[number].partition("=")[0] for number in left.tolist()])
    texts = [f"{owner}={OTHERS}" for owner in owners.values]
    added = [text for text in texts if text not in values]
    every = [*values, *added]
    other = np.arange(len(values))
    other[left] = np.array([every.index(text) for text in texts], np.int64)[owners.codes]
    return Column(every, np.where(stays, column.codes, other[column.codes])).used()
