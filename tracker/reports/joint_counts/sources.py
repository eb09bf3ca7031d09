"""The sources of a period's counts: counts by all dimensions, rollups, or all documents.

`reports/joint_counts/tables` chooses the source, and caches the result. Documents are the last
resort: 2 to 5 µs each.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from tracker.errors import BadRequest
from tracker.reports import limits
from tracker.reports.columns import (
    CLICK_MEASURES,
    COST_MEASURES,
    EVENT_MEASURES,
    FURTHER_MEASURES,
    Columns,
)
from tracker.reports.counted import dimensions_in, of_kind
from tracker.reports.dimensions import DOCUMENT_KINDS, HOUR, LINK, OWN_PREFIX, DocumentKind
from tracker.reports.joint_counts.documents import DocumentScans
from tracker.reports.joint_counts.report_run import RecentKey, ReportRun
from tracker.reports.joint_counts.scan import with_missing
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.joint_counts.store import (
    CachedTable,
    JointCountStore,
    JointId,
    name_of,
)
from tracker.reports.periods import Period, day_period, hours_of
from tracker.reports.rollups.layout import rollups_for
from tracker.reports.rollups.pipelines import RollupQuery, rollup_table
from tracker.reports.threads import in_thread, in_thread_if_large

_PERIODS_AT_ONCE: Final = 62
"""Periods that are read at once, unless they have too many rows."""


class HourPart(NamedTuple):
    """The counts of an hour up to `through`, and whether they are cached by their dimensions."""

    through: datetime
    table: Columns
    is_cached: bool = False


class CountSources:
    """The sources of a scope's counts in a run.

    `_account_fingerprints` validate counts by all dimensions, which include each link.
    """

    def __init__(self, run: ReportRun, scope: ReportScope) -> None:
        self.joint = JointCountStore(run.database)
        self.documents = DocumentScans(run, scope)
        self.fingerprints = run.fingerprints_of(scope)
        self._account_fingerprints = run.fingerprints_of(run.scope)
        self._run = run
        self.scope = scope

    def id_of(self, of: DocumentKind, names: Sequence[str], period: Period) -> JointId:
        scope = self.scope
        by = name_of(names, scope.dimensions, of_hour=period.hour is not None)
        return JointId(scope.account_id, scope.calendar.zone, scope.link_id, of, by, period.key)

    async def cached(
        self, ids: Mapping[Period, JointId], names: Sequence[str]
    ) -> dict[JointId, CachedTable]:
        """Return the cached counts, valid or not, in memory that is reserved before."""
        # At most one row for each click or event.
        rows = sum(self.fingerprints.of(period).count(one.of) for period, one in ids.items())
        size = rows * limits.ROW_BYTES
        if size > limits.SMALL_BYTES:
            size = await self.joint.size(ids.values(), names, self._run.latest)
        await self._run.memory.take(size)
        return await self.joint.find(ids.values(), names, self._run.latest)

    def check_rows(self, names: Sequence[str], rows: int) -> None:
        """Check that they fit in memory. Raises BadRequest otherwise."""
        if rows > limits.MAX_ROWS:
            own = {column: f"{OWN_PREFIX}{name}" for name, column in self.scope.own.items()}
            by = " and ".join(own.get(name, name) for name in names)
            rule = f"more than {limits.MAX_ROWS:,} values of {by}; ask for fewer days"
            raise BadRequest(f"report: these days have {rule}")

    async def valid_tables(
        self,
        ids: Mapping[Period, JointId],
        cached: Mapping[JointId, CachedTable],
        names: Sequence[str],
        wanted: Mapping[str, Container[str]] | None = None,
    ) -> dict[Period, Columns]:
        """Return the valid tables, or only their `wanted` rows."""
        valid = {
            period: cached[one]
            for period, one in ids.items()
            if one in cached
            and cached[one].is_valid(self.fingerprints.of(period).of(one.of), period.end)
        }
        rows = sum(found.rows() for found in valid.values())
        if not wanted:
            self.check_rows(names, rows)
        return await in_thread_if_large(
            rows, lambda: {period: found.table(wanted) for period, found in valid.items()}
        )

    def counted_with(
        self, of: DocumentKind, names: Sequence[str], period: Period
    ) -> dict[JointId, Sequence[str]]:
        """Return the counts to make when documents of the period are counted by `names`.

        They are these, and counts that other parts of the request need.
        """
        found = {self.id_of(of, names, period): names}
        left_out = {LINK: self.scope.link_id is not None, HOUR: period.hour is not None}
        others = [
            [name for name in of_kind(of, combination) if not left_out.get(name)]
            for combination in self._run.combinations
        ]
        is_small = self.fingerprints.of(period).count(of) <= limits.LARGE_DAY
        if is_small and list(names) in others:
            found |= {self.id_of(of, other, period): other for other in others}
        return found

    async def from_all(
        self, of: DocumentKind, names: Sequence[str], periods: Sequence[Period]
    ) -> dict[Period, Columns]:
        """Return the counts of the periods whose counts by all dimensions are valid."""
        found = await self._by_all(of, names, periods)
        await self._account_fingerprints.read(list(found))
        valid = {
            period: one
            for period, one in found.items()
            if one.fingerprint == self._account_fingerprints.of(period).of(of)
        }
        return await in_thread(self._summed, valid, names) if valid else {}

    async def so_far_by_all(
        self, of: DocumentKind, names: Sequence[str], hour: Period
    ) -> HourPart | None:
        """Return valid counts of a part of an hour, from counts by all dimensions."""
        cached = (await self._by_all(of, names, [hour])).get(hour)
        if cached is None or cached.through is None:
            return None
        await self._account_fingerprints.read([hour])
        fingerprint = self._account_fingerprints.of(hour)
        if not fingerprint.continues(of, cached.fingerprint):
            return None
        table = (await in_thread(self._summed, {hour: cached}, names))[hour]
        return HourPart(cached.through, table)

    async def _by_all(
        self, of: DocumentKind, names: Sequence[str], periods: Sequence[Period]
    ) -> dict[Period, CachedTable]:
        """Return the cached counts by all dimensions, valid or not: of days and hours alone."""
        ids = {
            self.id_of(of, self.scope.dimensions, period)._replace(link_id=None): period
            for period in periods
            if period.kind in ("day", "hour")
        }
        read = list(names) if self.scope.link_id is None else [LINK, *without(LINK, names)]
        found = await self.joint.find(ids, read, self._run.latest)
        return {ids[one]: cached for one, cached in found.items()}

    def _summed(
        self, found: Mapping[Period, CachedTable], names: Sequence[str]
    ) -> dict[Period, Columns]:
        link_id = self.scope.link_id
        wanted = {} if link_id is None else {LINK: {str(link_id)}}
        return {period: one.table(wanted).by(names) for period, one in found.items()}

    def few_at_once(self, of: DocumentKind, periods: Sequence[Period]) -> Iterator[list[Period]]:
        """Yield the periods in batches of a bounded size."""
        some: list[Period] = []
        rows = 0
        for one in periods:
            rows += self.fingerprints.of(one).count(of)
            if some and (rows > limits.ROWS_AT_ONCE or len(some) == _PERIODS_AT_ONCE):
                yield some
                some, rows = [], self.fingerprints.of(one).count(of)
            some.append(one)
        if some:
            yield some

    async def parts_of(self, period: Period) -> list[Period]:
        """Return the days of a month, the first hours, or the hours of a large day; else none."""
        calendar = self.scope.calendar
        if period.kind == "month":
            return [day_period(calendar, day) for day in period.dates()]
        if period.kind == "hours":
            return hours_of(calendar, period.first)[: period.hours]
        counts = {of: self.fingerprints.of(period).count(of) for of in DOCUMENT_KINDS}
        if period.kind == "hour" or sum(counts.values()) <= limits.LARGE_DAY:
            return []
        return await self.whole_hours_of(period)

    async def whole_hours_of(self, day: Period) -> list[Period]:
        """Return the hours of a day, if they have all of it."""
        hours = hours_of(self.scope.calendar, day.first)
        await self.fingerprints.read([day, *hours])
        fingerprints = [self.fingerprints.of(hour) for hour in hours]
        # The first day of a zone may have clicks outside its hours.
        is_whole = all(
            sum(one.count(of) for one in fingerprints) == self.fingerprints.of(day).count(of)
            for of in DOCUMENT_KINDS
        )
        return hours if is_whole else []

    async def from_rollups(
        self, of: DocumentKind, names: Sequence[str], period: Period
    ) -> Columns | None:
        """Return the counts from rollups; None if they lack these dimensions."""
        selection = rollups_for(names)
        has_rollups = period.kind in ("month", "day") and self.scope.link_id is None
        if selection is None or not has_rollups:
            return None
        if LINK in names:  # a month of 20,000 links takes as long as a million clicks
            await self._run.before_counting()
        measures: list[str] = [*(CLICK_MEASURES if of == "clicks" else EVENT_MEASURES)]
        if self.fingerprints.of(period).further:
            measures += COST_MEASURES if of == "clicks" else FURTHER_MEASURES
        query = RollupQuery(
            matching=self.scope.rollups(selection.of),
            selection=selection,
            names=names,
            first=period.first,
            last=period.last,
            measures=measures,
        )
        return await rollup_table(self._run.reader, query)

    async def recent(
        self, of: DocumentKind, names: Sequence[str], hour: Period, start: datetime
    ) -> Columns:
        """Count the few documents of an hour from `start` on, once for all parts of the request."""
        by = dimensions_in(self.counted_with(of, names, hour).values())
        key = RecentKey(self.scope.link_id, of, hour.key, start, tuple(by))
        known = self._run.recent
        if key not in known:
            expected = self.fingerprints.of(hour).count(of)
            known[key] = await self.documents.count(of, by, hour, expected, start)
        return await in_thread_if_large(known[key].rows, known[key].by, names)

    async def from_documents(
        self, of: DocumentKind, names: Sequence[str], periods: Sequence[Period]
    ) -> dict[Period, Columns]:
        """Count all clicks or events of each period."""
        expected = {one: self.fingerprints.of(one).count(of) for one in periods}
        tables = await self.documents.count_each(of, names, expected)
        return {one: await self._whole(of, names, one, table) for one, table in tables.items()}

    async def _whole(
        self, of: DocumentKind, names: Sequence[str], period: Period, table: Columns
    ) -> Columns:
        """Add the clicks of the period that retention has deleted, as far as they are known."""
        fingerprint = self.fingerprints.of(period)
        if of == "events" or not fingerprint.missing(table):
            return table
        # Earlier counts know more of their values.
        cached = await self._by_all(of, names, [period])
        if cached:
            known = (await in_thread(self._summed, cached, names))[period]
            table = max(table, known, key=lambda one: one.total("clicks") + one.total("bots"))
        return with_missing(table, fingerprint.missing(table), names)


def without(name: str, names: Sequence[str]) -> list[str]:
    return [one for one in names if one != name]
