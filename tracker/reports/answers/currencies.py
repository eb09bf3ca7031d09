"""What conversions in other currencies than the account's brought, beside the figures of a report.

Money is never added across currencies. A report that has such conversions is read once more,
crossed with the currency.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from tracker.reports.answers.figures import money_of
from tracker.reports.answers.reading import Reading
from tracker.reports.answers.rows import keyed
from tracker.reports.answers.selection import Selection, of_parents
from tracker.reports.answers.tags import by_tag
from tracker.reports.columns import Columns
from tracker.reports.dimensions import CURRENCY, HOME_CURRENCY, NO_EVENT, TAG
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.query import Bots, CurrencyMeasures, ReportQuery
from tracker.reports.threads import in_thread_if_large

_OTHERS: Final = ("other_conversions", "bot_other_conversions")
_SUMS: Final = ("conversions", "other_value", "other_payout")


class OtherCurrencies(NamedTuple):
    """The sums of other currencies, by the key of a row that has any, and of the whole report."""

    by_key: Mapping[str, Sequence[CurrencyMeasures]] = {}
    totals: Sequence[CurrencyMeasures] = ()


async def by_currency(
    run: ReportRun, query: ReportQuery, reading: type[Reading], selection: Selection, table: Columns
) -> Columns | None:
    """Return the counts of a report that was read as `table`, crossed with the currency.

    None if it has no other currencies.
    """
    if not any(map(table.total, _OTHERS)):
        return None
    return await reading(run, query, selection._replace(crossed=(CURRENCY,))).table()


async def other_currencies(
    run: ReportRun, query: ReportQuery, crossed: Columns | None
) -> OtherCurrencies:
    if crossed is None:
        return OtherCurrencies()
    crossed = await of_parents(run, query, crossed)
    rows = await by_tag(run, crossed, query.within) if query.group_by == TAG else crossed

    def by_row(table: Columns) -> Columns:
        return keyed(table, query.group_by, run.scope, run.host)

    return await in_thread_if_large(rows.rows, summed, query.bots, crossed, rows, by_row)


def summed(
    bots: Bots, table: Columns, rows: Columns, by_row: Callable[[Columns], Columns]
) -> OtherCurrencies:
    """Return the sums of a table, and those of `rows` by the only column that `by_row` leaves."""
    names = [f"bot_{name}" if bots == "only" else name for name in _SUMS]
    by_key: defaultdict[str, list[CurrencyMeasures]] = defaultdict(list)
    totals: list[CurrencyMeasures] = []
    for code in sorted({*table.dimensions[CURRENCY].values} - {HOME_CURRENCY, NO_EVENT}):
        _add(totals, code, list(map(table.where(CURRENCY, {code}).total, names)))
        found = by_row(rows.where(CURRENCY, {code}))
        [column] = found.dimensions.values()
        for number, key in enumerate(column.in_rows()):
            sums = [found.measures[name][number] if name in found.measures else 0 for name in names]
            _add(by_key[key], code, sums)
    return OtherCurrencies(by_key, totals)


def _add(to: list[CurrencyMeasures], code: str, sums: Sequence[int]) -> None:
    if any(sums):
        conversions, value, payout = sums
        to.append(CurrencyMeasures(code, int(conversions), money_of(value), money_of(payout)))
