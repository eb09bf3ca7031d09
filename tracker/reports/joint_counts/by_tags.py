"""Counts by the tags of links, in place of the links: made from counts by link, and cached.

Cached counts are valid for one fingerprint of the rollups and one version of the tags
(`links/tags`).
"""

from collections.abc import Mapping, Sequence

from tracker.reports import limits
from tracker.reports.columns import Columns
from tracker.reports.counted import TAGS
from tracker.reports.dimensions import DOCUMENT_KINDS, LINK, DocumentKind
from tracker.reports.joint_counts.counts import Counts
from tracker.reports.joint_counts.scope import ReportScope, Snapshot
from tracker.reports.joint_counts.sources import without
from tracker.reports.joint_counts.store import JointCounts, JointId, NewCounts
from tracker.reports.joint_counts.tags_of_links import COLLECTION, LIFETIME, TagsOfLinks
from tracker.reports.periods import Period, is_over
from tracker.reports.threads import in_thread_if_large
from tracker.stores.mongodb.drivers import Database


class CountsByTags:
    """The counts of an account by tags in a snapshot."""

    def __init__(self, database: Database, scope: ReportScope, snapshot: Snapshot) -> None:
        self._scope = scope
        self._snapshot = snapshot
        self._counts = Counts(database, scope, snapshot)
        self._tags = TagsOfLinks(database, scope.account_id, snapshot)
        self._stored = JointCounts(database, COLLECTION, LIFETIME)

    async def tables(
        self, by: Sequence[str], periods: Sequence[Period]
    ) -> list[tuple[Period, Columns]]:
        """Return what `Counts.tables` returns, with TAGS in the place of the links."""
        await self._snapshot.fingerprints_of(self._scope).read(periods)
        version = await self._tags.version()
        found: list[tuple[Period, Columns]] = []
        for of in DOCUMENT_KINDS:
            found += await self._of_kind(of, by, periods, version)
        return found

    async def _of_kind(
        self, of: DocumentKind, by: Sequence[str], periods: Sequence[Period], version: int | None
    ) -> list[tuple[Period, Columns]]:
        names = [TAGS, *without(LINK, by)]
        tables = await self._cached(of, names, periods, version)
        missing = [period for period in periods if period not in tables]
        counted = await self._counts.tables(by, missing, [of])
        made = await self._tags.by_tags([table for _, table in counted])
        new = dict(zip([period for period, _ in counted], made, strict=True))
        if version is not None:
            await self._store(of, names, new, version)
        return [*tables.items(), *new.items()]

    async def _cached(
        self, of: DocumentKind, names: Sequence[str], periods: Sequence[Period], version: int | None
    ) -> dict[Period, Columns]:
        """Return the valid tables of those periods that have some."""
        if version is None:
            return {}
        ids = {self._id(of, names, period): period for period in periods}
        cached = await self._stored.find(ids, names, self._snapshot.reader.latest())
        valid = {
            ids[one]: counts
            for one, counts in cached.items()
            if counts.fingerprint == self._fingerprint(of, ids[one], version)
        }
        rows = sum(counts.rows() for counts in valid.values())
        await self._snapshot.memory.take(rows * limits.ROW_BYTES)
        return await in_thread_if_large(
            rows, lambda: {period: counts.table() for period, counts in valid.items()}
        )

    async def _store(
        self,
        of: DocumentKind,
        names: Sequence[str],
        tables: Mapping[Period, Columns],
        version: int,
    ) -> None:
        new = {
            self._id(of, names, period): NewCounts(self._fingerprint(of, period, version), table)
            for period, table in tables.items()
            if is_over(period, self._snapshot.now)
        }
        if new:
            await self._stored.store_all(new)

    def _id(self, of: DocumentKind, names: Sequence[str], period: Period) -> JointId:
        account_id, calendar, _ = self._scope
        return JointId(account_id, calendar.zone, None, of, ",".join(names), period.key)

    def _fingerprint(self, of: DocumentKind, period: Period, version: int) -> list[int]:
        return [*self._snapshot.fingerprints_of(self._scope).of(period).of(of), version]
