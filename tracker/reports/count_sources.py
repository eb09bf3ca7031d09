"""The sources of a period's counts: those by all dimensions, rollups, or all its documents.

`reports/counts` decides which of them, and keeps what is made.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from tracker.db.connect import Database
from tracker.reports.columns import CLICK_MEASURES, EVENT_COUNTS, MONEY, Columns
from tracker.reports.dimensions import ALL_COUNTED, LINK, OfDocuments, rollups_for
from tracker.reports.document_counts import DocumentCounts, with_missing
from tracker.reports.joint_counts import JointCounts, JointId, Kept, name_of
from tracker.reports.marks import Marks
from tracker.reports.periods import Period
from tracker.reports.pipelines import RollupQuery
from tracker.reports.rollup_table import rollup_table
from tracker.reports.scope import Scope, Snapshot

_MEASURES: Final[dict[OfDocuments, Sequence[str]]] = {
    "clicks": CLICK_MEASURES,
    "events": (*EVENT_COUNTS, *MONEY),
}


class CountSources:
    """The sources of a scope's counts in a snapshot.

    `marks` are those of the scope; `account_marks` those of its account, whose counts by all
    dimensions have those of each link.
    """

    def __init__(self, database: Database, scope: Scope, snapshot: Snapshot) -> None:
        self.joint = JointCounts(database)
        self.documents = DocumentCounts(scope, snapshot)
        self.marks = Marks(snapshot.reader, scope.rollups())
        self._account_marks = self.marks
        if scope.link_id is not None:
            of_account = scope._replace(link_id=None).rollups()
            self._account_marks = Marks(snapshot.reader, of_account)
        self._scope = scope
        self._snapshot = snapshot

    async def read_marks(self, periods: Sequence[Period]) -> None:
        """Read the marks of these periods. Raises PyMongoError if MongoDB does not answer."""
        await self.marks.read(periods)
        if self._account_marks is not self.marks:
            await self._account_marks.read(periods)

    def id_of(self, of: OfDocuments, names: Sequence[str], period: Period) -> JointId:
        """Return the id of the scope's counts by these dimensions."""
        account_id, calendar, link_id = self._scope
        by = name_of(names, of_hour=period.hour is not None)
        return JointId(account_id, calendar.zone, link_id, of, by, period.key)

    async def from_all(
        self, of: OfDocuments, names: Sequence[str], period: Period
    ) -> Columns | None:
        """Return the counts made from those by all dimensions; None if these are not valid."""
        found = await self._by_all(of, names, period)
        if found is None or found.mark != self._account_marks.of(period).of(of):
            return None
        return found.table

    async def _by_all(self, of: OfDocuments, names: Sequence[str], period: Period) -> Kept | None:
        """Return what is kept by all dimensions, valid or not, and summed up by these."""
        one = self.id_of(of, ALL_COUNTED, period)._replace(link_id=None)
        if period.kind == "month":
            return None
        link_id = self._scope.link_id
        read = list(names) if link_id is None else [LINK, *without(LINK, names)]
        found = (await self.joint.find([one], read, self._snapshot.reader.latest())).get(one)
        if found is None:
            return None
        wanted = {} if link_id is None else {LINK: {str(link_id)}}
        return Kept(found.mark, await asyncio.to_thread(lambda: found.table(wanted).by(names)))

    async def from_rollups(
        self, of: OfDocuments, names: Sequence[str], period: Period
    ) -> Columns | None:
        """Return the counts that rollups have; None if they do not have these dimensions."""
        source = rollups_for(names)
        if source is None or period.kind == "hour" or self._scope.link_id is not None:
            return None
        if LINK in names:  # a month of 20,000 links takes as long as a million clicks
            await self._snapshot.before_counting()
        query = RollupQuery(
            matching=self._scope.rollups(source.of),
            source=source,
            names=names,
            first=period.first,
            last=period.last,
            measures=_MEASURES[of],
        )
        return await rollup_table(self._snapshot.reader, query)

    async def from_documents(
        self, of: OfDocuments, names: Sequence[str], period: Period
    ) -> Columns:
        """Return the counts of all clicks or events of the period.

        Raises PyMongoError if MongoDB does not answer, and what `before_counting` raises.
        """
        table = await self.documents.count(of, names, period, self.marks.of(period).count(of))
        if of == "events" or not self.marks.of(period).missing(table):
            return table
        # Retention has deleted clicks: what was counted before knows more of them.
        kept = await self._by_all(of, names, period)
        if kept is not None and _clicks(kept.table) > _clicks(table):
            table = kept.table
        return with_missing(table, self.marks.of(period).missing(table), names)


def without(name: str, names: Sequence[str]) -> list[str]:
    """Return the other names, in their order."""
    return [one for one in names if one != name]


def _clicks(table: Columns) -> int:
    return table.total("clicks") + table.total("bots")
