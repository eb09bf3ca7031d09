"""Reports: each query is answered from one snapshot, so that its figures agree."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import date
from functools import partial
from typing import Any, Final
from uuid import UUID

from tracker.limits.permits import Permits
from tracker.reports import arrays, limits
from tracker.reports.answers.cut_reading import CutReading
from tracker.reports.answers.names import has_text, name_of, records_with_text, stored_names
from tracker.reports.answers.reading import Reading
from tracker.reports.answers.rows import Rows, rows_of, totals_of
from tracker.reports.answers.tags import by_tag
from tracker.reports.answers.turn import Turn
from tracker.reports.columns import Columns
from tracker.reports.counted import wanted_values
from tracker.reports.dimensions import LINK, TAG
from tracker.reports.joint_counts.scope import Moment, ReportScope, Snapshot, moment_of
from tracker.reports.memory import ReportMemory, Reservation
from tracker.reports.query import GroupRow, Measures, Report, ReportQuery
from tracker.reports.threads import in_thread, in_thread_if_large
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import with_stored_ids
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.retention import first_complete_day

_LINKS_PER_BATCH: Final = 1000
"""Links of a filter by tag in one batch: 3 ms to decode."""


class WholeReport:
    """The rows of a report as arrays, which take less memory than objects."""

    def __init__(self, group_by: str, rows: Rows, stored_names: Mapping[str, str]) -> None:
        self.keys = rows.keys
        self._group_by = group_by
        self._rows = rows
        self._stored_names = stored_names

    def bytes(self) -> int:
        return self._rows.bytes()

    def piece(self, first: int, size: int) -> Sequence[GroupRow]:
        """Return `size` rows from number `first` on, fewer at the end."""
        page = self._rows.page(first, size)
        return [
            GroupRow(
                key=key, name=name_of(self._group_by, key, self._stored_names), measures=measures
            )
            for key, measures in zip(page.keys, page.measures(), strict=True)
        ]


class Reports:
    """The reports of a process. `host` is the name of the default domain."""

    def __init__(self, mongodb: MongoDB, host: str) -> None:
        self._database = mongodb.database
        self._reader = mongodb.reads
        self._host = host
        self.memory = ReportMemory()
        seconds = limits.REPORT_SECONDS
        self._reading = Permits("report", "reports", limits.READING, seconds)
        counting = "reports that read every click"
        self._counting = Permits("report", counting, limits.COUNTING, seconds)

    def turn(self, account_id: UUID) -> Turn:
        """Return the turn of an account's request, to be entered before anything is read.

        Entering raises RateLimited or Unavailable if too many reports wait.
        """
        return Turn(self._database, account_id, self._reading, self._counting)

    async def first_day_of_clicks(self) -> date:
        """Return the first day, in UTC, whose clicks are all still stored."""
        day = await first_complete_day(self._database)
        return date.fromisoformat(day) if day else date.min

    async def run(
        self,
        query: ReportQuery,
        moment: Moment | None = None,
        turn: Turn | None = None,
        also: Collection[str] = (),
        reservation: Reservation | None = None,
    ) -> Report:
        """Return the report of a query at `moment`, as a part of the request of `turn`.

        Keys of `also` have rows, of zeros if need be. Defaults are now, a request of its own, and
        memory that is freed at the end. Raises BadRequest for too many values, and
        TooSlow at the time limit. Raises RateLimited or Unavailable if too many reports wait, or
        memory is short.
        """
        async with AsyncExitStack() as stack:
            if turn is None:
                turn = await stack.enter_async_context(self.turn(query.account_id))
            await stack.enter_async_context(turn.limited())
            if moment is None:
                snapshot = await stack.enter_async_context(self._reader.at_one_snapshot())
                moment = await moment_of(snapshot, query.account_id)
            if reservation is None:
                reservation = stack.enter_context(self.memory.reserve(query.account_id))
            # Its tables must be freed before their memory is returned.
            return await self._page(query, moment, turn, reservation, also)

    async def rows(
        self, query: ReportQuery, moment: Moment, turn: Turn, reservation: Reservation
    ) -> Rows:
        """Return all rows in no order, in memory that the caller frees. Raises as `run`."""
        async with turn.limited():
            rows, _ = await self._found(query, moment, turn, reservation)
        return rows

    async def whole(
        self,
        query: ReportQuery,
        moment: Moment,
        turn: Turn,
        reservation: Reservation,
        also: Collection[str] = (),
    ) -> WholeReport:
        """Return all rows in order, in memory that the caller frees. Raises as `run`."""
        async with turn.limited():
            found, _ = await self._found(query, moment, turn, reservation, also)
            rows = await self._ordered(query, found, len(found.keys), moment.reader)
            names = await stored_names(moment.reader, query.group_by, rows.keys)
        return WholeReport(query.group_by, rows, names)

    async def _page(
        self,
        query: ReportQuery,
        moment: Moment,
        turn: Turn,
        reservation: Reservation,
        also: Collection[str],
    ) -> Report:
        rows, totals = await self._found(query, moment, turn, reservation, also)
        first = (query.page - 1) * query.page_size
        ordered = await self._ordered(query, rows, first + query.page_size, moment.reader)
        page = ordered.page(first, query.page_size)
        stored = await stored_names(moment.reader, query.group_by, page.keys)
        return Report(
            rows=[
                GroupRow(key=key, name=name_of(query.group_by, key, stored), measures=measures)
                for key, measures in zip(page.keys, page.measures(), strict=True)
            ],
            total_rows=len(rows.keys),
            totals=totals,
        )

    async def _found(
        self,
        query: ReportQuery,
        moment: Moment,
        turn: Turn,
        reservation: Reservation,
        also: Collection[str] = (),
    ) -> tuple[Rows, Measures]:
        """Return the rows that pass the filters and the search, in no order, and the totals."""
        reader, calendar = moment.reader, moment.calendar
        await arrays.load()
        table = await self._read(query, moment, turn, reservation)
        keyed = table
        if query.group_by == TAG:
            await reservation.take(table.rows * limits.ROW_BYTES)
            keyed = await by_tag(reader, query.account_id, table)
        rows = await in_thread_if_large(
            keyed.rows, rows_of, keyed, query.group_by, query.bots, calendar, self._host
        )
        if also:
            rows = await in_thread_if_large(len(also) + len(rows.keys), rows.with_keys, also)
        if query.search:
            text, group_by = query.search, query.group_by
            found = await records_with_text(reader, query.account_id, group_by, text)
            rows = await in_thread(
                rows.chosen, lambda key: key in found or has_text(group_by, key, text)
            )
        return rows, totals_of(table, query.bots)

    async def _read(
        self, query: ReportQuery, moment: Moment, turn: Turn, reservation: Reservation
    ) -> Columns:
        links = await self._links(query, moment.reader)
        snapshot = Snapshot(
            moment.reader,
            moment.at,
            turn.begin_counting,
            turn.is_thorough,
            reservation,
            turn.progress.set_fraction,
            turn.fingerprints,
            turn.combinations,
            turn.rollups,
            turn.recent,
        )
        scope = ReportScope(query.account_id, moment.calendar)
        is_whole = query.until is None or query.tests == "only"  # tests have no rollups to cut
        read = Reading if is_whole else CutReading
        reading = read(self._database, query, scope, snapshot, links, self._wanted(query))
        return await reading.table(turn.unattributed)

    def _wanted(self, query: ReportQuery) -> dict[str, Sequence[str]]:
        """Return the stored values of filters, by counted dimension."""
        found: dict[str, Sequence[str]] = {}
        for name in query.filters.keys() - {LINK, TAG}:
            counted, values = wanted_values(name, query.filters[name], self._host)
            known = found.get(counted)
            found[counted] = values if known is None else [one for one in values if one in known]
        return found

    async def _links(self, query: ReportQuery, snapshot: MongoReads) -> Sequence[UUID] | None:
        """Return the links that pass the filters by link and tag; None without such filters.

        Other accounts' ids are harmless: counts match the account too.
        """
        ids, tags = query.filters.get(LINK), query.filters.get(TAG)
        if tags is None:
            return None if ids is None else [UUID(str(one)) for one in ids]
        matching: dict[str, Any] = {
            "account_id": query.account_id,
            "tags": {"$all" if query.all_tags else "$in": list(tags)},
        }
        if ids is not None:
            matching["_id"] = {"$in": list(ids)}
        # There may be 100,000: the driver takes twice as long to make UUIDs.
        found = snapshot.with_binary_ids().find_each(
            "links", with_stored_ids(matching), ["_id"], batch_size=_LINKS_PER_BATCH
        )
        return [UUID(bytes=row["_id"]) async for row in found]

    async def _ordered(
        self, query: ReportQuery, rows: Rows, at_most: int, snapshot: MongoReads
    ) -> Rows:
        stored: dict[str, str] = {}
        if query.sort == "name":
            stored = await stored_names(snapshot, query.group_by, rows.keys)
        name = partial(name_of, query.group_by, stored=stored)
        return await in_thread_if_large(
            len(rows.keys), rows.ordered, query.sort, query.descending, name, at_most
        )
