"""Cross tables in shares, whose rows readers unfold."""

from collections.abc import Collection, Sequence
from typing import Annotated, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from tracker.reports.answers.compared import read_detailed
from tracker.reports.answers.selection import resolved
from tracker.reports.api.answer import ChosenColumns
from tracker.reports.api.figures import ReportRow, ReportTotals
from tracker.reports.api.groups import Levels, Parents, check_groups
from tracker.reports.api.having import HavingIn, without
from tracker.reports.api.overview import CreateOverview
from tracker.reports.api.schema import (
    DEFAULT_SORT,
    MeasureNames,
    Sort,
    check_sort,
    order_of,
    sorted_by,
)
from tracker.reports.services import ReportServices
from tracker.web.limits import MAX_PANEL_ROWS

MAX_TABLES: Final = 3


class ShareTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A cross table of a share."""

    group_by: Levels = field(name="groupBy")
    columns: MeasureNames | UnsetType = UNSET
    sort: Sort = DEFAULT_SORT
    having: HavingIn | UnsetType = UNSET

    def __post_init__(self) -> None:
        check_groups("groupBy", self.group_by)

    def check(self, name: str, is_compared: bool) -> None:
        """Raises ValueError, which names the field of the table called `name`."""
        check_sort(f"{name}.sort", self.sort, is_compared)
        if is_compared and "hour" in self.group_by:
            raise ValueError(f"{name}.groupBy: hours are not compared")


class SharedTable(msgspec.Struct, kw_only=True):
    """Rows of a cross table: its first ones, or those below `parents`, whose row is `totals`."""

    group_by: Levels = field(name="groupBy")
    parents: list[str]
    rows: list[ReportRow]
    totals: ReportTotals
    total_rows: Annotated[int, Meta(description=f"of which at most {MAX_PANEL_ROWS} are shown")] = (
        field(name="totalRows")
    )


async def read_table(
    services: ReportServices,
    report: CreateOverview,
    table: ShareTable,
    parents: Parents,
    hidden: Collection[str],
    within: frozenset[UUID] | None,
) -> SharedTable:
    """Return the rows below `parents`, all but the columns that are `hidden`."""
    levels: Sequence[str] = table.group_by
    having = without(table.having, hidden)
    query = replace(
        report.query(report.account_id, within),
        group_by=levels[len(parents)],
        levels=levels,
        parents=parents,
        page_size=MAX_PANEL_ROWS,
        having=() if isinstance(having, UnsetType) else having.bounds(),
        **order_of(DEFAULT_SORT if sorted_by(table.sort) in hidden else table.sort),
    )
    async with services.reports.begin(report.account_id) as run:
        query = resolved(run.scope, query)
        found = await read_detailed(run, query, None, report.comparison())
    previous, totals = found.previous, found.report.totals
    columns = table.columns
    if not isinstance(columns, UnsetType):
        columns = [one for one in columns if one not in hidden] or UNSET
    told = [totals, *(previous.figures() if previous else ())]
    chosen = ChosenColumns(columns, told, hidden)
    return SharedTable(
        group_by=table.group_by,
        parents=parents,
        rows=chosen.rows(found.report.rows, found.previous_rows),
        totals=chosen.totals(totals, previous.totals if previous else None),
        total_rows=found.report.total_rows,
    )
