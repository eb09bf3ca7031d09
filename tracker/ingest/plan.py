"""The plan of a batch: what to write, given what is stored already. Pure.

Clicks and events arrive in any order and any number of times. An event takes over the fields of its
click when both are there. The first attempt at a batch assumes that nothing of it is stored, which
is nearly always right; after a write conflict the next attempt knows what is.

Rules of an account that one event can break by itself were checked before its answer if its account
was known. They are checked here for the others. The cap of conversions per click is decided here
for all events, and the transaction makes it exact (`ingest/batch_writer`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import structlog

from tracker.clicks.document import ClickDocument
from tracker.conversions.document import (
    COUNTED,
    ClickAndConfig,
    EventDocument,
    EventFields,
    Status,
    Transaction,
    attribute,
    changed,
    check_same,
    click_and_config,
    fields_but_id,
    transaction_of,
)
from tracker.conversions.notification_state import notified
from tracker.conversions.rules import ConversionRules, Rule
from tracker.ingest.batch_writer import Move, WriteSet
from tracker.ingest.notification import with_deadline
from tracker.metrics import CONVERSIONS_REFUSED

log = structlog.get_logger(__name__)

Clicks = Mapping[bytes, ClickDocument]
"""Clicks by id, with at least the fields that events take over."""


class Known(NamedTuple):
    """The stored part of a batch: ids of clicks, events by id, holders of transaction ids."""

    clicks: frozenset[bytes] = frozenset()
    events: Mapping[int, EventDocument] = {}
    transactions: Mapping[Transaction, int] = {}


class Bounds(NamedTuple):
    """The rules of a batch's accounts, and the used part of their caps.

    `others` counts the stored events outside the batch, for accounts with a cap. `checked` are the
    ids of events that passed the rules before they were answered. `pending_ttl` is how long
    pending events without an account are kept (None: for ever).
    """

    rules: Mapping[bytes, ConversionRules] = {}
    others: Mapping[ClickAndConfig, int] = {}
    checked: Collection[int] = ()
    pending_ttl: timedelta | None = None


NO_BOUNDS: Final = Bounds()


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
    ruling = _Ruling(bounds, known.events.values())
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
    ruling = _Ruling(bounds)
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


def account_of(event: EventDocument, clicks: Clicks) -> bytes | None:
    """Return the account of an event, else that of its click; None if neither is known."""
    if event["account_id"] is not None:
        return event["account_id"]
    click = _click_of(event, clicks)
    return None if click is None else click["account_id"]


def count_refused(events: Iterable[EventDocument | EventFields]) -> None:
    """Count the refused ones among stored events in the metric."""
    for event in events:
        if "refused" in event:
            CONVERSIONS_REFUSED.labels(event["refused"]).inc()


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


class _Ruling:
    """Which events of a plan may count. `stored` are those of the batch that are stored already.

    `caps` has the cap of each click and configuration that the plan adds to.
    """

    def __init__(self, bounds: Bounds, stored: Iterable[EventDocument] = ()) -> None:
        self._bounds = bounds
        self._counts = Counter(bounds.others)
        for event in stored:
            which = click_and_config(event)
            if which and event["account_id"] is not None and event["status"] in COUNTED:
                self._counts[which] += 1
        self.caps: dict[ClickAndConfig, int] = {}

    def ruled(self, event: EventDocument) -> EventDocument:
        """Return the event to store: refused, with the rule, if it breaks one."""
        refusal = self.refusal(event)
        return changed(event, refusal) if refusal else event

    def refusal(self, event: EventDocument) -> EventFields:
        """Return the fields that refuse the event, with the broken rule; none if it obeys all."""
        if event["account_id"] is None or event["status"] not in COUNTED:
            return {}
        rules = self._bounds.rules.get(event["account_id"])
        if rules is None:
            return {}
        broken = self._broken(rules, event) or self._over_cap(rules, event)
        return {"status": Status.REFUSED, "refused": broken} if broken else {}

    def _broken(self, rules: ConversionRules, event: EventDocument) -> Rule | None:
        if event["_id"] in self._bounds.checked:
            return None
        value = event["value"]
        has_pbk = event["event_config_id"] is not None
        return rules.broken_by(has_pbk, None if value is None else value.to_decimal())

    def _over_cap(self, rules: ConversionRules, event: EventDocument) -> Rule | None:
        which = click_and_config(event)
        if rules.max_per_click is None or which is None:
            return None
        if self._counts[which] >= rules.max_per_click:
            return Rule.MAX_PER_CLICK
        self._counts[which] += 1
        self.caps[which] = rules.max_per_click
        return None
