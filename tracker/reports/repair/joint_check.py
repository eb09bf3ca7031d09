"""The check of cached joint counts against their documents.

The operator's `verify` and `rebuild_rollups` call it for each day, in a snapshot.
"""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from tracker.calendar import Calendar
from tracker.reports.columns import Columns, summed
from tracker.reports.counted import dimensions_of
from tracker.reports.joint_counts.fingerprints import Fingerprints
from tracker.reports.joint_counts.largest_values import cut, read_to_cut
from tracker.reports.joint_counts.scan import Span, read
from tracker.reports.joint_counts.scope import ReportScope, scope_of
from tracker.reports.joint_counts.store import ALL, JointCountStore, JointId
from tracker.reports.periods import Period, day_period, hours_of, month_period
from tracker.reports.threads import in_thread
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads


class JointCheck:
    """The check of one account's cached counts."""

    def __init__(self, database: Database, account_id: UUID, calendar: Calendar) -> None:
        self._account_id = account_id
        self._calendar = calendar
        self._joint = JointCountStore(database)

    async def wrong(self, day: str, reader: MongoReads) -> list[JointId]:
        """Return the wrong counts that reports would read. A month is checked with its last day."""
        periods = {one.key: one for one in _periods(self._calendar, date.fromisoformat(day))}
        wanted = {
            "_id.account_id": self._account_id,
            "_id.period": {"$in": list(periods)},
            "_id.zone": self._calendar.zone,
        }
        ids = await self._joint.ids(wanted, reader)
        return [one for one in ids if not await self._is_right(one, periods[one.period], reader)]

    async def remove_wrong(self, day: str, reader: MongoReads) -> int:
        found = await self.wrong(day, reader)
        await self._joint.remove(found)
        return len(found)

    async def _is_right(self, one: JointId, period: Period, reader: MongoReads) -> bool:
        """Return whether counts equal the documents, or are not valid anyway."""
        account = await scope_of(reader, one.account_id)
        scope = ReportScope(one.account_id, self._calendar, one.link_id, extra=account.extra)
        names = _names(one, scope)
        cached = (await self._joint.find([one], names, reader)).get(one)
        fingerprints = Fingerprints(reader, scope.rollups())
        await fingerprints.read([period])
        if cached is None or cached.fingerprint != fingerprints.of(period).of(one.of):
            return True
        tables = []
        is_cut = period.kind in ("day", "month")
        names_read = read_to_cut(names) if is_cut and one.link_id is None else names
        for part in period.dates():
            span = Span(
                scope.documents(),
                max(period.start, self._calendar.start_of(part)),
                min(period.end, self._calendar.end_of(part)),
                self._calendar.start_of(part),
            )
            table = await in_thread(await read(reader, one.of, span, names_read))
            tables.append(await in_thread(cut, table) if is_cut else table)
        return _rows(tables, names) == _rows([cached.table()], names)


def _periods(calendar: Calendar, day: date) -> list[Period]:
    periods = [day_period(calendar, day), *hours_of(calendar, day)]
    month = month_period(calendar, day)
    return [*periods, month] if month.last == day else periods


def _names(one: JointId, scope: ReportScope) -> Sequence[str]:
    if one.by != ALL:
        return one.by.split(",") if one.by else []
    return dimensions_of(one.of, one.is_of_hour(), scope.extra)


def _rows(tables: Sequence[Columns], names: Sequence[str]) -> dict[tuple[str, ...], dict[str, int]]:
    """Return the measures by their values, except zeros."""
    table = summed(tables, names)
    columns = [table.dimensions[name] for name in names]
    found = {}
    for row in range(table.rows):
        measures = {name: int(one[row]) for name, one in table.measures.items() if one[row]}
        if measures:
            key = tuple(column.values[column.codes[row]] for column in columns)
            found[key] = measures
    return found
