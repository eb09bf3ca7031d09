"""Cross tables in shares, whose rows readers unfold."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.errors import BadRequest
from tracker.reports.api.figures import ReportRow, ReportTotals
from tracker.reports.api.groups import Levels, Parents, check_groups
from tracker.reports.api.having import Having, HavingIn, without
from tracker.reports.api.overview import CreateOverview
from tracker.reports.api.reports import report
from tracker.reports.api.schema import (
    DEFAULT_SORT,
    CreateReport,
    MeasureNames,
    Sort,
    check_sort,
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
    overview: CreateOverview,
    table: ShareTable,
    parents: Parents,
    hidden: Collection[str],
    within: frozenset[UUID] | None,
) -> SharedTable:
    """Return the rows below `parents`, all but the columns that are `hidden`."""
    columns = table.columns
    if not isinstance(columns, UnsetType):
        columns = [one for one in columns if one not in hidden] or UNSET
    with naming_rule():
        wanted = rows_of(
            overview,
            group_by=table.group_by,
            parents=parents,
            columns=columns,
            sort=DEFAULT_SORT if sorted_by(table.sort) in hidden else table.sort,
            having=without(table.having, hidden),
            page_size=MAX_PANEL_ROWS,
        )
    found = await report(services, overview.account_id, wanted, within, hidden)
    return SharedTable(
        group_by=table.group_by,
        parents=parents,
        rows=found.rows,
        totals=found.totals,
        total_rows=found.pagination.total_rows,
    )


@contextmanager
def naming_rule() -> Iterator[None]:
    """Raises BadRequest for a rule that the report of chosen days breaks, such as its years."""
    try:
        yield
    except ValueError as error:
        raise BadRequest(str(error)) from None


def rows_of(overview: CreateOverview, having: Having | UnsetType, **fields: Any) -> CreateReport:
    """Return the report of the same clicks. Raises ValueError for a rule that it breaks."""
    given = {name: getattr(overview, name) for name in _OF_OVERVIEW} | fields
    return CreateReport(having=Having() if isinstance(having, UnsetType) else having, **given)


_OF_OVERVIEW: Final = ("account_id", "date_range", "filters", "tag_operator", "bots", "compare")
