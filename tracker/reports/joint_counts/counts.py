"""Counts by several dimensions: cached ones where they are valid, else computed and cached.

The counts of a period are valid while their fingerprint equals that of the snapshot's rollups
(`reports/joint_counts/fingerprints`). Else they are computed from the cheapest source:

- the day's counts by all dimensions: 50 ns a click;
- rollups with these dimensions;
- the counts of its parts: the days of a month, or the hours of a large day;
- its clicks and conversions: 2 to 5 µs each, with a permit to count (`reports/answers/turn`).

Guarantee: a table has exactly the figures of the snapshot's documents. Clicks that retention has
deleted count as unknown, so sums always equal the rollups'.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from tracker.errors import BadRequest
from tracker.reports import columns, limits
from tracker.reports.columns import Columns
from tracker.reports.counted import dimensions_in, dimensions_of
from tracker.reports.dimensions import DOCUMENT_KINDS, EVENT, HOUR, NO_EVENT, DocumentKind
from tracker.reports.joint_counts.hour_so_far import STORING_TIME, count_so_far
from tracker.reports.joint_counts.scope import PeriodProgress, ReportScope, Snapshot
from tracker.reports.joint_counts.sources import CountSources, without
from tracker.reports.joint_counts.store import (
    ALL,
    CacheBatch,
    CachedCounts,
    JointId,
    NewCounts,
    name_of,
)
from tracker.reports.joint_counts.unfinished_day import count_first_hours
from tracker.reports.memory import bytes_of
from tracker.reports.periods import Period, is_over
from tracker.reports.threads import in_thread, in_thread_if_large
from tracker.stores.mongodb.drivers import Database


class Counts:
    """The counts of a scope in a snapshot. Rows without the `wanted` values may be missing."""

    def __init__(
        self,
        database: Database,
        scope: ReportScope,
        snapshot: Snapshot,
        wanted: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self._wanted = wanted or {}
        self._scope = scope
        self._snapshot = snapshot
        # Counts that another report has cached since the snapshot began are valid too.
        self._latest = snapshot.reader.latest()
        self._sources = CountSources(database, scope, snapshot)
        self._joint = self._sources.joint
        self._fingerprints = self._sources.fingerprints

    async def tables(
        self, by: Sequence[str], periods: Sequence[Period]
    ) -> list[tuple[Period, Columns]]:
        """Return tables of clicks and of events, by period. Raises BadRequest for too many rows."""
        await self._sources.read_fingerprints(periods)
        progress = PeriodProgress(len(DOCUMENT_KINDS) * len(periods), self._snapshot.on_progress)
        found = []
        for of in DOCUMENT_KINDS:
            names = without(EVENT, by) if of == "clicks" else by
            tables = await self._tables_of(of, names, periods, progress)
            if names is not by and EVENT in by:
                tables = [(one, table.with_constant(EVENT, NO_EVENT)) for one, table in tables]
            found += tables
        return found

    async def _tables_of(
        self,
        of: DocumentKind,
        names: Sequence[str],
        periods: Sequence[Period],
        progress: PeriodProgress | None,
    ) -> list[tuple[Period, Columns]]:
        """Return the tables of the periods that have clicks, or events.

        Without `progress` tables have all rows, and are cached only if documents were counted.
        """
        if HOUR not in names:
            return await self._read_tables(of, names, periods, progress)
        hours = [one for one in periods if one.hour is not None]
        longer = [one for one in periods if one.hour is None]
        found = await self._read_tables(of, names, longer, progress)
        for period, table in await self._read_tables(of, without(HOUR, names), hours, progress):
            found.append((period, table.with_constant(HOUR, f"{period.hour:02}")))
        return found

    async def _read_tables(
        self,
        of: DocumentKind,
        names: Sequence[str],
        periods: Sequence[Period],
        progress: PeriodProgress | None,
    ) -> list[tuple[Period, Columns]]:
        if not periods:
            return []
        wanted = {} if progress is None else self._wanted
        ids = {
            period: self._sources.id_of(of, names, period)
            for period in periods
            if self._fingerprints.of(period).count(of)
        }
        await self._take_memory(ids, names)
        cached = await self._joint.find(ids.values(), names, self._latest)
        tables = await self._valid(ids, cached, names, wanted)
        if name_of(names) != ALL:
            over = [one for one in ids if one not in tables and self._is_over(one)]
            tables |= await self._from_all(of, names, over, caches=progress is not None)
        if progress is not None:
            progress.advance(len(periods) - len(ids) + len(tables))
        memory, needed = self._snapshot.memory, self._snapshot.memory.bytes
        async with aclosing(CacheBatch(self._joint)) as batch:
            for group in self._groups(of, [one for one in ids if one not in tables]):
                _check_rows(names, sum(table.rows for table in tables.values()))
                some = {one: ids[one] for one in group}
                if all(one.kind != "hours" and self._is_over(one) for one in group):
                    found = await self._completed(some, names, batch, progress is not None)
                else:
                    found = await self._so_far(some, cached, names)
                tables |= found
                # Its sources are freed, except for tables that are not cached yet.
                needed += sum([await _size(table) for table in found.values()])
                await memory.resize(needed + batch.rows * limits.ROW_BYTES)
                if progress is not None:
                    progress.advance(len(some))
        return [(period, tables[period]) for period in ids]

    def _groups(self, of: DocumentKind, periods: Sequence[Period]) -> list[list[Period]]:
        """Return the periods one by one, but hours that are over together."""
        hours = [one for one in periods if one.hour is not None and self._is_over(one)]
        others = [[one] for one in periods if one not in hours]
        return [*self._sources.few_at_once(of, hours), *others]

    def _is_over(self, period: Period) -> bool:
        return is_over(period, self._snapshot.now)

    async def _take_memory(self, ids: Mapping[Period, JointId], names: Sequence[str]) -> None:
        """Reserve memory for the cached rows: at most one for each click or event."""
        rows = sum(self._fingerprints.of(period).count(one.of) for period, one in ids.items())
        size = rows * limits.ROW_BYTES
        if size > limits.SMALL_BYTES:
            size = await self._joint.size(ids.values(), names, self._latest)
        await self._snapshot.memory.take(size)

    async def _valid(
        self,
        ids: Mapping[Period, JointId],
        cached: Mapping[JointId, CachedCounts],
        names: Sequence[str],
        wanted: Mapping[str, Collection[str]],
    ) -> dict[Period, Columns]:
        valid = {
            period: cached[one]
            for period, one in ids.items()
            if one in cached
            and cached[one].is_valid(self._fingerprints.of(period).of(one.of), period.end)
        }
        rows = sum(found.rows() for found in valid.values())
        if not wanted:
            _check_rows(names, rows)
        return await in_thread_if_large(
            rows, lambda: {period: found.table(wanted) for period, found in valid.items()}
        )

    async def _from_all(
        self, of: DocumentKind, names: Sequence[str], periods: Sequence[Period], caches: bool
    ) -> dict[Period, Columns]:
        """Return tables from counts by all dimensions, in batches: two years have 731 days."""
        found: dict[Period, Columns] = {}
        for some in self._sources.few_at_once(of, periods):
            tables = await self._sources.from_all(of, names, some)
            for table in tables.values():
                await self._snapshot.memory.take(await _size(table))
            if caches and tables:
                new = {
                    self._sources.id_of(of, names, one): NewCounts(
                        self._fingerprints.of(one).of(of), table
                    )
                    for one, table in tables.items()
                }
                await self._joint.store_all(new)
            found |= tables
        return found

    async def _completed(
        self, ids: Mapping[Period, JointId], names: Sequence[str], batch: CacheBatch, caches: bool
    ) -> dict[Period, Columns]:
        """Return the counts of a finished group, and cache them if documents were counted."""
        [(period, one), *others] = ids.items()
        # Several periods are hours, which no rollups and no parts have.
        table = None if others else await self._from_others(one.of, names, period)
        if table is None:
            return await self._counted(ids, names, batch)
        if caches:
            await batch.add(one, NewCounts(self._fingerprints.of(period).of(one.of), table))
        return {period: table}

    async def _counted(
        self, ids: Mapping[Period, JointId], names: Sequence[str], batch: CacheBatch
    ) -> dict[Period, Columns]:
        """Count the documents of periods for all parts of the request, and cache that."""
        await self._snapshot.before_counting()
        # Another report may have counted some while this one waited.
        known = await self._joint.find(ids.values(), names, self._latest)
        found = await self._valid(ids, known, names, {})
        new = {
            period: self._new(one, names, period)
            for period, one in ids.items()
            if period not in found
        }
        if not new:
            return found
        by = dimensions_in(one for counts in new.values() for one in counts.values())
        of = next(iter(ids.values())).of
        for period, table in (await self._sources.from_documents(of, by, list(new))).items():
            tables = await in_thread(_summed, table, new[period])
            fingerprint = self._fingerprints.of(period).of(of)
            for one, counted in tables.items():
                await batch.add(one, NewCounts(fingerprint, counted))
            found[period] = tables[ids[period]]
        return found

    def _new(
        self, one: JointId, names: Sequence[str], period: Period
    ) -> dict[JointId, Sequence[str]]:
        """Return the counts to make when documents of a period are counted."""
        is_small = self._fingerprints.of(period).count(one.of) <= limits.LARGE_DAY
        if not (self._snapshot.is_thorough and is_small and one.link_id is None):
            return self._sources.counted_with(one.of, names, period)
        # By all dimensions, because other reports of them follow.
        every = dimensions_of(one.of, period.hour is not None)
        return {one: names, self._sources.id_of(one.of, every, period): every}

    async def _so_far(
        self,
        ids: Mapping[Period, JointId],
        cached: Mapping[JointId, CachedCounts],
        names: Sequence[str],
    ) -> dict[Period, Columns]:
        sources, snapshot = self._sources, self._snapshot
        [(period, one)] = ids.items()
        known = cached.get(one)
        if period.kind == "hours":
            add = partial(self._tables_of, one.of, names, progress=None)
            table = await count_first_hours(sources, snapshot, one, known, names, period, add)
        elif period.hour is None or period.start > snapshot.now - STORING_TIME:
            table = await self._computed(one.of, names, period)
        else:
            table = await count_so_far(sources, snapshot.now, one, known, names, period)
        return {period: table}

    async def _computed(self, of: DocumentKind, names: Sequence[str], period: Period) -> Columns:
        whole = await self._sources.from_all(of, names, [period])
        table = whole.get(period) or await self._from_others(of, names, period)
        if table is None:
            table = (await self._sources.from_documents(of, names, [period]))[period]
        return table

    async def _from_others(
        self, of: DocumentKind, names: Sequence[str], period: Period
    ) -> Columns | None:
        """Return the counts from rollups or cached counts; None if only documents have them."""
        summed = await self._sources.from_rollups(of, names, period)
        if summed is not None:
            return summed
        parts = await self._sources.parts_of(period)
        if not parts:
            return None
        await self._sources.read_fingerprints(parts)
        tables = await self._tables_of(of, names, parts, None)
        return await in_thread(
            lambda: columns.joined([table for _, table in tables], names).by(names)
        )


def _summed(table: Columns, new: Mapping[JointId, Sequence[str]]) -> dict[JointId, Columns]:
    return {one: table.by(names) for one, names in new.items()}


async def _size(table: Columns) -> int:
    return await in_thread_if_large(table.rows, bytes_of, table)


def _check_rows(names: Sequence[str], rows: int) -> None:
    """Raise BadRequest if a report has more rows than fit in memory."""
    if rows > limits.MAX_ROWS:
        by = " and ".join(names)
        rule = f"these days have more than {limits.MAX_ROWS:,} values of {by}; ask for fewer days"
        raise BadRequest(f"report: {rule}")
