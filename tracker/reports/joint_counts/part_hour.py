"""Counts of an hour up to a moment in it, from its clicks and events.

Only documents have minutes; rollups and joint counts have hours. Large counts are cached, and the
next report continues from their end while the hour's fingerprint is the same.
"""

from collections.abc import Sequence
from datetime import datetime

from tracker.reports import columns, limits
from tracker.reports.columns import Columns
from tracker.reports.counted import dimensions_in, dimensions_of, of_kind
from tracker.reports.dimensions import DOMAIN, LINK, NO_EVENT, DocumentKind
from tracker.reports.joint_counts.documents import DocumentScans, documents_in
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.joint_counts.sources import CountSources
from tracker.reports.joint_counts.store import CachedTable, JointId, NewTable
from tracker.reports.joint_counts.unattributed import with_unattributed
from tracker.reports.periods import Period, is_over
from tracker.reports.threads import in_thread


class PartHour:
    """The counts of a scope in one hour up to a moment."""

    def __init__(self, run: ReportRun, scope: ReportScope) -> None:
        self._run = run
        self._scope = scope
        self._sources = CountSources(run, scope)
        self._joint = self._sources.joint

    async def tables(self, by: Sequence[str], hour: Period, until: datetime) -> list[Columns]:
        """Return the tables of clicks and of events, including conversions without a click."""
        await self._sources.fingerprints.read([hour])
        clicks = await self._counted("clicks", of_kind("clicks", by), hour, until)
        events = await self._counted("events", by, hour, until)
        return [clicks.with_missing(by, NO_EVENT), events]

    async def _counted(
        self, of: DocumentKind, names: Sequence[str], hour: Period, until: datetime
    ) -> Columns:
        fingerprint = self._sources.fingerprints.of(hour)
        expected = fingerprint.count(of)
        if not expected:
            return columns.empty(names)
        every = _every(of, names, expected, self._scope.extra)
        one = self._sources.id_of(of, every, hour)._replace(period=f"{hour.key} part")
        known = await self._known(one, fingerprint.of(of), [*names, *_separating(names)], until)
        start = hour.start if known is None or known.through is None else known.through
        share = (until - start) / (hour.end - hour.start)
        documents = DocumentScans(
            self._run, self._scope, few=share * expected <= limits.FEW_DOCUMENTS
        )
        table = await documents.count(of, every, hour, expected, start, until)
        if documents_in(table) > limits.FEW_DOCUMENTS and is_over(hour, self._run.at):
            table = await self._cache(one, fingerprint.of(of), every, table, until)
            known = None
        tables = [table] if known is None else [table, await in_thread(known.table)]
        return await in_thread(_summed, tables, names)

    async def _known(
        self, one: JointId, fingerprint: list[int], names: Sequence[str], until: datetime
    ) -> CachedTable | None:
        """Return the cached counts, if they are valid and end by `until`."""
        known = (await self._joint.find([one], names, self._run.latest)).get(one)
        if known is None or not known.is_valid(fingerprint, until):
            return None
        await self._run.memory.take(known.rows() * limits.ROW_BYTES)
        return known

    async def _cache(
        self,
        one: JointId,
        fingerprint: list[int],
        every: Sequence[str],
        new: Columns,
        until: datetime,
    ) -> Columns:
        """Add the new counts to the cached ones, and cache the sum."""
        known = await self._known(one, fingerprint, every, until)
        if known is not None:
            table = await in_thread(known.table)
            new = await in_thread(columns.summed, [table, new], every)
        await self._joint.store({one: NewTable(fingerprint, new, until)})
        return new


def _every(
    of: DocumentKind, names: Sequence[str], expected: int, extra: Sequence[str]
) -> Sequence[str]:
    """Return all dimensions, or in a very large hour only the needed ones."""
    if expected > limits.LARGE_DAY:
        return dimensions_in([names, _separating(names)])
    return dimensions_of(of, of_hour=True, extra=extra)


def _separating(names: Sequence[str]) -> Sequence[str]:
    """Return the dimension that identifies conversions without a click, unless `names` have one."""
    return () if {LINK, DOMAIN} & set(names) else (DOMAIN,)


def _summed(tables: Sequence[Columns], names: Sequence[str]) -> Columns:
    found = [with_unattributed(one).by(names) for one in tables]
    return columns.joined(found, names)
