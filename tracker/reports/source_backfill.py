"""The backfill of source dimensions, for clicks and events that an earlier release has stored.

Called by the operator's `rebuild_rollups`, beside drains that go on counting. It reads the clicks
that may lack a source, and all events that have the fields of a click, derives what each would be
stored with now, and writes it where that differs. So a run that was interrupted goes on where it
ended, and one more changes nothing. A million clicks that lack them take 40 seconds, others two.

Guarantee: documents change in the transaction that marks the rollups of their days as corrected. So
no count that is kept (`reports/marks`) outlives what it was made of.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import pymongo
from motor.motor_asyncio import AsyncIOMotorCursor

from tracker.access.time_zones import zone_in_session
from tracker.clicks.sources import FIELDS, sources_of
from tracker.conversions.document import Status
from tracker.db.connect import Collection, Database
from tracker.db.documents import StoredId, owner_id, run_updates, stored_ids, with_byte_ids
from tracker.db.transaction import Session, run_in_transaction
from tracker.reports.limits import RECOUNT_SECONDS
from tracker.reports.recount import CORRECTION_SLOT
from tracker.reports.rollup import Rollup

_DOCUMENTS_PER_TRANSACTION: Final = 1000
"""Documents that are read, and changed, at once: MongoDB limits the size of a transaction, and a
drain that changes one of the events waits for it."""

_SENT: Final = ["referrer", "query", *FIELDS]
_PLACE: Final = ["account_id", "link_id", "domain_name", "at"]

Document = Mapping[str, Any]


class Range(NamedTuple):
    """The clicks and events of an account from `start` up to `end`, which is not included."""

    account_id: UUID
    start: datetime
    end: datetime

    def clicks(self) -> dict[str, Any]:
        """Return the filter of clicks that may lack a source."""
        host, *parameters = ({name: {"$exists": False}} for name in FIELDS)
        by_referrer = {"referrer": {"$gt": ""}, **host}
        by_query = {"query": {"$regex": "utm_"}, "$and": parameters}
        return {**self._matching(), "$or": [by_referrer, by_query]}

    def events(self) -> dict[str, Any]:
        """Return the filter of events that have taken over the fields of a click."""
        # With every state, because the index has the state before the time.
        of_clicks = {"status": {"$in": list(Status)}, "click_at": {"$exists": True}}
        return {**self._matching(), **of_clicks}

    def _matching(self) -> dict[str, Any]:
        of_account = StoredId(self.account_id.bytes)
        return {"account_id": of_account, "at": {"$gte": self.start, "$lt": self.end}}


class SourceBackfill:
    """The derivation of the sources of stored clicks and events."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clicks = with_byte_ids(database["clicks"])
        self._events = with_byte_ids(database["events"])

    async def run(self, of: Range) -> int:
        """Derive the sources of a range; return the number of documents that had others.

        Raises PyMongoError if MongoDB fails. What is changed by then stays so.
        """
        changed = 0
        async for clicks in _pages(self._clicks, of.clicks(), [*_PLACE, *_SENT]):
            changed += await self._correct("clicks", [(click, click) for click in clicks])
        async for events in _pages(self._events, of.events(), [*_PLACE, "click_id", *FIELDS]):
            clicks_of_events = await self._clicks_of(events)
            pairs = [
                (event, clicks_of_events[event["click_id"]])
                for event in events
                if event["click_id"] in clicks_of_events
            ]
            changed += await self._correct("events", pairs)
        return changed

    async def _clicks_of(self, events: Sequence[Document]) -> dict[bytes, Document]:
        """Return the stored clicks of `events` by id; retention may have deleted some."""
        ids = stored_ids({event["click_id"] for event in events})
        rows = self._clicks.find({"_id": {"$in": ids}}, ["referrer", "query"])
        return {row["_id"]: row async for row in rows}

    async def _correct(self, collection: str, pairs: Sequence[tuple[Document, Document]]) -> int:
        """Correct documents whose sources are not those of their click; return their number."""
        derived = [(document, _sources(click)) for document, click in pairs]
        wrong = [pair for pair in derived if _stored(pair[0]) != pair[1]]
        if not wrong:
            return 0
        statements = [_statement(document, sources) for document, sources in wrong]

        async def work(session: Session) -> None:
            marks = await self._marks([document for document, _ in wrong], session)
            await run_updates(self._database, collection, statements, session)
            await run_updates(self._database, "rollups", marks, session)

        await run_in_transaction(self._database, work)
        return len(wrong)

    async def _marks(
        self, documents: Sequence[Document], session: Session
    ) -> Sequence[Mapping[str, Any]]:
        """Return the updates that mark rollups as corrected, in each calendar of the account."""
        account_id = documents[0]["account_id"]
        zone = await zone_in_session(self._database, owner_id(account_id), session)
        rollup = Rollup({account_id: zone.calendars})
        for document in documents:
            rollup.add_correction(document)
        return list(rollup.updates(CORRECTION_SLOT))


async def _pages(
    collection: Collection, matching: Mapping[str, Any], fields: Sequence[str]
) -> AsyncIterator[Sequence[Document]]:
    rows = collection.find(matching, fields, batch_size=_DOCUMENTS_PER_TRANSACTION)
    try:
        while page := await _page(rows):
            yield page
    finally:
        await rows.close()


async def _page(rows: AsyncIOMotorCursor[dict[str, Any]]) -> Sequence[Document]:
    # Before it finds one, MongoDB may read any number of documents without a source.
    with pymongo.timeout(RECOUNT_SECONDS):
        page: Sequence[Document] = await rows.to_list(_DOCUMENTS_PER_TRANSACTION)
    return page


def _sources(click: Document) -> Mapping[str, str]:
    return {**sources_of(click.get("referrer", ""), click.get("query", ""))}  # type: ignore[dict-item]


def _stored(document: Document) -> Mapping[str, str]:
    return {name: document[name] for name in FIELDS if name in document}


def _statement(document: Document, sources: Mapping[str, str]) -> dict[str, Any]:
    """Return the statement of the `update` command that gives a document these sources."""
    gone = {name: "" for name in FIELDS if name in document and name not in sources}
    operators = {"$set": sources, "$unset": gone}
    return {
        "q": {"_id": _stored_id(document["_id"])},
        "u": {operator: fields for operator, fields in operators.items() if fields},
    }


def _stored_id(found: bytes | int) -> StoredId | int:
    """Return the id of a click or an event as a command takes it."""
    return StoredId(found) if isinstance(found, bytes) else found
