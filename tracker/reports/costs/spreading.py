"""The spreading of amounts over clicks, so that the parts add up exactly. Pure.

Amounts are in billionths. In a fixed order, the first n of N clicks have ⌊amount·n / N⌋ together.
So a part is less than a billionth from its exact share, and all parts are the amount.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

from tracker.reports.arrays import np
from tracker.reports.columns import Column, Columns, Numbers

Cell: TypeAlias = tuple[str, str]
"""A value of a filter, and a day or an hour of one."""


_SMALL: Final = 2**62
"""A limit of products: below it numpy is ten times faster than with Python's integers."""


class CostKind(NamedTuple):
    """Costs with one filter, of days or of hours: the values of the filter that they have."""

    filter: str
    is_hourly: bool
    values: Sequence[str]


class CostShares(NamedTuple):
    """The costs of a kind.

    `clicks` are by cell, `amounts` by currency and cell. `met` are the clicks of each cost.
    """

    of: CostKind
    clicks: Mapping[Cell, int]
    amounts: Mapping[str | None, Mapping[Cell, int]]
    met: Mapping[UUID, int]


def spread(amount: int, clicks: Sequence[int]) -> list[int]:
    """Return the parts of an amount, none of them for no clicks."""
    total = sum(clicks)
    if not total:
        return [0] * len(clicks)
    ends = [amount * end // total for end in accumulate(clicks, initial=0)]
    return [end - start for start, end in pairwise(ends)]


def spread_over_rows(
    table: Columns, value: str, at: Column, amounts: Mapping[Cell, int], clicks: Mapping[Cell, int]
) -> Columns:
    """Return the table with the parts of its clicks in place of its measures, bots' also apart.

    `costed` are the clicks of cells with an amount. The rows of a cell may be only some of its
    `clicks`, and have their share of its amount.
    """
    values = table.dimensions[value]
    keys = values.codes * len(at.values) + at.codes
    # In a cell, rows are in the order of their values, however MongoDB has returned them.
    order = np.lexsort(
        [*(_ranks(table.dimensions[name]) for name in sorted(table.dimensions)), keys]
    )
    keys = keys[order]
    begins = np.ones(table.rows, bool)
    begins[1:] = keys[1:] != keys[:-1]
    starts, cell_of = np.flatnonzero(begins), np.cumsum(begins) - 1
    cells = [
        (values.values[key // len(at.values)], at.values[key % len(at.values)])
        for key in keys[starts].tolist()
    ]
    largest = sum(map(abs, amounts.values())) * max(clicks.values(), default=0)
    number = np.int64 if largest < _SMALL else object
    amount = np.array([amounts.get(cell, 0) for cell in cells], number)[cell_of]
    total = np.array([clicks.get(cell) or 1 for cell in cells], number)[cell_of]
    bots, every = _measure(table, "bots")[order], all_clicks(table)[order]
    sums = np.cumsum(every)
    ends = (sums - (sums - every)[starts][cell_of]).astype(number)
    known = np.array([cell in amounts for cell in cells], np.int64)[cell_of]
    measures = {
        "cost": amount * ends // total - amount * (ends - every) // total,
        "bot_cost": amount * ends // total - amount * (ends - bots) // total,
        "costed": known * every,
        "bot_costed": known * bots,
    }
    dimensions = table.of_rows(order).dimensions
    return Columns(dimensions, measures, table.rows)


def _ranks(column: Column) -> Numbers:
    ranks = np.zeros(len(column.values), np.int64)
    order = sorted(range(len(column.values)), key=column.values.__getitem__)
    ranks[order] = np.arange(len(ranks))
    return ranks[column.codes]


def all_clicks(table: Columns) -> Numbers:
    return _measure(table, "clicks") + _measure(table, "bots")


def _measure(table: Columns, name: str) -> Numbers:
    return table.measures.get(name, np.zeros(table.rows, np.int64))
