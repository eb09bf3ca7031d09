"""Arrivals: the ids of clicks and conversions in the order of storing.

A click may be stored hours after its time, by any drain. So each transaction also stores the ids of
its documents, by account:

    {_id: {account_id, feed: "clicks" | "conversions", slot, position}, at, entries, repeated}

- `position` combines the number of the transaction in its slot with an index among the account's
  entries. Each transaction increments the slot's number (`ingest/calendars`). So transactions of a
  slot commit in the order of their numbers, even with two drains.
- `entries` are packed. A conversion has one entry, with its state, for each state that it enters.
- `repeated` counts the last entries whose conversions the account already had in another state.

Guarantee: a snapshot in which a slot has a number contains every arrival up to it. No later one is
stored below it.
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
from tracker.conversions.document import ConversionDocument, ConversionStatus
from tracker.stores.mongodb.documents import run_inserts, shared_id
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import Session

FENCES: Final = "drain_fences"
"""The collection with a document for each slot, whose `batches` number its transactions."""

KEPT_DAYS: Final = 8
"""Days after which MongoDB deletes arrivals (`stores/mongodb/indexes`)."""

ENTRIES_PER_DOCUMENT: Final = 1024
"""So many ids take 16 KB, and a page of a hundred rows reads no more than it needs."""

_MAX_ENTRIES: Final = 2**20
"""Entries of one account in one transaction; a batch has far fewer."""

_DOCUMENTS_PER_COMMAND: Final = 500

_STATES: Final = (
    ConversionStatus.PENDING,
    ConversionStatus.ATTRIBUTED,
    ConversionStatus.NO_CLICK,
    ConversionStatus.FOREIGN_CLICK,
    ConversionStatus.DUPLICATE,
    ConversionStatus.REFUSED,
    ConversionStatus.TEST,
)
"""The states in entries, by number. Numbers are stored, so new states come last. Claimed events are
listed only in their next state."""

_STATE_OF: Final = dict(enumerate(_STATES))
_NUMBERS: Final = {state: number for number, state in _STATE_OF.items()}
_CONVERSION: Final = Struct(">QB")
_CLICK_BYTES: Final = 16


class FeedName(StrEnum):
    """The feeds of an account."""

    CLICKS = "clicks"
    CONVERSIONS = "conversions"


class ConversionEntry(NamedTuple):
    """A conversion and its new state; None for a state of a newer release."""

    event_id: int
    status: ConversionStatus | None


class Arrivals:
    """The entries that one transaction stores, by account."""

    def __init__(
        self,
        clicks: Iterable[ClickDocument] = (),
        events: Iterable[ConversionDocument] = (),
        repeated: Iterable[ConversionDocument] = (),
    ) -> None:
        """Collect `clicks`, and events that enter their current state.

        The account already had the `repeated` ones.
        """
        self._clicks: defaultdict[bytes, list[bytes]] = defaultdict(list)
        self._events: defaultdict[bytes, list[bytes]] = defaultdict(list)
        for click in clicks:
            self._clicks[click["account_id"]].append(click["_id"])
        self._add(events)
        self._new = Counter({account_id: len(found) for account_id, found in self._events.items()})
        self._add(repeated)

    def _add(self, events: Iterable[ConversionDocument]) -> None:
        for event in events:
            account_id, number = event["account_id"], _NUMBERS.get(event["status"])
            if account_id is not None and number is not None:
                self._events[account_id].append(_CONVERSION.pack(event["_id"], number))

    def __bool__(self) -> bool:
        return bool(self._clicks or self._events)

    async def store(self, database: Database, slot: int, number: int, session: Session) -> None:
        """Store the entries in the transaction with this number in its slot."""
        documents = self._documents(slot, first_position(number), now())
        while piece := list(islice(documents, _DOCUMENTS_PER_COMMAND)):
            await run_inserts(database, "arrivals", piece, session)

    def _documents(self, slot: int, position: int, at: datetime) -> Iterator[dict[str, Any]]:
        feeds = ((FeedName.CLICKS, self._clicks), (FeedName.CONVERSIONS, self._events))
        for feed, by_account in feeds:
            for account_id, entries in by_account.items():
                where = {"account_id": shared_id(account_id), "feed": feed, "slot": slot}
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


def first_position(number: int) -> int:
    """Return the first position of a transaction, by its number in the slot."""
    return number * _MAX_ENTRIES


def between(account_id: UUID, feed: FeedName, slot: int, first: int, end: int) -> dict[str, Any]:
    """Return the condition for the documents with positions from `first` to before `end`."""
    where = {"account_id": account_id, "feed": feed, "slot": slot}
    return {"_id": {"$gte": {**where, "position": first}, "$lt": {**where, "position": end}}}


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
