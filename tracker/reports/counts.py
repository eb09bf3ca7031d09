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
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from tracker.clicks.country import UNKNOWN
from tracker.db.connect import Database
from tracker.reports import columns
from tracker.reports.columns import CLICK_MEASURES, EVENT_COUNTS, MONEY, Columns
from tracker.reports.counting import Span, count
from tracker.reports.dimensions import (
    ALL_COUNTED,
    EVENT,
    HOUR,
    LINK,
    NO_EVENT,
    OfDocuments,
    rollups_for,
)
from tracker.reports.joint_counts import JointCounts, JointId, Kept, name_of
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

_DOCUMENTS_AT_ONCE: Final = 20_000
"""About how many clicks, or events, one pipeline counts: it may have as many rows."""


class Counts:
    """The counts of a scope by several dimensions, in a snapshot."""

    def __init__(self, database: Database, scope: Scope, snapshot: Snapshot) -> None:
        self._database = database
        self._joint = JointCounts(database)
        self._scope = scope
        self._snapshot = snapshot
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
        for period, table in await self._of_documents("clicks", _without(EVENT, by), periods):
            if EVENT in by:
                table = table.with_constant(EVENT, NO_EVENT)
            found.append((period, table))
        return [*found, *await self._of_documents("events", by, periods)]

    async def _of_documents(
        self, of: OfDocuments, names: Sequence[str], periods: Sequence[Period]
    ) -> list[tuple[Period, Columns]]:
        """Return the tables of clicks or events of those periods that have some."""
        marks = {one: self._marks.of(one) for one in periods}
        ids = {
            period: self._id(of, names, period) for period, mark in marks.items() if mark.count(of)
        }
        kept = await self._joint.find(ids.values(), names)
        found = []
        for period, one in ids.items():
            known, mark = kept.get(one), marks[period].of(of)
            if known is not None and known.mark == mark:
                table = known.table
            elif is_over(period, self._snapshot.now):
                table = await self._completed(one, names, period)
            else:
                table = await self._so_far(one, known, names, period)
            found.append((period, table))
        return found

    async def _completed(self, one: JointId, names: Sequence[str], period: Period) -> Columns:
        """Return the counts of a period that is over, and keep them."""
        mark = self._marks.of(period).of(one.of)
        table = await self._without_documents(one.of, names, period)
        if table is None:
            await self._snapshot.before_counting()
            # Another report may have counted it while this one waited for its turn.
            known = (await self._joint.find([one], names)).get(one)
            if known is not None and known.mark == mark:
                return known.table
            table = await self._from_documents(one.of, names, period)
        await self._joint.keep(one, Kept(mark, table))
        return table

    async def _so_far(
        self, one: JointId, known: Kept | None, names: Sequence[str], period: Period
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
        settled = min(now - _LANDING, period.end)
        through, table = period.start, columns.empty(names)
        if known is not None and known.through and mark.continues(one.of, known.mark):
            through, table = max(known.through, period.start), known.table
        before = await self._counted(one.of, names, period, through, max(settled, through))
        kept = columns.joined([table, before], names).by(names)
        after = await self._counted(one.of, names, period, max(settled, through), period.end)
        found = columns.joined([kept, after], names).by(names)
        if not mark.equals(one.of, found):
            if through > period.start:
                return await self._so_far(one, None, names, period)
            return with_missing(found, mark.missing(found), names) if one.of == "clicks" else found
        await self._joint.keep(one, Kept(mark.of_table(one.of, kept), kept, max(settled, through)))
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
        table = found.table if link_id is None else found.table.where(LINK, {str(link_id)})
        return Kept(found.mark, await asyncio.to_thread(table.by, names))

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
        tables = await self._of_documents(of, names, days)
        return await asyncio.to_thread(
            lambda: columns.joined([table for _, table in tables], names).by(names)
        )

    async def _from_documents(
        self, of: OfDocuments, names: Sequence[str], period: Period
    ) -> Columns:
        table = await self._counted(of, names, period, period.start, period.end)
        if of == "events" or not self._marks.of(period).missing(table):
            return table
        # Retention has deleted clicks: what was counted before knows more of them.
        kept = await self._by_all(of, names, period)
        if kept is not None and _clicks(kept.table) > _clicks(table):
            table = kept.table
        return with_missing(table, self._marks.of(period).missing(table), names)

    async def _counted(
        self, of: OfDocuments, names: Sequence[str], period: Period, start: datetime, end: datetime
    ) -> Columns:
        """Return the counts of the documents of a part of a period."""
        documents = self._marks.of(period).count(of)
        day_start = self._scope.calendar.start_of(period.first)
        share = (end - start) / (period.end - period.start)
        parts = 1 + int(share * documents) // _DOCUMENTS_AT_ONCE
        tables = []
        for span in Span(self._scope.documents(), start, end, day_start).divided(parts):
            await self._snapshot.before_counting()
            tables.append(await count(self._database, of, span, names, self._snapshot.session))
        return await asyncio.to_thread(lambda: columns.joined(tables, names).by(names))

    def _id(self, of: OfDocuments, names: Sequence[str], period: Period) -> JointId:
        account_id, calendar, link_id = self._scope
        by = name_of(names, of_hour=period.hour is not None)
        return JointId(account_id, calendar.zone, link_id, of, by, period.key)


def with_missing(table: Columns, missing: dict[str, int], names: Sequence[str]) -> Columns:
    """Return the counts of clicks with those that retention has deleted, whose values are unknown.

    Their hour is the first of the day.
    """
    if not missing:
        return table
    values = ["00" if name == HOUR else UNKNOWN for name in names]
    rest = columns.of_columns(
        {name: [value] for name, value in zip(names, values, strict=True)},
        {name: [one] for name, one in missing.items()},
    )
    return columns.joined([table, rest], names)


def _clicks(table: Columns) -> int:
    return table.total("clicks") + table.total("bots")


def _without(name: str, names: Sequence[str]) -> list[str]:
    return [one for one in names if one != name]
