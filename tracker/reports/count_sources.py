"""The sources of a period's counts: those by all dimensions, rollups, or all its documents.

`reports/counts` decides which of them, and keeps what is made.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tracker.db.connect import Database
from tracker.reports.columns import CLICK_MEASURES, EVENT_COUNTS, MONEY, Columns
from tracker.reports.dimensions import ALL_COUNTED, LINK, OfDocuments, rollups_for
from tracker.reports.document_counts import DocumentCounts, with_missing
from tracker.reports.joint_counts import Found, JointCounts, JointId, name_of
from tracker.reports.periods import Period
from tracker.reports.pipelines import RollupQuery
from tracker.reports.rollup_table import rollup_table
from tracker.reports.scope import Scope, Snapshot
from tracker.reports.threads import in_thread

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
        self.marks = snapshot.marks_of(scope)
        self._account_marks = self.marks
        if scope.link_id is not None:
            self._account_marks = snapshot.marks_of(scope._replace(link_id=None))
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
        self, of: OfDocuments, names: Sequence[str], periods: Sequence[Period]
    ) -> dict[Period, Columns]:
        """Return the counts of those periods whose counts by all dimensions are valid."""
        found = await self._by_all(of, names, periods)
        valid = {
            period: one
            for period, one in found.items()
            if one.mark == self._account_marks.of(period).of(of)
        }
        return await in_thread(self._summed, valid, names) if valid else {}

    async def _by_all(
        self, of: OfDocuments, names: Sequence[str], periods: Sequence[Period]
    ) -> dict[Period, Found]:
        """Return what is kept by all dimensions, valid or not. Of months nothing is."""
        ids = {
            self.id_of(of, ALL_COUNTED, period)._replace(link_id=None): period
            for period in periods
            if period.kind != "month"
        }
        read = list(names) if self._scope.link_id is None else [LINK, *without(LINK, names)]
        found = await self.joint.find(ids, read, self._snapshot.reader.latest())
        return {ids[one]: kept for one, kept in found.items()}

    def _summed(self, found: Mapping[Period, Found], names: Sequence[str]) -> dict[Period, Columns]:
        link_id = self._scope.link_id
        wanted = {} if link_id is None else {LINK: {str(link_id)}}
        return {period: one.table(wanted).by(names) for period, one in found.items()}

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
        kept = await self._by_all(of, names, [period])
        if kept:
            known = (await in_thread(self._summed, kept, names))[period]
            table = max(table, known, key=_clicks)
        return with_missing(table, self.marks.of(period).missing(table), names)


def without(name: str, names: Sequence[str]) -> list[str]:
    """Return the other names, in their order."""
    return [one for one in names if one != name]


def _clicks(table: Columns) -> int:
    return table.total("clicks") + table.total("bots")
