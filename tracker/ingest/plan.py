"""What is to be posted, given what is stored already. Pure.

Clicks and events arrive in any order and any number of times; an event takes what its click tells
when both are there. The first attempt at a batch knows of nothing stored, which is nearly always
right; if the books say otherwise, the next knows.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import structlog

from tracker.conversions.attribution import Status, attribute
from tracker.conversions.store import Transaction, check_same, transaction_of
from tracker.ingest.posting import Move, Posting
from tracker.ingest.ruling import NO_BOUNDS, Bounds, Ruling
from tracker.ingest.telling import waiting

log = structlog.get_logger(__name__)

Document = dict[str, Any]


class Known(NamedTuple):
    """What is stored of a batch: the bytes of clicks' ids, events by id, and who holds a
    transaction id."""

    clicks: frozenset[bytes] = frozenset()
    events: Mapping[int, Document] = {}
    transactions: Mapping[Transaction, int] = {}


def arrival(
    clicks: Iterable[Document],
    events: Mapping[int, Document],
    clicks_of_events: Mapping[UUID, Document],
    known: Known,
    at: datetime,
    bounds: Bounds = NO_BOUNDS,
) -> Posting:
    """What a batch adds at that time. `clicks_of_events`, as they are read: of those that its
    events name, what is stored or in the batch. `bounds` tell which events may count.

    Raises EventIdTaken if the id of an event is another's.
    """
    taken = dict(known.transactions)
    ruling = Ruling(bounds, known.events.values())
    new_clicks = [one for one in clicks if one["_id"] not in known.clicks]
    posting = Posting(new_clicks, [], [], ruling.caps)
    for event in events.values():
        stored = known.events.get(event["_id"])
        if stored is not None:
            check_same(stored, event)
            if stored["status"] != Status.CLAIMED:
                continue
        arrived = _arrived(event, clicks_of_events.get(event["click_id"]), taken)
        if arrived is None:
            log.info("transaction id seen before", event_id=event["_id"])
            continue
        arrived = waiting(ruling.ruled(arrived), at, bounds.pending_lives)
        if stored is None:
            posting.events.append(arrived)
        else:
            fields = {name: arrived[name] for name in arrived if name != "_id"}
            posting.moves.append(Move(stored, fields))
    return posting


def settlement(
    pending: Iterable[Document],
    stored_clicks: Mapping[UUID, Document],
    transactions: Mapping[Transaction, int],
    bounds: Bounds = NO_BOUNDS,
) -> Posting:
    """The moves of those pending events whose click is stored.

    Rules are for those whose account their click tells: the others were let through before.
    """
    taken = dict(transactions)
    ruling = Ruling(bounds)
    moves = []
    for event in pending:
        if click := stored_clicks.get(event["click_id"]):
            fields = attribute(event, click)
            if not _take({**event, **fields}, taken):
                fields = {"status": Status.DUPLICATE}
            elif event["account_id"] is None:
                ruled = ruling.ruled({**event, **fields})
                fields |= {name: ruled[name] for name in ("status", "refused") if name in ruled}
            moves.append(Move(event, fields))
    return Posting([], [], moves, ruling.caps)


def overdue(pending: Iterable[Document]) -> Posting:
    """What tells webhooks of these pending events, whose clicks have not come in time."""
    return Posting([], [], [Move(event, {"tell_at": None}) for event in pending])


def transactions_of(
    events: Iterable[Document], clicks: Mapping[UUID, Document]
) -> set[Transaction]:
    """All transaction ids that these events may come to hold."""
    found = set()
    for event in events:
        click = clicks.get(event["click_id"])
        fields = attribute(event, click) if click else {}
        found |= {transaction_of(event), transaction_of({**event, **fields})}
    return found - {None}  # type: ignore[return-value]


def _arrived(
    event: Document, click: Document | None, taken: dict[Transaction, int]
) -> Document | None:
    """The event as it is stored; None if another holds its transaction id."""
    final = event if click is None else {**event, **attribute(event, click)}
    if _take(final, taken):
        return final
    duplicate = {**event, "status": Status.DUPLICATE}
    if transaction_of(final) != transaction_of(event) and _take(duplicate, taken):
        return duplicate
    return None


def _take(event: Document, taken: dict[Transaction, int]) -> bool:
    """Whether the event's transaction id, if it has one, is now its own."""
    transaction = transaction_of(event)
    return transaction is None or taken.setdefault(transaction, event["_id"]) == event["_id"]
