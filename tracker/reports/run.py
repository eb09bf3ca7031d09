"""Reports: each query is answered from one snapshot, so that its figures agree."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from decimal import Context, Decimal
from typing import Any, Final
from uuid import UUID

import pymongo
from bson import Decimal128
from motor.motor_asyncio import AsyncIOMotorClientSession
from pymongo.errors import ExecutionTimeout

from tracker.db.connect import Database
from tracker.errors import Unavailable
from tracker.reports.dimensions import NO_KEY, SORTED_LAST
from tracker.reports.limits import REPORT_SECONDS
from tracker.reports.names import names_of
from tracker.reports.pipelines import Aggregation, aggregation
from tracker.reports.query import Measures, Query, Report, Row
from tracker.reports.queue import ReportQueue

_TOO_LONG: Final = f"report: not done after {REPORT_SECONDS:.0f} seconds; ask for fewer days"

_NONE: Final = Measures(
    clicks=0,
    unique_clicks=0,
    bot_clicks=0,
    conversions=0,
    value=Decimal(0),
    payout=Decimal(0),
)
_EXACT: Final = Context(prec=50)


class Reports:
    """The reports of a process. `host` is the name of the default domain in them."""

    def __init__(self, database: Database, host: str) -> None:
        self._database = database
        self._host = host
        self._queue = ReportQueue()

    async def run(self, query: Query, session: AsyncIOMotorClientSession | None = None) -> Report:
        """Return the report of a query, read in `session` if there is one, else in a snapshot.

        - Raises RateLimited if too many reports of the account wait.
        - Raises Unavailable if it takes too long, or too many reports of all accounts wait.
        - Raises PyMongoError if MongoDB does not answer.
        """
        if session is not None:
            return await self._run(query, session)
        async with await self._database.client.start_session(snapshot=True) as own:
            return await self._run(query, own)

    async def _run(self, query: Query, session: AsyncIOMotorClientSession) -> Report:
        links = await self._links(query, session)
        wanted = aggregation(query, links, self._host)
        found = await self._aggregated(query.account_id, wanted, session)
        without = NO_KEY.get(query.group_by, "")
        keys = [without if row["_id"] == SORTED_LAST else str(row["_id"]) for row in found["rows"]]
        names = await names_of(self._database, query.group_by, keys, session)
        return Report(
            rows=[
                Row(key=key, name=names[key], measures=_measures(row))
                for key, row in zip(keys, found["rows"], strict=True)
            ],
            total_rows=found["count"][0]["rows"] if found["count"] else 0,
            totals=_measures(found["totals"][0]) if found["totals"] else _NONE,
        )

    async def _links(
        self, query: Query, session: AsyncIOMotorClientSession
    ) -> Sequence[UUID] | None:
        """Return the ids of the links that the filters by link and tag let through.

        None without such filters. Other accounts' ids are harmless: rollups match the account too.
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
        rows = self._database["links"].find(matching, ["_id"], session=session)
        return [row["_id"] async for row in rows]

    async def _aggregated(
        self, account_id: UUID, wanted: Aggregation, session: AsyncIOMotorClientSession
    ) -> Mapping[str, Any]:
        collection = self._database[wanted.collection]
        turn = self._queue.turn(account_id, REPORT_SECONDS) if wanted.reads_clicks else None
        async with turn or nullcontext():
            try:
                with pymongo.timeout(REPORT_SECONDS):
                    answer = collection.aggregate(wanted.stages, session=session, allowDiskUse=True)
                    [found] = await answer.to_list(None)
            except ExecutionTimeout:
                raise Unavailable(_TOO_LONG) from None
        return found


def _measures(sums: Mapping[str, Any]) -> Measures:
    return Measures(
        clicks=sums["clicks"],
        unique_clicks=sums["unique_clicks"],
        bot_clicks=sums["bot_clicks"],
        conversions=sums["conversions"],
        value=_money(sums["value"]),
        payout=_money(sums["payout"]),
    )


def _money(total: int | Decimal128) -> Decimal:
    """Return a sum without exponent or trailing zeros."""
    exact = total.to_decimal() if isinstance(total, Decimal128) else Decimal(total)
    return Decimal(f"{exact.normalize(_EXACT):f}")
