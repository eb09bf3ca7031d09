"""The plan of a batch: what to write, given what is stored already. Pure.

Clicks and events arrive in any order and any number of times. An event takes over the fields of its
click when both are there. The first attempt at a batch assumes that nothing of it is stored, which
is nearly always right; after a write conflict the next attempt knows what is.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import structlog

from tracker.clicks.document import ClickDocument
from tracker.conversions.document import (
    EventDocument,
    EventFields,
    Status,
    Transaction,
    attribute,
    changed,
    check_same,
    fields_but_id,
    transaction_of,
)
from tracker.conversions.notification_state import notified
from tracker.ingest.batch_writer import Move, WriteSet
from tracker.ingest.notification import with_deadline
from tracker.ingest.ruling import NO_BOUNDS, Bounds, Ruling

log = structlog.get_logger(__name__)

Clicks = Mapping[bytes, ClickDocument]
"""Clicks by id, with at least the fields that events take over."""


class Known(NamedTuple):
    """The stored part of a batch: ids of clicks, events by id, holders of transaction ids."""

    clicks: frozenset[bytes] = frozenset()
    events: Mapping[int, EventDocument] = {}
    transactions: Mapping[Transaction, int] = {}


def arrival(
    clicks: Iterable[ClickDocument],
    events: Mapping[int, EventDocument],
    clicks_of_events: Clicks,
    known: Known,
    at: datetime,
    bounds: Bounds = NO_BOUNDS,
) -> WriteSet:
    """Return the writes of a batch that is stored at that time.

    `clicks_of_events` are the clicks that its events name, stored or in the batch, as they are
    read. `bounds` decide which events may count. Raises EventIdTaken if the id of an event belongs
    to another event.
    """
    taken = dict(known.transactions)
    ruling = Ruling(bounds, known.events.values())
    new_clicks = [one for one in clicks if one["_id"] not in known.clicks]
    write_set = WriteSet(new_clicks, [], [], ruling.caps)
    for event in events.values():
        stored = known.events.get(event["_id"])
        if stored is not None:
            check_same(stored, event)
            if stored["status"] != Status.CLAIMED:
                continue
        arrived = _arrived(event, _click_of(event, clicks_of_events), taken)
        if arrived is None:
            log.info("transaction id seen before", event_id=event["_id"])
            continue
        arrived = with_deadline(ruling.ruled(arrived), at, bounds.pending_ttl)
        if stored is None:
            write_set.events.append(arrived)
        else:
            write_set.moves.append(Move(stored, fields_but_id(arrived)))
    return write_set


def settlement(
    pending: Iterable[EventDocument],
    stored_clicks: Clicks,
    transactions: Mapping[Transaction, int],
    bounds: Bounds = NO_BOUNDS,
) -> WriteSet:
    """Return the moves of those pending events whose click is stored.

    Rules are applied to events whose account is known only from their click. The others passed them
    before.
    """
    taken = dict(transactions)
    ruling = Ruling(bounds)
    moves = []
    for event in pending:
        if click := _click_of(event, stored_clicks):
            fields = attribute(event, click)
            settled = changed(event, fields)
            if not _take(settled, taken):
                fields = {"status": Status.DUPLICATE}
            elif event["account_id"] is None:
                fields.update(ruling.refusal(settled))
            moves.append(Move(event, fields))
    return WriteSet([], [], moves, ruling.caps)


def overdue(pending: Iterable[EventDocument]) -> WriteSet:
    """Return the moves that notify webhooks of pending events whose clicks are late."""
    return WriteSet([], [], [Move(event, notified()) for event in pending])


def transactions_of(events: Iterable[EventDocument], clicks: Clicks) -> set[Transaction]:
    """Return all transaction ids that these events may come to hold."""
    found = set()
    for event in events:
        click = _click_of(event, clicks)
        fields: EventFields = attribute(event, click) if click else {}
        found |= {transaction_of(event), transaction_of(changed(event, fields))}
    return {one for one in found if one is not None}


def _click_of(event: EventDocument, clicks: Clicks) -> ClickDocument | None:
    return None if event["click_id"] is None else clicks.get(event["click_id"])


def _arrived(
    event: EventDocument, click: ClickDocument | None, taken: dict[Transaction, int]
) -> EventDocument | None:
    """Return the event as it is stored; None if another holds its transaction id."""
    final = event if click is None else changed(event, attribute(event, click))
    if _take(final, taken):
        return final
    duplicate = changed(event, {"status": Status.DUPLICATE})
    if transaction_of(final) != transaction_of(event) and _take(duplicate, taken):
        return duplicate
    return None


def _take(event: EventDocument, taken: dict[Transaction, int]) -> bool:
    """Take the event's transaction id if it is free; return whether it holds it or has none."""
    transaction = transaction_of(event)
    return transaction is None or taken.setdefault(transaction, event["_id"]) == event["_id"]
