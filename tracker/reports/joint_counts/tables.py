"""Counts by several dimensions: cached ones where they are valid, else computed and cached.

The counts of a period are valid while their fingerprint equals that of the snapshot's rollups
(`reports/joint_counts/fingerprints`). Else they are computed from the cheapest source:

- the day's counts by all dimensions: 50 ns a click;
- rollups with these dimensions;
- the counts of its parts: the days of a month, or the hours of a large day;
- its clicks and conversions: 2 to 5 µs each, with a permit to count (`reports/answers/reports`).

Guarantee: a table has exactly the figures of the snapshot's documents. Clicks that retention has
deleted count as unknown, so sums always equal the rollups'.
"""

from collections.abc import Container, Mapping, Sequence
from contextlib import aclosing
from types import MappingProxyType
from typing import Final

from tracker.reports import columns, limits
from tracker.reports.columns import Columns
from tracker.reports.counted import dimensions_in, dimensions_of, of_kind
from tracker.reports.dimensions import DOCUMENT_KINDS, HOUR, NO_EVENT, DocumentKind
from tracker.reports.joint_counts.hour_so_far import STORING_TIME, count_so_far
from tracker.reports.joint_counts.largest_values import cut, read_to_cut
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.joint_counts.sources import CountSources, without
from tracker.reports.joint_counts.store import (
    ALL,
    CacheBatch,
    CachedTable,
    JointId,
    NewTable,
    name_of,
)
from tracker.reports.joint_counts.unfinished_day import counted_hours
from tracker.reports.memory import bytes_of
from tracker.reports.periods import Period, is_over
from tracker.reports.threads import in_thread, in_thread_if_large

_ANY: Final[Mapping[str, Container[str]]] = MappingProxyType({})


class JointTables:
    """Tables of joint counts of a scope in a run. Rows without `wanted` values may be missing."""

    def __init__(
        self, run: ReportRun, scope: ReportScope, wanted: Mapping[str, Container[str]] = _ANY
    ) -> None:
        self._run = run
        self._wanted = wanted
        self._sources = CountSources(run, scope)
        self._joint = self._sources.joint
        self._fingerprints = self._sources.fingerprints

    async def tables(
        self,
        by: Sequence[str],
        periods: Sequence[Period],
        kinds: Sequence[DocumentKind] = DOCUMENT_KINDS,
    ) -> list[tuple[Period, Columns]]:
        """Return tables of clicks and of events, by period. Raises BadRequest for too many rows."""
        await self._fingerprints.read(periods)
        self._periods, self._read = len(kinds) * len(periods), 0
        found = []
        for of in kinds:
            tables = await self._tables_of(of, of_kind(of, by), periods)
            found += [(one, table.with_missing(by, NO_EVENT)) for one, table in tables]
        return found

    async def _tables_of(
        self,
        of: DocumentKind,
        names: Sequence[str],
        periods: Sequence[Period],
        are_parts: bool = False,
    ) -> list[tuple[Period, Columns]]:
        """Return the tables of the periods that have clicks, or events.

        Parts of a longer period have all rows, and are cached only if documents were counted.
        """
        if HOUR not in names:
            return await self._read_tables(of, names, periods, are_parts)
        hours = [one for one in periods if one.hour is not None]
        longer = [one for one in periods if one.hour is None]
        found = await self._read_tables(of, names, longer, are_parts)
        for period, table in await self._read_tables(of, without(HOUR, names), hours, are_parts):
            found.append((period, table.with_constant(HOUR, f"{period.hour:02}")))
        return found

    async def _read_tables(
        self, of: DocumentKind, names: Sequence[str], periods: Sequence[Period], are_parts: bool
    ) -> list[tuple[Period, Columns]]:
        if not periods:
            return []
        ids = {
            period: self._sources.id_of(of, names, period)
            for period in periods
            if self._fingerprints.of(period).count(of)
        }
        wanted = _ANY if are_parts else self._wanted
        cached = await self._sources.cached(ids, names)
        tables = await self._sources.valid_tables(ids, cached, names, wanted)
        if name_of(names, self._run.scope.dimensions) != ALL:
            over = [one for one in ids if one not in tables and self._is_over(one)]
            tables |= await self._from_all(of, names, over, caches=not are_parts)
        if not are_parts:
            self._advance(len(periods) - len(ids) + len(tables))
        memory, needed = self._run.memory, self._run.memory.bytes
        async with aclosing(CacheBatch(self._joint)) as batch:
            for group in self._groups(of, [one for one in ids if one not in tables]):
                self._sources.check_rows(names, sum(table.rows for table in tables.values()))
                some = {one: ids[one] for one in group}
                if all(one.kind != "hours" and self._is_over(one) for one in group):
                    found = await self._completed(some, names, batch, caches=not are_parts)
                else:
                    found = await self._so_far(some, cached, names)
                tables |= found
                # Its sources are freed, except for tables that are not cached yet.
                needed += sum([await _size(table) for table in found.values()])
                await memory.resize(needed + batch.rows * limits.ROW_BYTES)
                if not are_parts:
                    self._advance(len(some))
        return [(period, tables[period]) for period in ids]

    def _groups(self, of: DocumentKind, periods: Sequence[Period]) -> list[list[Period]]:
        """Return the periods one by one, but hours that are over together."""
        hours = [one for one in periods if one.hour is not None and self._is_over(one)]
        others = [[one] for one in periods if one not in hours]
        return [*self._sources.few_at_once(of, hours), *others]

    def _is_over(self, period: Period) -> bool:
        return is_over(period, self._run.at)

    def _advance(self, periods: int) -> None:
        self._read += periods
        self._run.progress.set_fraction(self._read / self._periods)

    async def _from_all(
        self, of: DocumentKind, names: Sequence[str], periods: Sequence[Period], caches: bool
    ) -> dict[Period, Columns]:
        """Return tables from counts by all dimensions, in batches: two years have 731 days."""
        found: dict[Period, Columns] = {}
        for some in self._sources.few_at_once(of, periods):
            tables = await self._sources.from_all(of, names, some)
            for table in tables.values():
                await self._run.memory.take(await _size(table))
            if caches and tables:
                new = {
                    self._sources.id_of(of, names, one): NewTable(
                        self._fingerprints.of(one).of(of), table
                    )
                    for one, table in tables.items()
                }
                await self._joint.store(new)
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
            await batch.add(one, NewTable(self._fingerprints.of(period).of(one.of), table))
        return {period: table}

    async def _counted(
        self, ids: Mapping[Period, JointId], names: Sequence[str], batch: CacheBatch
    ) -> dict[Period, Columns]:
        """Count the documents of periods for all parts of the request, and cache that."""
        await self._run.before_counting()
        # Another report may have counted some while this one waited.
        known = await self._joint.find(ids.values(), names, self._run.latest)
        found = await self._sources.valid_tables(ids, known, names)
        new = {
            period: self._new(one, names, period)
            for period, one in ids.items()
            if period not in found
        }
        if not new:
            return found
        by = dimensions_in(one for counts in new.values() for one in counts.values())
        of = next(iter(ids.values())).of
        is_cut = next(iter(ids)).kind == "day"
        if is_cut and self._sources.scope.link_id is None:
            by = dimensions_in([read_to_cut(by)])
        for period, table in (await self._sources.from_documents(of, by, list(new))).items():
            tables = await in_thread(_summed, table, new[period], is_cut)
            fingerprint = self._fingerprints.of(period).of(of)
            for one, counted in tables.items():
                await batch.add(one, NewTable(fingerprint, counted))
            found[period] = tables[ids[period]]
        return found

    def _new(
        self, one: JointId, names: Sequence[str], period: Period
    ) -> dict[JointId, Sequence[str]]:
        """Return the counts to make when documents of a period are counted."""
        is_small = self._fingerprints.of(period).count(one.of) <= limits.LARGE_DAY
        if not (self._run.is_thorough and is_small and one.link_id is None):
            return self._sources.counted_with(one.of, names, period)
        # By all dimensions, because other reports of them follow.
        every = dimensions_of(one.of, period.hour is not None, self._run.scope.extra)
        return {one: names, self._sources.id_of(one.of, every, period): every}

    async def _so_far(
        self,
        ids: Mapping[Period, JointId],
        cached: Mapping[JointId, CachedTable],
        names: Sequence[str],
    ) -> dict[Period, Columns]:
        [(period, one)] = ids.items()
        known = cached.get(one)
        if period.kind == "hours":
            table = await self._first_hours(one, known, names, period)
        elif period.hour is None or period.start > self._run.at - STORING_TIME:
            table = await self._computed(one.of, names, period)
        else:
            table = await count_so_far(self._sources, self._run.at, one, known, names, period)
        return {period: table}

    async def _first_hours(
        self, one: JointId, known: CachedTable | None, names: Sequence[str], period: Period
    ) -> Columns:
        """Return the sum of the hours of a period, continued from the cached one, and cache it."""
        hours = await self._sources.parts_of(period)
        await self._fingerprints.read(hours)
        table = columns.empty(names)
        count = counted_hours(self._sources, one, known, period)
        if known is not None and count:
            table = await in_thread(known.table)
        memory, before = self._run.memory, self._run.memory.bytes
        for some in self._sources.few_at_once(one.of, hours[count:]):
            # Some hours and a copy are in memory beside the sum, and then freed.
            await memory.resize(before + await in_thread(bytes_of, table))
            found = await self._tables_of(one.of, names, some, are_parts=True)
            table = await in_thread(columns.summed, [table, *(one for _, one in found)], names)
        await memory.resize(before)
        new = NewTable(self._fingerprints.of(period).of(one.of), table, period.end)
        await self._joint.store({one: new})
        return table

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
        await self._fingerprints.read(parts)
        read = names
        if is_cut := period.kind == "day" and self._is_over(period):
            read = names if self._sources.scope.link_id else read_to_cut(names)
        found = await self._tables_of(of, read, parts, are_parts=True)
        table = await in_thread(columns.summed, [table for _, table in found], read)
        return await in_thread(lambda: cut(table).by(names)) if is_cut else table


def _summed(
    table: Columns, new: Mapping[JointId, Sequence[str]], is_cut: bool
) -> dict[JointId, Columns]:
    table = cut(table) if is_cut else table
    return {one: table.by(names) for one, names in new.items()}


async def _size(table: Columns) -> int:
    return await in_thread_if_large(table.rows, bytes_of, table)
