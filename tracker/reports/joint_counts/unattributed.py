"""Conversions without a click, which count in a report but not in its rate.

They have no link, and every value of a click is `unknown`. A table by link or domain shows them.
For other tables, the rollups without a link have them by day, and by hour or event. If both are
needed, `needed_for` adds the domain.
"""

from collections.abc import Container, Sequence
from datetime import date
from typing import Final, NamedTuple

from tracker.reports.arrays import np
from tracker.reports.columns import UNATTRIBUTED, Columns, empty
from tracker.reports.dimensions import DOMAIN, EVENT, HOUR, LINK
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.rollups.layout import RollupSelection
from tracker.reports.rollups.pipelines import RollupQuery, rollup_table
from tracker.stores.mongodb.reads import MongoReads
from tracker.visitor_dimensions import UNKNOWN

_SEPARATING: Final = (LINK, DOMAIN)
_MAPS: Final = (EVENT, HOUR)


class UnattributedQuery(NamedTuple):
    """The days of a report, and its map of hours or events."""

    first: date
    last: date
    map: str | None = None


class Unattributed:
    """The conversions without a click of one account, shared by the parts of a request.

    They are read by day, and by hour or event only if there are some.
    """

    def __init__(self) -> None:
        self._read: dict[UnattributedQuery, Columns] = {}

    async def of(
        self,
        reader: MongoReads,
        scope: ReportScope,
        query: UnattributedQuery,
        names: Sequence[str],
        passing: Sequence[tuple[str, Container[str]]],
    ) -> Columns:
        """Return the conversions that pass the filters, by these dimensions."""
        if any(UNKNOWN not in wanted for name, wanted in passing if name not in _MAPS):
            return empty(names)
        table = await self._by_day(reader, scope, query._replace(map=None))
        if query.map is not None and table.rows:
            table = await self._by_day(reader, scope, query)
        if not table.rows:
            return empty(names)
        for name, wanted in passing:
            if name in _MAPS:
                table = table.where(name, wanted)
        table = table.by([name for name in names if name in table.dimensions])
        for name in names:
            if name not in table.dimensions:
                table = table.with_constant(name, UNKNOWN)
        return table

    async def _by_day(
        self, reader: MongoReads, scope: ReportScope, query: UnattributedQuery
    ) -> Columns:
        if query not in self._read:
            self._read[query] = await _of_rollups(reader, scope, query)
        return self._read[query]


def separates_unattributed(table: Columns) -> bool:
    """Return whether the table distinguishes conversions without a click."""
    return any(name in table.dimensions for name in _SEPARATING)


def with_unattributed(table: Columns) -> Columns:
    """Add the measure to a table by link or domain."""
    conversions = table.measures.get("conversions")
    if conversions is None:
        numbers = np.zeros(table.rows, np.int64)
    else:
        name = next(one for one in _SEPARATING if one in table.dimensions)
        numbers = table.dimensions[name].is_one_of({UNKNOWN}) * conversions
    return Columns(table.dimensions, {**table.measures, UNATTRIBUTED: numbers}, table.rows)


async def _of_rollups(reader: MongoReads, scope: ReportScope, query: UnattributedQuery) -> Columns:
    sums = RollupQuery(
        matching=scope.rollups("link"),
        selection=RollupSelection("link", query.map),
        names=() if query.map is None else (query.map,),
        first=query.first,
        last=query.last,
        by_day=True,
        links=[None],
        measures=("conversions",),
    )
    table = await rollup_table(reader, sums)
    return Columns(table.dimensions, {UNATTRIBUTED: table.measures["conversions"]}, table.rows)
