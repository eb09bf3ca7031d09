"""Arrivals: the ids of clicks and conversions in the order of storing.

A click may be stored hours after its time, by any drain. So each transaction also stores the ids of
its documents, by account:

    {_id: {account_id, feed: "clicks" | "conversions", <DRAIN_NUMBER>, position},
     at, entries, repeated}

- Each transaction increments the number in the document of its drain number. So they commit in the
  order of their numbers, even if two drains have the drain number.
- `position` combines the number of the transaction with an index among the account's entries.
- `entries` are packed. A conversion has one entry, with its state, for each state that it enters,
  and each time that it is restated.
- `repeated` counts the last entries, whose conversions the account already had.

Guarantee: if that document has a number in a snapshot, the snapshot has all arrivals up to this
number. None is stored below it later.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import islice
from struct import Struct
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.clicks.document import ClickDocument
from tracker.clock import now
from tracker.conversions.document import Attribution, ConversionDocument
from tracker.reports.rollups.layout import DRAIN_NUMBER
from tracker.stores.mongodb.documents import run_inserts, shared_id
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.mongodb.transaction import MongoSession

TRANSACTION_NUMBERS: Final = "drain_fences"
"""The collection with a document per drain number. Its field `batches` numbers the transactions."""

STORED_DAYS: Final = 8
"""Days after which MongoDB deletes arrivals (`stores/mongodb/indexes`)."""

ENTRIES_PER_DOCUMENT: Final = 1024
"""1,024 ids take 16 KB, so a page of a hundred rows reads little more than it needs."""

_MAX_ENTRIES: Final = 2**20
"""Entries of one account in one transaction; a batch has far fewer."""

_DOCUMENTS_PER_COMMAND: Final = 500

_STATES: Final = (
    Attribution.PENDING,
    Attribution.ATTRIBUTED,
    Attribution.NO_CLICK,
    Attribution.FOREIGN_CLICK,
    Attribution.DUPLICATE,
    Attribution.REFUSED,
    Attribution.TEST,
    Attribution.LATE,
    Attribution.TOO_FAST,
)
"""The states in entries, by number. Numbers are stored, so new states come last. Claimed
conversions are listed only in their next state."""

_STATE_OF: Final = dict(enumerate(_STATES))
_NUMBERS: Final = {state: number for number, state in _STATE_OF.items()}
_CONVERSION: Final = Struct(">QB")
_CLICK_BYTES: Final = 16


class FeedName(StrEnum):
    """The feeds of an account."""

    CLICKS = "clicks"
    CONVERSIONS = "conversions"


class ConversionEntry(NamedTuple):
    """A conversion and its new state; None if only a newer release knows the state."""

    event_id: int
    status: Attribution | None


class Arrivals:
    """The entries that a transaction stores, by account."""

    def __init__(
        self,
        clicks: Iterable[ClickDocument] = (),
        conversions: Iterable[ConversionDocument] = (),
        repeated: Iterable[ConversionDocument] = (),
    ) -> None:
        """Collect `clicks`, and conversions that enter their current state.

        The account already had the `repeated` ones in another state.
        """
        self._clicks: defaultdict[bytes, list[bytes]] = defaultdict(list)
        self._conversions: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for click in clicks:
            self._clicks[click["account_id"]].append(click["_id"])
        self._add(conversions)
        self._new = Counter({one: len(found) for one, found in self._conversions.items()})
        self._add(repeated)

    def _add(self, conversions: Iterable[ConversionDocument]) -> None:
        for one in conversions:
            account_id, number = one["account_id"], _NUMBERS.get(one["status"])
            if account_id is not None and number is not None:
                self._conversions[account_id].append(_CONVERSION.pack(one["_id"], number))

    def __bool__(self) -> bool:
        return bool(self._clicks or self._conversions)

    async def store(self, database: Database, drain_number: int, session: MongoSession) -> None:
        """Number the transaction, and store the entries in it."""
        number = await _next_number(database, drain_number, session)
        documents = self._documents(drain_number, first_position(number), now())
        while piece := list(islice(documents, _DOCUMENTS_PER_COMMAND)):
            await run_inserts(database, "arrivals", piece, session)

    def _documents(
        self, drain_number: int, position: int, at: datetime
    ) -> Iterator[dict[str, Any]]:
        feeds = ((FeedName.CLICKS, self._clicks), (FeedName.CONVERSIONS, self._conversions))
        for feed, by_account in feeds:
            for account_id, entries in by_account.items():
                where = {
                    "account_id": shared_id(account_id),
                    "feed": feed,
                    DRAIN_NUMBER: drain_number,
                }
                new = len(entries) if feed == FeedName.CLICKS else self._new[account_id]
                for start in range(0, len(entries), ENTRIES_PER_DOCUMENT):
                    piece = entries[start : start + ENTRIES_PER_DOCUMENT]
                    repeated = len(piece) - max(0, min(new - start, len(piece)))
                    yield {
                        "_id": {**where, "position": position + start},
                        "at": at,
                        "entries": b"".join(piece),
                        **({"repeated": repeated} if repeated else {}),
                    }


async def _next_number(database: Database, drain_number: int, session: MongoSession) -> int:
    answer = await database.command(
        {
            "findAndModify": TRANSACTION_NUMBERS,
            "query": {"_id": drain_number},
            "update": {"$inc": {"batches": 1}},
            "upsert": True,
            "new": True,
        },
        session=session,
    )
    return int(answer["value"]["batches"])


def first_position(number: int) -> int:
    """Return the first position of the transaction with this number."""
    return number * _MAX_ENTRIES


def positions_between(
    account_id: UUID, feed: FeedName, drain_number: int, first: int, end: int
) -> dict[str, Any]:
    """Return the condition for documents with positions from `first` to `end`, excluded."""
    where = {"account_id": account_id, "feed": feed, DRAIN_NUMBER: drain_number}
    return {"_id": {"$gte": {**where, "position": first}, "$lt": {**where, "position": end}}}


async def bytes_by_account(reader: MongoReads, after: datetime, until: datetime) -> dict[UUID, int]:
    """Return the bytes of the entries that were stored in this time, by account."""
    stages: list[dict[str, Any]] = [
        {"$match": {"at": {"$gt": after, "$lte": until}}},
        {"$group": {"_id": "$_id.account_id", "bytes": {"$sum": {"$binarySize": "$entries"}}}},
    ]
    return {row["_id"]: row["bytes"] for row in await reader.aggregate("arrivals", stages)}


async def first_stored(reader: MongoReads, after: datetime, until: datetime) -> datetime | None:
    """Return when the first entry of this time was stored."""
    of_time = {"at": {"$gt": after, "$lte": until}}
    found = await reader.find_one("arrivals", of_time, ["at"], sort={"at": 1})
    return None if found is None else found["at"]


def click_ids(entries: bytes) -> Sequence[bytes]:
    return [entries[at : at + _CLICK_BYTES] for at in range(0, len(entries), _CLICK_BYTES)]


def conversion_entries(entries: bytes) -> Sequence[ConversionEntry]:
    unpacked = _CONVERSION.iter_unpack(entries)
    return [ConversionEntry(event_id, _STATE_OF.get(number)) for event_id, number in unpacked]


def new_conversions(document: Mapping[str, Any]) -> Sequence[ConversionEntry]:
    """Return the conversions in a document that are new to their account."""
    found = conversion_entries(document["entries"])
    new = found[: len(found) - document.get("repeated", 0)]
    return [entry for entry in new if entry.status is not None]
