"""Counts by several dimensions at once: kept ones where they are valid, else made and kept.

What is kept for a period is valid exactly as long as its mark equals that of the rollups in the
same snapshot (`reports/marks`). Otherwise it is made again, from the cheapest source there is:

1. the counts of that day by all dimensions, if those are valid: 50 ns a click;
2. rollups, if they have these dimensions;
3. the clicks and events themselves: 2 µs each, in a turn of the account (`reports/queue`).

Guarantee: a table has exactly the figures that the documents of the snapshot have. Clicks that
retention has deleted are counted as unknown, so that sums always equal those of the rollups.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.calendar import Calendar
from tracker.clicks.country import UNKNOWN
from tracker.db.connect import Database
from tracker.db.transaction import Session
from tracker.reports import columns
from tracker.reports.columns import CLICK_MEASURES, EVENT_COUNTS, MONEY, Columns
from tracker.reports.counting import Span, count
from tracker.reports.dimensions import EVENT, HOUR, NO_EVENT, OfDocuments, rollups_for
from tracker.reports.joint_counts import ALL, JointCounts, JointId, Kept, is_all, name_of
from tracker.reports.marks import Marks, marks_of, rollups_of
from tracker.reports.periods import Period, day_period, is_over
from tracker.reports.pipelines import RollupQuery, stages_of, table_of

_MEASURES: Final[dict[OfDocuments, Sequence[str]]] = {
    "clicks": CLICK_MEASURES,
    "events": (*EVENT_COUNTS, *MONEY),
}


_OF: Final[tuple[OfDocuments, ...]] = ("clicks", "events")

_CLICKS_AT_ONCE: Final = 20_000
"""About how many clicks one pipeline counts: it may have as many rows."""


class Scope(NamedTuple):
    """Whose clicks and events are counted: an account's, or those of one of its links."""

    account_id: UUID
    calendar: Calendar
    link_id: UUID | None = None

    def rollups(self, of: str | None = None) -> dict[str, Any]:
        """Return what selects its rollups: of the `account`, of each `link`, or of its link."""
        return rollups_of(self.account_id, self.calendar.zone, of, self.link_id)

    def documents(self) -> dict[str, Any]:
        """Return what selects its clicks and events."""
        found: dict[str, Any] = {"account_id": self.account_id}
        return found if self.link_id is None else {**found, "link_id": self.link_id}


class Snapshot(NamedTuple):
    """The snapshot that a report is read in: its session, and when it began.

    `before_counting` is called each time before clicks and events themselves are read.
    """

    session: Session
    now: datetime
    before_counting: Callable[[], Awaitable[None]]


class Counts:
    """The counts of a scope by several dimensions, in a snapshot."""

    def __init__(self, database: Database, scope: Scope, snapshot: Snapshot) -> None:
        self._database = database
        self._joint = JointCounts(database)
        self._scope = scope
        self._snapshot = snapshot
        self._marks = Marks({})

    async def tables(
        self, by: Sequence[str], periods: Sequence[Period]
    ) -> list[tuple[Period, Columns]]:
        """Return the tables of each period that has clicks or events, by these dimensions.

        Clicks and events have a table each. Raises PyMongoError if MongoDB does not answer, and
        what `before_counting` raises.
        """
        if not periods:
            return []
        self._marks = await marks_of(
            self._database, self._scope.rollups(), periods, self._snapshot.session
        )
        hours = [one for one in periods if one.hour is not None]
        longer = [one for one in periods if one.hour is None]
        found = await self._of_kind(by, longer)
        for period, table in await self._of_kind([name for name in by if name != HOUR], hours):
            if HOUR in by:
                table = table.with_constant(HOUR, f"{period.hour:02}")
            found.append((period, table))
        return found

    async def missing(self, by: Sequence[str], periods: Sequence[Period]) -> list[Period]:
        """Return the periods whose counts by these dimensions are missing, or no longer valid.

        Raises PyMongoError if MongoDB does not answer.
        """
        session = self._snapshot.session
        self._marks = await marks_of(self._database, self._scope.rollups(), periods, session)
        wanted = {
            self._id(of, name_of(by), period): (period, self._marks.of(period).of(of))
            for period in periods
            for of in _OF
            if not self._marks.of(period).is_empty(of)
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
            period: self._id(of, name_of(names), period)
            for period, mark in marks.items()
            if not mark.is_empty(of)
        }
        kept = await self._joint.find(ids.values(), names, self._snapshot.session)
        found = []
        for period, one in ids.items():
            known, mark = kept.get(one), marks[period].of(of)
            if known is None or known.mark != mark:
                known = Kept(mark, await self._made(of, names, period))
                if is_over(period, self._snapshot.now):
                    await self._joint.keep(one, known)
            found.append((period, known.table))
        return found

    async def _made(self, of: OfDocuments, names: Sequence[str], period: Period) -> Columns:
        if period.kind != "hour":
            whole = await self._from_all(of, names, period)
            if whole is not None:
                return whole
            if self._scope.link_id is None and rollups_for(names) is not None:
                return await self._from_rollups(of, names, period)
        if period.kind == "month":
            return await self._from_days(of, names, period)
        return await self._from_documents(of, names, period)

    async def _from_all(
        self, of: OfDocuments, names: Sequence[str], period: Period
    ) -> Columns | None:
        """Return the counts made from those by all dimensions; None if these are not valid."""
        if period.kind != "day" or self._scope.link_id is not None or is_all(names):
            return None
        one = self._id(of, ALL, period)
        found = (await self._joint.find([one], names, self._snapshot.session)).get(one)
        if found is None or found.mark != self._marks.of(period).of(of):
            return None
        return found.table.by(names)

    async def _from_rollups(self, of: OfDocuments, names: Sequence[str], period: Period) -> Columns:
        source = rollups_for(names)
        assert source is not None
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
        return columns.joined([table for _, table in tables], names).by(names)

    async def _from_documents(
        self, of: OfDocuments, names: Sequence[str], period: Period
    ) -> Columns:
        mark = self._marks.of(period)
        day_start = self._scope.calendar.start_of(period.first)
        whole = Span(self._scope.documents(), period.start, period.end, day_start)
        tables = []
        for span in whole.divided(1 + (mark.clicks + mark.bots) // _CLICKS_AT_ONCE):
            await self._snapshot.before_counting()
            tables.append(await count(self._database, of, span, names, self._snapshot.session))
        table = columns.joined(tables, names).by(names)
        if of == "clicks":
            table = with_missing(table, mark.missing(table), names)
        return table

    def _id(self, of: OfDocuments, by: str, period: Period) -> JointId:
        account_id, calendar, link_id = self._scope
        return JointId(account_id, calendar.zone, link_id, of, by, period.key)


async def rollup_table(database: Database, query: RollupQuery, session: Session) -> Columns:
    """Return what a query of rollups adds up. Raises PyMongoError if MongoDB does not answer."""
    rows = database["rollups"].aggregate(stages_of(query), session=session, allowDiskUse=True)
    return await asyncio.to_thread(table_of, query, await rows.to_list(None))


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


def _without(name: str, names: Sequence[str]) -> list[str]:
    return [one for one in names if one != name]
