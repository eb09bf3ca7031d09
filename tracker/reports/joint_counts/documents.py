"""The counts of a scope's documents, read in spans: the last resort, 2 to 4 µs each."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from tracker.loops import cancel_and_wait
from tracker.reports import columns
from tracker.reports.columns import COUNTED_ONCE, Columns
from tracker.reports.dimensions import LINK, DocumentKind
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scan import Span, read
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.memory import bytes_of
from tracker.reports.periods import Period
from tracker.reports.threads import in_thread, in_thread_if_large

_DOCUMENTS_AT_ONCE: Final = 20_000
"""The approximate number of documents of one pipeline."""

LISTED_LINKS: Final = 1000
"""Links that MongoDB sends as a number instead of an id."""

_MOMENT: Final = timedelta(milliseconds=1)


class DocumentScans:
    """The counts of a scope's documents in a run.

    MongoDB reads the next documents while a thread counts the last. Only `few` are counted without
    a permit to count.
    """

    def __init__(self, run: ReportRun, scope: ReportScope, few: bool = False) -> None:
        self._run = run
        self._scope = scope
        self._few = few

    async def count(
        self,
        of: DocumentKind,
        names: Sequence[str],
        period: Period,
        expected: int,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> Columns:
        """Count a period by these dimensions, or only from `start` to `end`.

        About `expected` documents are in the whole period.
        """
        spans = await self._spans(of, names, period, expected, start, end)
        return await _sum(await self._tables(of, names, spans), names)

    async def count_each(
        self, of: DocumentKind, names: Sequence[str], expected: Mapping[Period, int]
    ) -> dict[Period, Columns]:
        """Count periods, of about so many `expected` documents each."""
        spans = [
            (period, span)
            for period, count in expected.items()
            for span in await self._spans(of, names, period, count)
        ]
        found: dict[Period, list[Columns]] = {period: [] for period in expected}
        tables = await self._tables(of, names, [span for _, span in spans])
        for (period, _), table in zip(spans, tables, strict=True):
            found[period].append(table)
        return {period: await _sum(tables, names) for period, tables in found.items()}

    async def _spans(
        self,
        of: DocumentKind,
        names: Sequence[str],
        period: Period,
        expected: int,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> list[Span]:
        start, end = start or period.start, end or period.end
        if start == end:
            return []
        # Where a zone skipped a day, that day has no length. Nothing is later than now.
        at = max(self._run.at, period.start)
        whole = max(min(period.end, at) - period.start, _MOMENT)
        share = max(min(end, at) - start, timedelta()) / whole
        documents = int(share * expected)
        part = Span(
            self._scope.documents(), start, end, self._scope.calendar.start_of(period.first)
        )
        # Fewer documents take less time than the list.
        if of == "clicks" and LINK in names and documents > LISTED_LINKS:
            part = part._replace(links=await self._links_of(period))
        return list(part.divided(1 + documents // _DOCUMENTS_AT_ONCE))

    async def _tables(
        self, of: DocumentKind, names: Sequence[str], spans: Sequence[Span]
    ) -> list[Columns]:
        found = []
        counting: asyncio.Task[tuple[Columns, int]] | None = None
        try:
            for span in spans:
                if not self._few:
                    await self._run.before_counting()
                table = await read(self._run.reader, of, span, names)
                if counting is not None:
                    found.append(await self._counted(counting))
                counting = asyncio.create_task(in_thread(_sized, table))
            if counting is not None:
                found.append(await self._counted(counting))
        finally:
            if counting is not None:
                await cancel_and_wait(counting)
        return found

    async def _counted(self, counting: Awaitable[tuple[Columns, int]]) -> Columns:
        table, size = await counting
        await self._run.memory.take(size)
        return table

    async def _links_of(self, period: Period) -> list[UUID]:
        """Return some links of a period. Each costs as much as decoding the id of one click."""
        of_days = {"$gte": period.first.isoformat(), "$lte": period.last.isoformat()}
        rollups = {**self._scope.rollups("link"), "_id.day": of_days}
        rows = await self._run.reader.find("rollups", rollups, ["_id.link_id"], limit=LISTED_LINKS)
        return list({row["_id"]["link_id"] for row in rows})


def documents_in(table: Columns) -> int:
    return sum(map(table.total, ("clicks", "bots", *COUNTED_ONCE)))


def _sized(make: Callable[[], Columns]) -> tuple[Columns, int]:
    table = make()
    return table, bytes_of(table)


async def _sum(tables: Sequence[Columns], names: Sequence[str]) -> Columns:
    rows = sum(one.rows for one in tables)
    return await in_thread_if_large(rows, columns.summed, tables, names)
