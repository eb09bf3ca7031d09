"""The counts of a query by tags of many links. Its tables have sets of tags in place of links."""

from collections.abc import Sequence
from datetime import date
from typing import Final
from uuid import UUID

from tracker.reports.answers.reading import Reading
from tracker.reports.columns import Columns
from tracker.reports.counted import TAGS, tags_in
from tracker.reports.dimensions import DAY, LINK, TAG
from tracker.reports.joint_counts.by_tags import CountsByTags, with_tags
from tracker.reports.joint_counts.scope import ReportScope, Snapshot
from tracker.reports.joint_counts.unfinished_day import FEW_ROLLUPS
from tracker.reports.periods import Period
from tracker.reports.query import ReportQuery
from tracker.reports.rollups.layout import RollupSelection
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads

_LEAST: Final = UUID(int=0)

_INDEX: Final = "by_tag"
"""MongoDB chooses another index now and then, and then reads the links."""


async def is_by_tags(query: ReportQuery, reader: MongoReads) -> bool:
    """Return whether a query needs the tags of many links, and not the links themselves."""
    asked = {query.group_by, *query.filters}
    if TAG not in asked or LINK in asked or query.tests == "only" or query.until is not None:
        return False
    tags = query.filters.get(TAG)
    # Any tag of a filter, and not $ne for no filter: the index alone answers both.
    wanted = {"$gte": _LEAST} if tags is None else {"$in": list(tags)}
    tagged = {"account_id": query.account_id, "tags": wanted}
    limit = FEW_ROLLUPS + 1
    return await reader.count("links", tagged, limit=limit, hint=_INDEX) > FEW_ROLLUPS


class TagReading(Reading):
    """The reading of a query by tags, in a snapshot."""

    def __init__(
        self,
        database: Database,
        query: ReportQuery,
        scope: ReportScope,
        snapshot: Snapshot,
        links: Sequence[UUID] | None,
        wanted: dict[str, Sequence[str]],
    ) -> None:
        super().__init__(database, query, scope, snapshot, links, wanted)
        self.names = [TAGS if name == LINK else name for name in self.names]

    def filtered(self, table: Columns) -> Columns:
        table = super().filtered(table)
        wanted = frozenset(map(str, self._query.filters.get(TAG, ())))
        if not wanted:
            return table
        least = len(wanted) if self._query.all_tags else 1
        values = table.dimensions[TAGS].values
        passing = {one for one in values if len(wanted.intersection(tags_in(one))) >= least}
        return table.where(TAGS, passing)

    async def _counted(
        self, scope: ReportScope, by: Sequence[str], periods: Sequence[Period]
    ) -> list[Columns]:
        counts = CountsByTags(self._database, scope, self._snapshot)
        return [
            table.with_constant(DAY, period.first.isoformat()) if self._by_day else table
            for period, table in await counts.tables(by, periods)
        ]

    async def _from_rollups(self, selection: RollupSelection, first: date, last: date) -> Columns:
        table = await super()._from_rollups(selection, first, last)
        snapshot = self._snapshot
        [found] = await with_tags(snapshot.reader, self._scope.account_id, snapshot.memory, [table])
        return found
