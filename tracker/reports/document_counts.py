"""Counts of the clicks and events of a period, and of a part of one, made by reading them all.

This is the last resort of `reports/counts`: two to five microseconds for each document.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from tracker.clicks.country import UNKNOWN
from tracker.reports import columns
from tracker.reports.columns import Columns
from tracker.reports.counting import Span, links_of, read
from tracker.reports.dimensions import HOUR, LINK, OfDocuments
from tracker.reports.memory import bytes_of
from tracker.reports.periods import Period
from tracker.reports.scope import Scope, Snapshot
from tracker.reports.threads import in_thread

_DOCUMENTS_AT_ONCE: Final = 20_000
"""About how many clicks, or events, one pipeline yields."""

_MOMENT: Final = timedelta(milliseconds=1)


class DocumentCounts:
    """The counts of a scope's documents in a snapshot."""

    def __init__(self, scope: Scope, snapshot: Snapshot) -> None:
        self._scope = scope
        self._snapshot = snapshot

    async def count(
        self,
        of: OfDocuments,
        names: Sequence[str],
        period: Period,
        expected: int,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> Columns:
        """Return the counts of a period by these dimensions, or of a part of it.

        About `expected` documents are in the whole period. MongoDB reads on while those that it has
        sent are counted. Raises PyMongoError if it does not answer, and what `before_counting`
        raises.
        """
        whole = await self._span(of, names, period)
        part = whole._replace(start=start or period.start, end=end or period.end)
        # A zone that skips a day has one without a moment.
        share = (part.end - part.start) / max(period.end - period.start, _MOMENT)
        found = [columns.empty(names)]
        counting: asyncio.Task[tuple[Columns, int]] | None = None
        for span in part.divided(1 + int(share * expected) // _DOCUMENTS_AT_ONCE):
            await self._snapshot.before_counting()
            table = await read(self._snapshot.reader, of, span, names)
            if counting is not None:
                found.append(await self._counted(counting))
            counting = asyncio.create_task(in_thread(_sized, table))
        if counting is not None:
            found.append(await self._counted(counting))
        return await in_thread(lambda: columns.joined(found, names).by(names))

    async def _counted(self, counting: Awaitable[tuple[Columns, int]]) -> Columns:
        table, size = await counting
        await self._snapshot.memory.take(size)
        return table

    async def _span(self, of: OfDocuments, names: Sequence[str], period: Period) -> Span:
        """Return all of a period, with its links if they are asked for."""
        calendar = self._scope.calendar
        found = Span(
            self._scope.documents(), period.start, period.end, calendar.start_of(period.first)
        )
        if of == "events" or LINK not in names:
            return found
        of_days = {"$gte": period.first.isoformat(), "$lte": period.last.isoformat()}
        rollups = {**self._scope.rollups("link"), "_id.day": of_days}
        return found._replace(links=await links_of(self._snapshot.reader, rollups))


def _sized(make: Callable[[], Columns]) -> tuple[Columns, int]:
    table = make()
    return table, bytes_of(table)


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
