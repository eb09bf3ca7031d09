"""Counts by several dimensions at once: kept ones where they are valid, else made and kept.

What is kept for a period is valid exactly as long as its mark equals that of the rollups in the
snapshot (`reports/marks`), also if it was kept after the snapshot began. Otherwise it is made
again, from the cheapest source there is:

1. the counts of that day by all dimensions, if those are valid: 50 ns a click;
2. rollups, if they have these dimensions;
3. the clicks and events themselves: 2 µs each, in a turn of the account (`reports/queue`).

Guarantee: a table has exactly the figures that the documents of the snapshot have. Clicks that
retention has deleted are counted as unknown, so that sums always equal those of the rollups.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final

from tracker.db.connect import Database
from tracker.reports import columns
from tracker.reports.columns import CLICK_MEASURES, EVENT_COUNTS, MONEY, Columns
from tracker.reports.dimensions import (
    ALL_COUNTED,
    EVENT,
    HOUR,
    LINK,
    NO_EVENT,
    OfDocuments,
    rollups_for,
)
from tracker.reports.document_counts import DocumentCounts, with_missing
from tracker.reports.joint_counts import Found, JointCounts, JointId, Kept, name_of
from tracker.reports.marks import Marks, marks_of
from tracker.reports.periods import Period, day_period, is_over
from tracker.reports.pipelines import RollupQuery
from tracker.reports.rollup_table import rollup_table
from tracker.reports.scope import Scope, Snapshot

_MEASURES: Final[dict[OfDocuments, Sequence[str]]] = {
    "clicks": CLICK_MEASURES,
    "events": (*EVENT_COUNTS, *MONEY),
}


_OF: Final[tuple[OfDocuments, ...]] = ("clicks", "events")

_LANDING: Final = timedelta(seconds=30)
"""How long after it was made a click has landed, in all likelihood; see `Counts._so_far`."""


class Counts:
    """The counts of a scope by several dimensions, in a snapshot.

    Rows without the `wanted` values of some dimensions may be missing in its tables.
    """

    def __init__(
        self,
        database: Database,
        scope: Scope,
        snapshot: Snapshot,
        wanted: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self._database = database
        self._wanted = wanted or {}
        self._joint = JointCounts(database)
        self._scope = scope
        self._snapshot = snapshot
        self._documents = DocumentCounts(database, scope, snapshot)
        self._marks = Marks({})
        # Those of the whole account, whose counts by all dimensions have those of each link.
        self._account_marks = Marks({})

    async def tables(
        self, by: Sequence[str], periods: Sequence[Period]
    ) -> list[tuple[Period, Columns]]:
        """Return the tables of each period that has clicks or events, by these dimensions.

        Clicks and events have a table each. Raises PyMongoError if MongoDB does not answer, and
        what `before_counting` raises.
        """
        if not periods:
            return []
        session = self._snapshot.session
        of_account = self._scope._replace(link_id=None)
        self._account_marks = await marks_of(self._database, of_account.rollups(), periods, session)
        self._marks = self._account_marks
        if self._scope.link_id is not None:
            self._marks = await marks_of(self._database, self._scope.rollups(), periods, session)
        hours = [one for one in periods if one.hour is not None]
        longer = [one for one in periods if one.hour is None]
        found = await self._of_kind(by, longer)
        for period, table in await self._of_kind([name for name in by if name != HOUR], hours):
            if HOUR in by:
                table = table.with_constant(HOUR, f"{period.hour:02}")
            found.append((period, table))
        return found

    async def missing(
        self, by: Sequence[str], periods: Sequence[Period], at_least: int = 1
    ) -> list[Period]:
        """Return the periods whose counts by these dimensions are missing, or no longer valid.

        Clicks, or events, are left out if they are fewer than `at_least`. Raises PyMongoError if
        MongoDB does not answer.
        """
        session = self._snapshot.session
        self._marks = await marks_of(self._database, self._scope.rollups(), periods, session)
        wanted = {
            self._id(of, by, period): (period, self._marks.of(period).of(of))
            for period in periods
            for of in _OF
            if self._marks.of(period).count(of) >= at_least
        }
        kept = await self._joint.marks(wanted, session)
        found = [period for one, (period, mark) in wanted.items() if kept.get(one) != mark]
        return list(dict.fromkeys(found))

    async def _of_kind(
        self, by: Sequence[str], periods: Sequence[Period]
    ) -> list[tuple[Period, Columns]]:
        found = []
        names, wanted = _without(EVENT, by), self._wanted
        for period, table in await self._of_documents("clicks", names, periods, wanted):
            if EVENT in by:
                table = table.with_constant(EVENT, NO_EVENT)
            found.append((period, table))
        return [*found, *await self._of_documents("events", by, periods, wanted)]

    async def _of_documents(
        self,
        of: OfDocuments,
        names: Sequence[str],
        periods: Sequence[Period],
        wanted: Mapping[str, Collection[str]],
    ) -> list[tuple[Period, Columns]]:
        """Return the tables of clicks or events of those periods that have some.

        Rows without the `wanted` values may be missing.
        """
        marks = {one: self._marks.of(one) for one in periods}
        ids = {
            period: self._id(of, names, period) for period, mark in marks.items() if mark.count(of)
        }
        kept = await self._joint.find(ids.values(), names)
        valid = {
            period: kept[one]
            for period, one in ids.items()
            if one in kept and kept[one].mark == marks[period].of(of)
        }
        tables = await asyncio.to_thread(_tables_of, valid, wanted)
        for period, one in ids.items():
            if period in valid:
                continue
            if is_over(period, self._snapshot.now):
                tables[period] = await self._completed(one, names, period)
            else:
                tables[period] = await self._so_far(one, kept.get(one), names, period)
        return [(period, tables[period]) for period in ids]

    async def _completed(self, one: JointId, names: Sequence[str], period: Period) -> Columns:
        """Return the counts of a period that is over, and keep them."""
        mark = self._marks.of(period).of(one.of)
        table = await self._without_documents(one.of, names, period)
        if table is None:
            await self._snapshot.before_counting()
            # Another report may have counted it while this one waited for its turn.
            known = (await self._joint.find([one], names)).get(one)
            if known is not None and known.mark == mark:
                return await asyncio.to_thread(known.table)
            table = await self._counted(one, names, period)
        await self._joint.keep(one, Kept(mark, table))
        return table

    async def _counted(self, one: JointId, names: Sequence[str], period: Period) -> Columns:
        """Return the counts of the documents of a period, and keep those by all dimensions too if
        others of them are asked for next.
        """
        if not self._snapshot.is_thorough or self._scope.link_id is not None:
            return await self._from_documents(one.of, names, period)
        every = _without(EVENT, ALL_COUNTED) if one.of == "clicks" else ALL_COUNTED
        if period.hour is not None:
            every = _without(HOUR, every)
        table = await self._from_documents(one.of, every, period)
        kept = Kept(self._marks.of(period).of(one.of), table)
        await self._joint.keep(self._id(one.of, every, period), kept)
        return await asyncio.to_thread(table.by, names)

    async def _so_far(
        self, one: JointId, known: Found | None, names: Sequence[str], period: Period
    ) -> Columns:
        """Return the counts of a period that is not over.

        Those of an hour are kept up to a moment ago, and next time read from there. If clicks from
        before that moment have landed since, the figures do not equal the mark, and the hour is
        counted from its beginning.
        """
        now = self._snapshot.now
        if period.hour is None or period.start > now - _LANDING:
            return await self._made(one.of, names, period)
        mark = self._marks.of(period)
        expected = mark.count(one.of)
        settled = min(now - _LANDING, period.end)
        through, table = period.start, columns.empty(names)
        if known is not None and known.through and mark.continues(one.of, known.mark):
            through, table = max(known.through, period.start), known.table()
        before = await self._documents.count(
            one.of, names, period, expected, through, max(settled, through)
        )
        kept = columns.joined([table, before], names).by(names)
        after = await self._documents.count(one.of, names, period, expected, settled)
        found = columns.joined([kept, after], names).by(names)
        if not mark.equals(one.of, found):
            if through > period.start:
                return await self._so_far(one, None, names, period)
            return with_missing(found, mark.missing(found), names) if one.of == "clicks" else found
        await self._joint.keep(one, Kept(mark.of_table(one.of, kept), kept, settled))
        return found

    async def _made(self, of: OfDocuments, names: Sequence[str], period: Period) -> Columns:
        table = await self._without_documents(of, names, period)
        return await self._from_documents(of, names, period) if table is None else table

    async def _without_documents(
        self, of: OfDocuments, names: Sequence[str], period: Period
    ) -> Columns | None:
        """Return the counts made from others; None if only the documents have what they need."""
        whole = await self._from_all(of, names, period)
        if whole is not None:
            return whole
        has_rollups = period.kind != "hour" and self._scope.link_id is None
        if has_rollups and rollups_for(names) is not None:
            return await self._from_rollups(of, names, period)
        return await self._from_days(of, names, period) if period.kind == "month" else None

    async def _from_all(
        self, of: OfDocuments, names: Sequence[str], period: Period
    ) -> Columns | None:
        """Return the counts made from those by all dimensions; None if these are not valid."""
        found = await self._by_all(of, names, period)
        if found is None or found.mark != self._account_marks.of(period).of(of):
            return None
        return found.table

    async def _by_all(self, of: OfDocuments, names: Sequence[str], period: Period) -> Kept | None:
        """Return what is kept by all dimensions, valid or not, and summed up by these."""
        one = self._id(of, ALL_COUNTED, period)._replace(link_id=None)
        if period.kind == "month":
            return None
        link_id = self._scope.link_id
        read = list(names) if link_id is None else [LINK, *_without(LINK, names)]
        found = (await self._joint.find([one], read)).get(one)
        if found is None:
            return None
        wanted = {} if link_id is None else {LINK: {str(link_id)}}
        return Kept(found.mark, await asyncio.to_thread(lambda: found.table(wanted).by(names)))

    async def _from_rollups(self, of: OfDocuments, names: Sequence[str], period: Period) -> Columns:
        source = rollups_for(names)
        assert source is not None
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
        return await rollup_table(self._database, query, self._snapshot.session)

    async def _from_days(self, of: OfDocuments, names: Sequence[str], period: Period) -> Columns:
        days = [day_period(self._scope.calendar, day) for day in period.dates()]
        tables = await self._of_documents(of, names, days, {})
        return await asyncio.to_thread(
            lambda: columns.joined([table for _, table in tables], names).by(names)
        )

    async def _from_documents(
        self, of: OfDocuments, names: Sequence[str], period: Period
    ) -> Columns:
        table = await self._documents.count(of, names, period, self._marks.of(period).count(of))
        if of == "events" or not self._marks.of(period).missing(table):
            return table
        # Retention has deleted clicks: what was counted before knows more of them.
        kept = await self._by_all(of, names, period)
        if kept is not None and _clicks(kept.table) > _clicks(table):
            table = kept.table
        return with_missing(table, self._marks.of(period).missing(table), names)

    def _id(self, of: OfDocuments, names: Sequence[str], period: Period) -> JointId:
        account_id, calendar, link_id = self._scope
        by = name_of(names, of_hour=period.hour is not None)
        return JointId(account_id, calendar.zone, link_id, of, by, period.key)


def _tables_of(
    kept: Mapping[Period, Found], wanted: Mapping[str, Collection[str]]
) -> dict[Period, Columns]:
    return {period: found.table(wanted) for period, found in kept.items()}


def _clicks(table: Columns) -> int:
    return table.total("clicks") + table.total("bots")


def _without(name: str, names: Sequence[str]) -> list[str]:
    return [one for one in names if one != name]
