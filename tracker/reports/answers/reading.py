"""The reading of a query, whose cost depends on days and distinct values, never on clicks.

- At most one dimension of the account: from its rollups. A long range uses the cached counts of
  whole months.
- Links and at most one other dimension: from rollups of links, if they are few. Else from joint
  counts of months, days, and hours of the unfinished day.
- Anything else: from joint counts of months, days, and hours of the unfinished day.
- Tests: from their documents (`reports/answers/counting_of_tests`).
"""

from collections.abc import Container, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from tracker.reports import columns
from tracker.reports.answers.counting_of_tests import count_tests
from tracker.reports.answers.selection import Selection
from tracker.reports.answers.sums import measures_read
from tracker.reports.columns import FURTHER, Columns
from tracker.reports.counted import needed_for, own_value, stored_values
from tracker.reports.dimensions import (
    DAY,
    EVENT,
    HOUR,
    LINK,
    TIME,
)
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.joint_counts.tables import JointTables
from tracker.reports.joint_counts.unattributed import (
    UnattributedQuery,
    separates_unattributed,
    with_unattributed,
)
from tracker.reports.joint_counts.unfinished_day import FEW_ROLLUPS, hours_of_many_links
from tracker.reports.periods import Period, hours_of, is_over, periods_of, with_first_hours
from tracker.reports.query import ReportQuery
from tracker.reports.rollups.layout import RollupSelection, rollups_for
from tracker.reports.rollups.pipelines import RollupQuery, rollup_table
from tracker.reports.threads import in_thread_if_large

_LONG: Final = 62
"""Days of a range beyond which counts of its months are cached, though rollups have them."""

_DAY: Final = timedelta(days=1)


class Reading:
    """The reading of one query, whose filters have been resolved to a selection.

    `needed` are its counted dimensions, `names` its table's dimensions.
    """

    def __init__(self, run: ReportRun, query: ReportQuery, selection: Selection) -> None:
        self._run = run
        self._query = query
        self._selection = selection
        self._links = selection.links
        self.needed = needed_for(
            query.group_by, {*query.filtered_by, *query.levels, *selection.crossed}
        )
        # The name of each own parameter that is needed, by its column.
        own = {column: name for name, column in run.scope.own.items()}
        self._own = {column: own[column] for column in self.needed if column in own}
        self._times = TIME.intersection((query.group_by, *query.levels, *selection.crossed))
        self._by_day = bool(self._times)
        self.names = [*([DAY] if self._by_day else []), *self.needed]

    async def table(self) -> Columns:
        """Return the counts that pass the filters, by the dimensions in `names`."""
        if self._query.tests == "only":
            days = self._query.first, self._query.last
            return self._joined(
                [await count_tests(self._run, self.needed, *days, self._query.until)]
            )
        tables = await self._tables()
        rows = sum(one.rows for one in tables)
        table = await in_thread_if_large(rows, self._joined, tables)
        if "events" not in self._selection.kinds:
            return table
        if separates_unattributed(table):
            return await in_thread_if_large(table.rows, with_unattributed, table)
        others = await self._unattributed()
        return columns.joined([table, others], self.names)

    def filtered(self, table: Columns) -> Columns:
        """Return the rows of a table of stored values that pass the filters."""
        for column, name in self._own.items():
            shown = table.dimensions[column].mapped(partial(own_value, name))
            table = table.with_column(column, shown)
        for name, values in self._selection.passing:
            table = table.where(name, values)
        return table

    def _joined(self, tables: Sequence[Columns]) -> Columns:
        names = self.names
        return columns.joined([self.filtered(one).by(names) for one in tables], names)

    async def _unattributed(self) -> Columns:
        run, query = self._run, self._query
        crossed = next((name for name in (HOUR, EVENT) if name in self.needed), None)
        wanted = UnattributedQuery(query.first, query.last, crossed)
        passing = self._selection.passing
        return await run.unattributed.of(run.reader, run.scope, wanted, self.names, passing)

    async def _tables(self) -> list[Columns]:
        if self._links is not None and not self._links:
            return []
        selection = rollups_for(self.needed)
        if selection is None:
            return await self._crossed()
        if selection.of == "account":
            return await self._of_account(selection)
        return await self._of_links(selection)

    async def _of_account(self, selection: RollupSelection) -> list[Columns]:
        days = (self._query.last - self._query.first).days + 1
        periods = self._periods(months=days > _LONG)
        months = [one for one in periods if one.kind == "month"]
        found = await self._counted(self._run.scope, self.needed, months)
        for first, last in _runs([one.first for one in periods if one.kind == "day"]):
            found.append(await self._from_rollups(selection, first, last))
        return found

    async def _of_links(self, selection: RollupSelection) -> list[Columns]:
        query = self._query
        days = (query.last - query.first).days + 1
        if self._links is not None and len(self._links) * days <= FEW_ROLLUPS:
            return [await self._from_rollups(selection, query.first, query.last)]
        periods = self._periods(months=True)
        counted: list[Period] = []
        summed: list[Period] = []
        for one in periods:
            if is_over(one, self._run.at):
                counted.append(one)
                continue
            hours = await hours_of_many_links(self._run, self.needed, one)
            counted += hours
            if not hours:
                summed.append(one)
        found = await self._counted(self._run.scope, self.needed, counted)
        for first, last in _runs([one.first for one in summed]):
            found.append(await self._from_rollups(selection, first, last))
        return found

    async def _crossed(self) -> list[Columns]:
        scope, now = self._run.scope, self._run.at
        periods: list[Period] = []
        for one in self._periods(months=True):
            if one.start > now or is_over(one, now):
                periods.append(one)
                continue
            hours = hours_of(scope.calendar, one.first)
            periods += with_first_hours(scope.calendar, hours, now)
        if self._links is None or len(self._links) != 1:
            return await self._counted(scope, self.needed, periods)
        [link_id] = self._links
        names = [name for name in self.needed if name != LINK]
        tables = await self._counted(scope._replace(link_id=link_id), names, periods)
        return [one.with_constant(LINK, str(link_id)) for one in tables]

    def _periods(self, months: bool) -> list[Period]:
        whole = months and self._times <= {"month"}
        query, run = self._query, self._run
        return periods_of(run.scope.calendar, query.first, query.last, run.at, whole)

    async def _counted(
        self, scope: ReportScope, by: Sequence[str], periods: Sequence[Period]
    ) -> list[Columns]:
        wanted = self._stored_values(by)
        joint = JointTables(self._run, scope, wanted)
        tables = await joint.tables(by, periods, self._selection.kinds)
        if not self._by_day:
            return [table for _, table in tables]
        return [one.with_constant(DAY, period.first.isoformat()) for period, one in tables]

    def _stored_values(self, by: Sequence[str]) -> Mapping[str, Container[str]]:
        """Return the stored values that pass the filters, except where too many do."""
        found: dict[str, Container[str]] = {}
        for column, values in self._selection.values.items():
            name = self._own.get(column)
            stored = values if name is None else stored_values(name, values)
            if column in by and stored is not None:
                found[column] = stored
        for column, condition in self._selection.conditions.items():
            if column in by and column not in self._own:
                found.setdefault(column, condition)
        return found

    def _few_links(self) -> Sequence[UUID] | None:
        """Return the links to read; None for all. A filter may match too many links to name."""
        links = self._links
        return links if links is not None and len(links) <= FEW_ROLLUPS else None

    async def _from_rollups(self, selection: RollupSelection, first: date, last: date) -> Columns:
        """Return the counts. The first sums of a run tell whether it needs further measures."""
        run, cells = self._run, self._selection.values.get(selection.map or "")
        query = RollupQuery(
            matching=run.scope.rollups(selection.of),
            selection=selection,
            names=self.needed,
            first=first,
            last=last,
            by_day=self._by_day,
            links=self._few_links(),
            cells=None if cells is None else list(cells),
            measures=measures_read(self._query.bots, run.has_further),
        )
        table = None if run.rollups is None else await run.rollups.table(run.reader, query)
        table = table or await rollup_table(run.reader, query)
        if run.has_further or not table.total(FURTHER):
            return table
        run.has_further = True
        return await self._from_rollups(selection, first, last)


def _runs(days: Sequence[date]) -> list[tuple[date, date]]:
    """Return the first and last day of each run of consecutive days."""
    runs: list[tuple[date, date]] = []
    for day in days:
        if runs and runs[-1][1] + _DAY == day:
            runs[-1] = runs[-1][0], day
        else:
            runs.append((day, day))
    return runs
