"""Reports: each query is answered from one snapshot, so that its figures agree."""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final
from uuid import UUID

import pymongo
from pymongo.errors import PyMongoError

from tracker.clock import now
from tracker.db.connect import Database
from tracker.db.reader import Reader
from tracker.errors import Unavailable
from tracker.reports.columns import Columns
from tracker.reports.dimensions import LINK, NO_KEY
from tracker.reports.limits import REPORT_SECONDS
from tracker.reports.names import found_by, names_of, stored_names
from tracker.reports.query import Measures, Query, Report, Row
from tracker.reports.queue import ReportQueue
from tracker.reports.reading import Reading
from tracker.reports.rows import Rows, rows_of, totals_of
from tracker.reports.scope import Moment, Scope, Snapshot, moment_of
from tracker.reports.threads import in_thread_if_large
from tracker.reports.whole_report import WholeReport

_TOO_LONG: Final = (
    f"report: not done after {REPORT_SECONDS:.0f} seconds; ask for fewer days, or try again: the "
    "days that were counted are kept"
)

_FEW_LINKS: Final = 1000
"""Links whose tags are looked up one by one; of more, all of the account's are read."""


class Reports:
    """The reports of a process. `host` is the name of the default domain in them."""

    def __init__(self, database: Database, reader: Reader, host: str) -> None:
        self._database = database
        self._reader = reader
        self._host = host
        self._queue = ReportQueue()

    async def run(
        self,
        query: Query,
        moment: Moment | None = None,
        is_thorough: bool = False,
        seconds: float = math.inf,
    ) -> Report:
        """Return the report of a query, read at `moment` if there is one, else now.

        With `is_thorough` days that have to be counted are counted for many other reports too. It
        waits at most `seconds` for a turn.

        - Raises BadRequest if the days have too many values of what is asked for.
        - Raises RateLimited if too many reports of the account wait.
        - Raises Unavailable if it takes too long, or too many reports of all accounts wait.
        - Raises PyMongoError if MongoDB does not answer.
        """
        if moment is not None:
            return await self._run(query, moment, is_thorough, seconds)
        async with self._reader.at_one_snapshot() as snapshot:
            own = await moment_of(snapshot, query.account_id)
            return await self._run(query, own, is_thorough, seconds)

    async def whole(
        self,
        query: Query,
        moment: Moment,
        is_thorough: bool = False,
        seconds: float = math.inf,
    ) -> WholeReport:
        """Return all rows of a query, whatever its page, read at `moment`. Raises as `run`."""
        found, _ = await self._found(query, moment, is_thorough, seconds)
        rows = await self._ordered(query, found, len(found.keys), moment.reader)
        names = await stored_names(moment.reader, query.group_by, rows.keys)
        return WholeReport(query.group_by, rows, names)

    async def _run(self, query: Query, moment: Moment, is_thorough: bool, seconds: float) -> Report:
        rows, totals = await self._found(query, moment, is_thorough, seconds)
        first = (query.page - 1) * query.page_size
        ordered = await self._ordered(query, rows, first + query.page_size, moment.reader)
        page = ordered.page(first, query.page_size)
        names = await names_of(moment.reader, query.group_by, page.keys)
        return Report(
            rows=[
                Row(key=key, name=names[key], measures=measures)
                for key, measures in zip(page.keys, page.measures(), strict=True)
            ],
            total_rows=len(rows.keys),
            totals=totals,
        )

    async def _found(
        self, query: Query, moment: Moment, is_thorough: bool, seconds: float
    ) -> tuple[Rows, Measures]:
        """Return the rows that pass the filters and the search, in no order, and the totals."""
        reader, calendar = moment
        table = await self._read(query, moment, is_thorough, seconds)
        tags = await self._tags(query, table, reader)
        rows = await in_thread_if_large(
            table.rows, rows_of, table, query.group_by, query.bots, calendar, self._host, tags
        )
        if query.search:
            keys = await found_by(reader, query.account_id, query.group_by, rows.keys, query.search)
            rows = await asyncio.to_thread(rows.chosen, keys)
        return rows, totals_of(table, query.bots)

    async def _read(
        self, query: Query, moment: Moment, is_thorough: bool, seconds: float
    ) -> Columns:
        """Return what the query counts. A turn is taken once, if clicks have to be read."""
        links = await self._links(query, moment.reader)
        async with AsyncExitStack() as stack:
            has_turn = False

            async def take_turn() -> None:
                nonlocal has_turn
                if not has_turn:
                    has_turn = True
                    turn = self._queue.turn(query.account_id, min(seconds, REPORT_SECONDS))
                    await stack.enter_async_context(turn)

            snapshot = Snapshot(moment.reader, now(), take_turn, is_thorough)
            scope = Scope(query.account_id, moment.calendar)
            reading = Reading(self._database, query, scope, snapshot, links, self._wanted(query))
            until = time.monotonic() + REPORT_SECONDS
            try:
                with pymongo.timeout(REPORT_SECONDS):
                    return await reading.table()
            except PyMongoError as error:
                if error.timeout and time.monotonic() >= until:
                    raise Unavailable(_TOO_LONG) from None
                raise

    def _wanted(self, query: Query) -> dict[str, Sequence[str]]:
        """Return the values of filters as documents have them: the default domain is empty."""
        found: dict[str, Sequence[str]] = {}
        for name, values in query.filters.items():
            if name not in ("link", "tag"):
                texts = list(dict.fromkeys(map(str, values)))
                is_default = name == "domain" and self._host in texts
                found[name] = [*texts, ""] if is_default else texts
        return found

    async def _links(self, query: Query, snapshot: Reader) -> Sequence[UUID] | None:
        """Return the ids of the links that the filters by link and tag let through.

        None without such filters. Other accounts' ids are harmless: counts match the account too.
        """
        ids, tags = query.filters.get("link"), query.filters.get("tag")
        if tags is None:
            return None if ids is None else [UUID(str(one)) for one in ids]
        matching: dict[str, Any] = {
            "account_id": query.account_id,
            "tags": {"$all" if query.all_tags else "$in": list(tags)},
        }
        if ids is not None:
            matching["_id"] = {"$in": list(ids)}
        return [row["_id"] for row in await snapshot.find("links", matching, ["_id"])]

    async def _tags(self, query: Query, table: Columns, snapshot: Reader) -> dict[str, list[str]]:
        """Return the tags of the account's links by id, if the report is grouped by them."""
        if query.group_by != "tag" or not table.rows:
            return {}
        matching: dict[str, Any] = {"account_id": query.account_id, "tags": {"$ne": []}}
        keys = [key for key in table.dimensions[LINK].values if key != NO_KEY[LINK]]
        if len(keys) <= _FEW_LINKS:
            matching["_id"] = {"$in": [UUID(key) for key in keys]}
        # A row for each tag: those of 20,000 links, one by one, would take longer than the report.
        stages: list[dict[str, Any]] = [
            {"$match": matching},
            {"$unwind": "$tags"},
            {"$group": {"_id": "$tags", "links": {"$push": "$_id"}}},
        ]
        rows = await snapshot.aggregate("links", stages)
        return await asyncio.to_thread(_by_link, rows)

    async def _ordered(self, query: Query, rows: Rows, at_most: int, snapshot: Reader) -> Rows:
        """Return the first rows in the order that the query asks for."""
        names: dict[str, str] = {}
        if query.sort == "name":
            names = await names_of(snapshot, query.group_by, rows.keys)
        return await in_thread_if_large(
            len(rows.keys), rows.ordered, query.sort, query.descending, names, at_most
        )


def _by_link(tags: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the tags of each link, as texts, from the links of each tag."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in tags:
        tag = str(row["_id"])
        for link_id in row["links"]:
            found[str(link_id)].append(tag)
    return found
