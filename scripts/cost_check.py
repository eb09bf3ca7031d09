"""Whether a cost of a period is spread exactly in reports."""

from datetime import date

from tracker.reports import arrays
from tracker.reports.answers.costs import cost_parts, counted_cost, shares_of
from tracker.reports.answers.reading import Reading
from tracker.reports.answers.selection import selection_of
from tracker.reports.costs.entries import PeriodCost
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.query import GroupBy, ReportQuery


async def is_spread_exactly(run: ReportRun, cost: PeriodCost, group_by: GroupBy) -> bool:
    """Return whether the rows of a report of a cost's period are the amount, or none is spread."""
    await arrays.load()
    first, last = map(date.fromisoformat, cost.days)
    query = ReportQuery(account_id=run.scope.account_id, first=first, last=last, group_by=group_by)
    costs = [counted_cost(run, cost._replace(currency=None))]
    async with run.part("costs"):
        run.costs[first, last] = costs, await shares_of(run, costs)
        names = Reading(run, query, await selection_of(run, query)).names
        found = await cost_parts(run, query, Reading, names)
    assert found is not None
    parts = found.table.total("cost"), found.unspread
    return sum(parts) == cost.amount and 0 in parts
