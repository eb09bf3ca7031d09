"""Visits that an import brings, as clicks of their days, and their removal by an undo.

- They go through the writer of batches, so rollups equal the documents after each chunk.
- They are no visitors' first clicks, and in no feed by storing order, live page or webhook.
- A click's id follows from its visit, so a repeated import finds it stored.
- Days that retention has reached get none: what it deletes could come again.

The clicks before the import of a link (`opening_clicks`) are its total without these visits.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

from redis.asyncio import Redis

from tracker.clicks.bots import MAX_USER_AGENT_CHARACTERS
from tracker.clicks.click import Click
from tracker.clicks.document import ClickDocument
from tracker.clicks.enrich import AccountParameters, Enrichment
from tracker.clicks.store import Clicks
from tracker.clicks.visit import MAX_REFERRER_CHARACTERS
from tracker.clock import now, start_of
from tracker.imports.item import SourceVisit
from tracker.imports.store import Import
from tracker.ingest.batch_writer import BatchWriter, InTransaction
from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.planning.write_set import WriteSet
from tracker.journal.journal import Journal
from tracker.links.link import Link
from tracker.reports.joint_counts.due_accounts import DueAccounts
from tracker.reports.repair.recount import CORRECTIONS_NUMBER
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import StoredId, owner_id, run_updates
from tracker.stores.mongodb.retention import first_complete_day
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.webhooks.queue import DeliveryQueue

VISITS_PER_CHUNK: Final = 2_000
"""Visits of one transaction: at most that many clicks, rollups of links, and links."""

IMPORTS_NUMBER: Final = CORRECTIONS_NUMBER + 1
"""The drain number of imports, so that no drain waits for one."""

_EARLIEST: Final = datetime(1995, 1, 1, tzinfo=UTC)
_PER_TURN: Final = 200
_SETTLED_AFTER: Final = timedelta(minutes=1)
_SOURCE_SAYS_BOT: Final = "crawler"
_OPENING: Final = "opening_clicks"

Also = Callable[[MongoSession, Mapping[str, int]], Awaitable[None]]
"""Stores, in the transaction of a chunk, what its numbers of visits change."""


class ImportNumber(DrainNumber):
    """The number of imports, which nobody leases."""

    async def number(self) -> int:
        return IMPORTS_NUMBER


class ImportedVisits:
    """The writer of imported visits in one process."""

    def __init__(
        self,
        mongodb: MongoDB,
        redis: Redis,
        enrichment: Enrichment,
        queue: DeliveryQueue,
        journal: Journal,
    ) -> None:
        self._mongodb = mongodb
        self._journal = journal
        self._enrichment = enrichment
        self._clicks = Clicks(mongodb)
        self._due = DueAccounts(mongodb.database)
        self._writer = BatchWriter(mongodb, ImportNumber(redis, mongodb), queue)

    async def store(
        self,
        origin: Import,
        visits: Sequence[tuple[Link, SourceVisit]],
        also: Also,
    ) -> None:
        """Store a chunk of visits of links, in one transaction with what `also` stores.

        It gets the numbers of new and known visits, and of those outside the days that count.
        Raises WriteConflict if another process stores them at the same time.
        """
        day = await first_complete_day(self._mongodb.database)
        earliest = max(start_of(day), _EARLIEST) if day else _EARLIEST
        within = [one for one in visits if earliest <= one[1].at <= now()]
        made = await self._documents(origin, within)
        stored = await self._clicks.find(made.keys(), ["_id"])
        new = [click for click_id, click in made.items() if click_id not in stored]
        by_link = Counter(click["link_id"] for click in new)
        counts = {
            "visits": len(new),
            "visits_known": len(made) - len(new),
            "visits_outside": len(visits) - len(within),
        }

        async def finish(session: MongoSession) -> None:
            await self._lower_openings(by_link, session)
            await also(session, counts)

        if new:
            await self._write(origin, WriteSet([], [], [], imported=new), finish)
        else:
            await run_in_transaction(self._mongodb.database, finish)
        await self._recount({link.id for link, _ in visits if link.max_clicks})

    async def undo(self, origin: Import, also: Also) -> int:
        """Remove a chunk of an import's clicks from clicks and rollups; return their number.

        0: none is left. Conversions keep what they have of a click. Raises as `store` does.
        """
        clicks = await self._clicks.imported(origin.id, VISITS_PER_CHUNK)
        if clicks:
            counts = {"visits_removed": len(clicks)}
            write_set = WriteSet([], [], [], removed=clicks)
            await self._write(origin, write_set, lambda session: also(session, counts))
            await self._recount({owner_id(click["link_id"]) for click in clicks})
        return len(clicks)

    async def set_openings(self, totals: Mapping[UUID, int | None]) -> None:
        """Set what links had before their import, given their totals with visits, where known."""
        of_links = {"link_id": {"$in": list(totals)}, "import_id": {"$exists": True}}
        count: dict[str, Any] = {"_id": "$link_id", "visits": {"$sum": 1}}
        stages = [{"$match": of_links}, {"$group": count}]
        rows = await self._mongodb.reads.aggregate("clicks", stages, hint="imported_of_link")
        visits = {row["_id"]: row["visits"] for row in rows}
        updates = []
        for link_id, total in totals.items():
            if total is None:
                continue
            left = max(0, total - visits.get(link_id, 0))
            update = {"$set": {_OPENING: left}} if left else {"$unset": {_OPENING: ""}}
            updates.append({"q": {"_id": link_id}, "u": update})
        await run_updates(self._mongodb.database, "links", updates)
        await self._recount(totals)

    async def _recount(self, link_ids: Collection[UUID]) -> None:
        """Let the counters of those with `max_clicks` follow what is stored now."""
        limited = {"_id": {"$in": list(link_ids)}, "max_clicks": {"$exists": True}}
        found = [row["_id"].bytes async for row in self._mongodb["links"].find(limited, ["_id"])]
        await self._journal.recount_limited(found)

    async def _write(self, origin: Import, write_set: WriteSet, finish: InTransaction) -> None:
        await self._writer.write(write_set, finish)
        await self._due.add([origin.account_id], now() + _SETTLED_AFTER)

    async def _documents(
        self, origin: Import, visits: Sequence[tuple[Link, SourceVisit]]
    ) -> dict[bytes, ClickDocument]:
        found: dict[bytes, ClickDocument] = {}
        stored_at, import_id = now(), StoredId(origin.id.bytes)
        for number, (link, visit) in enumerate(visits):
            made = _click(origin, link, visit)
            click = self._enrichment.document(made, AccountParameters(cost=None))
            if visit.is_bot or not visit.user_agent:
                click["bot"] = _SOURCE_SAYS_BOT if visit.is_bot else None
            click["stored_at"], click["import_id"] = stored_at, import_id
            found[click["_id"]] = click
            if number % _PER_TURN == 0:
                await asyncio.sleep(0)
        return found

    async def _lower_openings(self, by_link: Mapping[bytes, int], session: MongoSession) -> None:
        """Take new visits out of the clicks before the import, of which they were a part."""
        opening, updates = f"${_OPENING}", []
        for link_id, count in by_link.items():
            left = [{"$gt": [opening, count]}, {"$subtract": [opening, count]}, "$$REMOVE"]
            update = [{"$set": {_OPENING: {"$cond": left}}}]
            updates.append({"q": {"_id": link_id, _OPENING: {"$gt": 0}}, "u": update})
        await run_updates(self._mongodb.database, "links", updates, session)


def _click(origin: Import, link: Link, visit: SourceVisit) -> Click:
    at = int(visit.at.timestamp() * 1000)
    referrer = visit.referrer
    if referrer and "://" not in referrer:  # some sources give the host alone
        referrer = f"https://{referrer}"
    return Click(
        id=_click_id(origin, visit, at),
        at=at,
        account_id=link.account_id.bytes,
        link_id=link.id.bytes,
        domain_name=link.domain_name,
        address="",
        user_agent=_as_header(visit.user_agent)[:MAX_USER_AGENT_CHARACTERS],
        referrer=_as_header(referrer)[:MAX_REFERRER_CHARACTERS],
        purpose="",
        edge_country=visit.country,
        query="",
    )


def _click_id(origin: Import, visit: SourceVisit, at: int) -> bytes:
    """Return the id of a visit's click: a UUID of version 7 with a digest as its random part."""
    source = origin.account_id, origin.source, origin.instance
    named = map(str, (*source, visit.link_id, at // 1000, visit.number))
    text = "\0".join(named).encode("utf-8", "surrogatepass")
    version, second, variant, *rest = blake2b(text, digest_size=10).digest()
    digits = (version & 0x0F | 0x70, second, variant & 0x3F | 0x80, *rest)
    return (at // 1000 * 1000).to_bytes(6) + bytes(digits)


def _as_header(text: str) -> str:
    """Return a text with a character for each byte, as visitors' headers are stored."""
    return text.encode("utf-8", "replace").decode("latin-1")
