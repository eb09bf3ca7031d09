"""The costs of periods in a report: how many clicks each meets, and its parts of the rows.

Costs with one filter are read together: the clicks of the report by its own dimensions, the value
and the day, and those of the whole periods by value and day, unless the report has them all. Costs
of hours add the hour.
"""

import functools
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from tracker.calendar import Calendar
from tracker.reports import arrays, columns, limits
from tracker.reports.answers.figures import money_of
from tracker.reports.answers.reading import Reading
from tracker.reports.answers.selection import Selection, selection_of
from tracker.reports.answers.tags import repeated_by_tag
from tracker.reports.columns import Column, Columns, column_of
from tracker.reports.costs.entries import COUNTED, PeriodCost, costs_in
from tracker.reports.costs.spreading import (
    Cell,
    CostKind,
    CostShares,
    all_clicks,
    spread,
    spread_over_rows,
)
from tracker.reports.dimensions import DAY, DIMENSIONS, HOUR, LINK, OWN_PREFIX, TAG
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.query import Measures, ReportQuery
from tracker.reports.rollups.money import sum_in_billionths
from tracker.reports.threads import in_thread_if_large


class CostParts(NamedTuple):
    """The costs of a report in billionths: parts of its rows, by `currency` if not the account's.

    `unspread` have met no click.
    """

    table: Columns
    others: Mapping[str, int]
    unspread: int

    def beside(self, totals: Measures) -> Measures:
        """Return the totals of rows with what stands beside them."""
        others = tuple((code, money_of(amount)) for code, amount in sorted(self.others.items()))
        if not self.unspread:
            return replace(totals, other_costs=others)
        cost = sum_in_billionths(totals.cost or Decimal(0)) + self.unspread
        unspread = money_of(self.unspread)
        return replace(totals, cost=money_of(cost), unspread_cost=unspread, other_costs=others)


async def cost_parts(
    run: ReportRun, query: ReportQuery, read: type[Reading], names: Sequence[str]
) -> CostParts | None:
    """Return the costs of a query that `read` reads, by these dimensions; None without costs."""
    if not run.scope.has_costs or query.tests == "only":
        return None
    days = query.first, query.last
    if days not in run.costs:
        found = await costs_in(run.reader, run.scope.account_id, *days)
        costs = [counted_cost(run, one) for one in found]
        await run.memory.take(len(costs) * limits.ROW_BYTES)
        run.costs[days] = costs, {}
    costs, known = run.costs[days]
    tables, others = [], defaultdict[str, int](int)
    met: dict[UUID, int] = {}
    selection = await selection_of(run, query)
    for of, group in _groups(costs):
        table = await _clicks(run, query, selection, of, read)
        if of not in known:
            has_all = all(_is_of(query, selection, one) for one in group) and not query.filtered_by
            known[of] = await _shares(run, of, group, table if has_all else None)
        shares = known[of]
        met |= shares.met
        for currency in shares.amounts:
            parts = await in_thread_if_large(table.rows, _parts, table, shares, currency, names)
            if currency is None:
                tables.append(parts)
            else:
                others[currency] += parts.total("bot_cost" if query.bots == "only" else "cost")
    unspread = defaultdict[str | None, int](int)
    for cost in costs:
        if not met.get(cost.id) and _is_of(query, selection, cost):
            unspread[cost.currency] += cost.amount
    own = unspread.pop(None, 0)
    for code, amount in unspread.items():
        others[str(code)] += amount
    return CostParts(columns.joined(tables, names), others, own) if costs else None


async def clicks_met(run: ReportRun, costs: Iterable[PeriodCost]) -> dict[UUID, int]:
    """Return how many clicks each cost meets, by its id."""
    await arrays.load()
    counted = [counted_cost(run, one) for one in costs]
    found = {one.id: 0 for one in counted}
    async with run.part("costs"):
        for shares in (await shares_of(run, counted)).values():
            found |= shares.met
    return found


def counted_cost(run: ReportRun, cost: PeriodCost) -> PeriodCost:
    """Return the cost with its own parameter as it is counted.

    A name that the account no longer has stays as it is, and the cost meets no click.
    """
    is_own = cost.filter.startswith(OWN_PREFIX)
    column = run.scope.own.get(cost.filter.removeprefix(OWN_PREFIX)) if is_own else None
    return cost if column is None else cost._replace(filter=column)


async def shares_of(run: ReportRun, costs: Iterable[PeriodCost]) -> dict[CostKind, CostShares]:
    """Return the days' or hours' shares of costs, over all clicks of their periods."""
    return {of: await _shares(run, of, group) for of, group in _groups(costs)}


def _groups(costs: Iterable[PeriodCost]) -> list[tuple[CostKind, list[PeriodCost]]]:
    """Return the costs that are read together, but for those whose filter no click can pass."""
    groups = defaultdict[tuple[str, bool], list[PeriodCost]](list)
    for one in costs:
        if one.filter in DIMENSIONS:
            groups[one.filter, one.is_hourly].append(one)
    return [
        (CostKind(*of, tuple(sorted({one.value for one in group}))), group)
        for of, group in sorted(groups.items())
    ]


async def _shares(
    run: ReportRun, of: CostKind, costs: Sequence[PeriodCost], table: Columns | None = None
) -> CostShares:
    """Return the shares of costs. A `table` has all clicks of their periods."""
    if table is None:
        first, last = min(one.days[0] for one in costs), max(one.days[1] for one in costs)
        query = ReportQuery(
            account_id=run.scope.account_id,
            first=date.fromisoformat(first),
            last=date.fromisoformat(last),
            group_by="day",
        )
        table = await _clicks(run, query, await selection_of(run, query), of, Reading)
    return await in_thread_if_large(
        table.rows + len(costs), _divided, of, costs, table, run.scope.calendar
    )


def _divided(
    of: CostKind, costs: Sequence[PeriodCost], table: Columns, calendar: Calendar
) -> CostShares:
    """Return the shares of costs, given all clicks of their periods."""
    table = table.by([of.filter, *_times_of(of)])
    at = _times(table, of)
    clicks: dict[Cell, int] = defaultdict(int)
    numbers = all_clicks(table)
    values = table.dimensions[of.filter].in_rows()
    for value, time, number in zip(values, at.in_rows(), numbers.tolist(), strict=True):
        clicks[value, time] += number
    times = defaultdict[str, list[str]](list)
    for value, time in sorted(clicks):
        times[value].append(time)
    amounts: dict[str | None, dict[Cell, int]] = {}
    met: dict[UUID, int] = {}
    shown = _clock_hours(calendar) if of.is_hourly else str
    for cost in costs:
        found, (first, last) = times[cost.value], cost.days
        found = found[bisect_left(found, first) : bisect_right(found, f"{last}T~")]
        cells = [(cost.value, one) for one in found if cost.first <= shown(one) <= cost.last]
        counts = [clicks[cell] for cell in cells]
        met[cost.id] = sum(counts)
        of_cells = amounts.setdefault(cost.currency, defaultdict(int))
        for cell, part in zip(cells, spread(cost.amount, counts), strict=True):
            of_cells[cell] += part
    return CostShares(of, clicks, amounts, met)


def _clock_hours(calendar: Calendar) -> Callable[[str], str]:
    """Return the function that names an hour of a day as clocks show it."""

    @functools.cache
    def shown(time: str) -> str:
        day, hour = time.split("T")
        return f"{day}T{calendar.clock_hour(date.fromisoformat(day), int(hour)):02}"

    return shown


def _parts(
    table: Columns, shares: CostShares, currency: str | None, names: Sequence[str]
) -> Columns:
    at = _times(table, shares.of)
    amounts = shares.amounts[currency]
    parts = spread_over_rows(table, shares.of.filter, at, amounts, shares.clicks)
    # The report's own counts may have a domain that nobody asks for (`counted.needed_for`).
    return parts.with_missing(names, "").by(names)


def _times_of(of: CostKind) -> Sequence[str]:
    return (DAY, HOUR) if of.is_hourly else (DAY,)


def _times(table: Columns, of: CostKind) -> Column:
    days = table.dimensions[DAY]
    if not of.is_hourly:
        return days
    pairs = zip(days.in_rows(), table.dimensions[HOUR].in_rows(), strict=True)
    return column_of([f"{day}T{hour}" for day, hour in pairs])


async def _clicks(
    run: ReportRun, query: ReportQuery, selection: Selection, of: CostKind, read: type[Reading]
) -> Columns:
    """Return the clicks of a query that pass the filters of costs, by its dimensions and theirs."""
    name = of.filter
    values = list(map(UUID, of.values)) if name in (LINK, TAG) else of.values
    of_costs = await selection_of(run, replace(query, filters={name: values}, all_tags=False))
    both = _both(selection, of_costs)
    crossed = (COUNTED.get(name, name), *_times_of(of))
    by_day = replace(query, bots="exclude")
    table = await read(run, by_day, both._replace(crossed=crossed)).table()
    if name == TAG:
        table = await repeated_by_tag(run, table)
    return table.where(name, frozenset(of.values))


def _both(one: Selection, other: Selection) -> Selection:
    """Return the values that pass both, of which the `other` has no conditions."""
    links = [set(of.links) for of in (one, other) if of.links is not None]
    values = dict(one.values)
    for name, wanted in other.values.items():
        values[name] = values.get(name, wanted) & wanted
    found = list(set.intersection(*links)) if links else None
    return Selection(found, values, conditions=one.conditions)


def _is_of(query: ReportQuery, selection: Selection, cost: PeriodCost) -> bool:
    """Return whether a report has all of a cost: its whole period, and no other filter or limit."""
    last = cost.days[1] if query.until is None else f"{cost.days[1]}T"
    return (
        query.bots != "only"
        and query.within is None
        and query.first.isoformat() <= cost.days[0]
        and last <= query.last.isoformat()
        and query.filtered_by <= {cost.filter}
        and _passes(query, selection, cost)
    )


def _passes(query: ReportQuery, selection: Selection, cost: PeriodCost) -> bool:
    """Return whether the value of a cost passes the filters by its dimension."""
    if cost.filter != TAG:
        return all(cost.value in found for name, found in selection.passing if name == cost.filter)
    wanted = map(str, query.filters.get(TAG, [cost.value]))
    return cost.value in wanted and cost.value not in map(str, query.excluded.get(TAG, ()))
