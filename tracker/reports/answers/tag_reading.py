"""The counts of a query by tags of many links. Its tables have sets of tags in place of links."""

from collections.abc import Sequence
from datetime import date
from typing import Final
from uuid import UUID

from tracker.reports.answers.reading import Reading
from tracker.reports.columns import Columns
from tracker.reports.counted import TAGS, tags_in
from tracker.reports.dimensions import LINK, TAG
from tracker.reports.joint_counts.by_tags import CountsByTags
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.joint_counts.tags_of_links import TagsOfLinks
from tracker.reports.joint_counts.unfinished_day import FEW_ROLLUPS
from tracker.reports.query import ReportQuery
from tracker.reports.rollups.layout import RollupSelection
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

    def _names(self) -> list[str]:
        return [TAGS if name == LINK else name for name in super()._names()]

    def filtered(self, table: Columns) -> Columns:
        table = super().filtered(table)
        wanted = frozenset(map(str, self._query.filters.get(TAG, ())))
        if not wanted:
            return table
        least = len(wanted) if self._query.all_tags else 1
        values = table.dimensions[TAGS].values
        passing = {one for one in values if len(wanted.intersection(tags_in(one))) >= least}
        return table.where(TAGS, passing)

    def _counts(self, scope: ReportScope, by: Sequence[str]) -> CountsByTags:
        return CountsByTags(self._database, scope, self._snapshot)

    async def _from_rollups(self, selection: RollupSelection, first: date, last: date) -> Columns:
        table = await super()._from_rollups(selection, first, last)
        tags = TagsOfLinks(self._database, self._scope.account_id, self._snapshot)
        [found] = await tags.by_tags([table])
        return found
