"""The counts of a query whose last day is cut off at a moment.

Earlier days are read as usual. The last day has whole hours, from rollups or joint counts,
and a part of an hour, from documents.
"""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from tracker.reports import columns
from tracker.reports.answers.reading import Reading
from tracker.reports.columns import Columns
from tracker.reports.dimensions import DAY, HOUR, LINK
from tracker.reports.joint_counts.part_hour import PartHour
from tracker.reports.periods import Period, hours_of
from tracker.reports.threads import in_thread_if_large

_DAY: Final = timedelta(days=1)


class CutReading(Reading):
    """The reading of a query with `until`."""

    async def table(self) -> Columns:
        query, calendar, until = self._query, self._run.scope.calendar, self._query.until
        assert until is not None
        _, hour = calendar.day_and_hour(until)
        tables = []
        if query.first < query.last:
            before = replace(query, last=query.last - _DAY)
            tables.append(await Reading(self._run, before, self._selection).table())
        if hour:
            tables.append(await self._hours(hour))
        part = hours_of(calendar, query.last)[hour]
        if part.start < until:
            tables += await self._part(part, until)
        names = self.names
        rows = sum(one.rows for one in tables)
        return await in_thread_if_large(
            rows, lambda: columns.summed([one.by(names) for one in tables], names)
        )

    async def _hours(self, count: int) -> Columns:
        """Return the counts of the first hours of the last day."""
        hours = [f"{hour:02}" for hour in range(count)]
        filters = {**self._query.filters, HOUR: hours}
        query = replace(self._query, first=self._query.last, filters=filters)
        values = {**self._selection.values, HOUR: frozenset(hours)}
        return await Reading(self._run, query, self._selection._replace(values=values)).table()

    async def _part(self, hour: Period, until: datetime) -> list[Columns]:
        """Return the counts of an hour of the last day up to `until`."""
        links, needed = self._links, self.needed
        if links is not None and not links:
            return []
        link_id = links[0] if links is not None and len(links) == 1 else None
        names = [one for one in needed if one != HOUR and (one != LINK or link_id is None)]
        part = PartHour(self._run, self._run.scope._replace(link_id=link_id))
        found = []
        for table in await part.tables(names, hour, until):
            for name, value in self._constants(hour, link_id):
                table = table.with_constant(name, value)
            found.append(self.filtered(table))
        return found

    def _constants(self, hour: Period, link_id: UUID | None) -> list[tuple[str, str]]:
        """Return the dimensions with one value in the whole hour."""
        found = [(DAY, hour.first.isoformat()), (HOUR, f"{hour.hour:02}")]
        return found if link_id is None else [*found, (LINK, str(link_id))]
