"""The plan of a batch: its writes, given the part that is stored. Pure.

Clicks and events arrive in any order, and may be repeated. The first plan of a batch assumes that
nothing of it is stored, which is nearly always right.

An event of a known account has passed the rules before its answer, except the cap of conversions
per click. The plan applies the cap, and the transaction makes it exact.
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
    ConversionDocument,
    ConversionFields,
    ConversionStatus,
    TransactionId,
    attribute,
    changed,
    check_same,
    click_and_config,
    fields_without_id,
    transaction_id_of,
)
from tracker.conversions.notification_state import notified
from tracker.conversions.rules import ConversionRules, Rule
from tracker.ingest.batch_writer import Move, WriteSet
from tracker.ingest.notification import with_deadline
from tracker.metrics import CONVERSIONS_REFUSED

log = structlog.get_logger(__name__)

Clicks = Mapping[bytes, ClickDocument]


class StoredPart(NamedTuple):
    """The stored part of a batch: ids of clicks, events by id, holders of transaction ids."""

    clicks: frozenset[bytes] = frozenset()
    events: Mapping[int, ConversionDocument] = {}
    transactions: Mapping[TransactionId, int] = {}


class BatchRules(NamedTuple):
    """The rules of a batch's accounts, and the used part of their caps.

    `others` counts the stored events outside the batch. The events in `checked` have passed the
    rules. `pending_ttl` is for pending events without an account (None: for ever).
    """

    rules: Mapping[bytes, ConversionRules] = {}
    others: Mapping[ClickAndConfig, int] = {}
    checked: Collection[int] = ()
    pending_ttl: timedelta | None = None


NO_BATCH_RULES: Final = BatchRules()


def batch_writes(
    clicks: Iterable[ClickDocument],
    events: Mapping[int, ConversionDocument],
    clicks_of_events: Clicks,
    stored_part: StoredPart,
    at: datetime,
    batch_rules: BatchRules = NO_BATCH_RULES,
) -> WriteSet:
    """Return the writes of a batch stored at the moment `at`.

    `clicks_of_events` are the clicks that its events name, stored or in the batch. Raises
    EventIdTaken if another event has the id.
    """
    taken = dict(stored_part.transactions)
    decisions = _RuleDecisions(batch_rules, stored_part.events.values())
    new_clicks = [one for one in clicks if one["_id"] not in stored_part.clicks]
    write_set = WriteSet(new_clicks, [], [], decisions.caps)
    for event in events.values():
        stored = stored_part.events.get(event["_id"])
        if stored is not None:
            check_same(stored, event)
            if stored["status"] != ConversionStatus.CLAIMED:
                continue
        arrived = _arrived(event, _click_of(event, clicks_of_events), taken)
        if arrived is None:
            log.info("transaction id seen before", event_id=event["_id"])
            continue
        arrived = with_deadline(decisions.apply(arrived), at, batch_rules.pending_ttl)
        if stored is None:
            write_set.events.append(arrived)
        else:
            write_set.moves.append(Move(stored, fields_without_id(arrived)))
    return write_set


def settlement_writes(
    pending: Iterable[ConversionDocument],
    stored_clicks: Clicks,
    transactions: Mapping[TransactionId, int],
    batch_rules: BatchRules = NO_BATCH_RULES,
) -> WriteSet:
    """Return the moves of the pending events whose click is stored.

    Rules apply only to events whose account the click reveals. The others have passed them.
    """
    taken = dict(transactions)
    decisions = _RuleDecisions(batch_rules)
    moves = []
    for event in pending:
        if click := _click_of(event, stored_clicks):
            fields = attribute(event, click)
            settled = changed(event, fields)
            if not _take(settled, taken):
                fields = {"status": ConversionStatus.DUPLICATE}
            elif event["account_id"] is None:
                fields.update(decisions.refusal(settled))
            moves.append(Move(event, fields))
    return WriteSet([], [], moves, decisions.caps)


def overdue_writes(pending: Iterable[ConversionDocument]) -> WriteSet:
    return WriteSet([], [], [Move(event, notified()) for event in pending])


def transactions_of(events: Iterable[ConversionDocument], clicks: Clicks) -> set[TransactionId]:
    """Return the transaction ids of these events, both without and with their clicks."""
    found = set()
    for event in events:
        click = _click_of(event, clicks)
        fields: ConversionFields = attribute(event, click) if click else {}
        found |= {transaction_id_of(event), transaction_id_of(changed(event, fields))}
    return {one for one in found if one is not None}


def account_of(event: ConversionDocument, clicks: Clicks) -> bytes | None:
    """Return the account of an event or of its click; None if neither is known."""
    if event["account_id"] is not None:
        return event["account_id"]
    click = _click_of(event, clicks)
    return None if click is None else click["account_id"]


def count_refused(events: Iterable[ConversionDocument | ConversionFields]) -> None:
    for event in events:
        if "refused" in event:
            CONVERSIONS_REFUSED.labels(event["refused"]).inc()


def _click_of(event: ConversionDocument, clicks: Clicks) -> ClickDocument | None:
    return None if event["click_id"] is None else clicks.get(event["click_id"])


def _arrived(
    event: ConversionDocument, click: ClickDocument | None, taken: dict[TransactionId, int]
) -> ConversionDocument | None:
    """Return the event to store; None if another event has its transaction id."""
    final = event if click is None else changed(event, attribute(event, click))
    if _take(final, taken):
        return final
    duplicate = changed(event, {"status": ConversionStatus.DUPLICATE})
    if transaction_id_of(final) != transaction_id_of(event) and _take(duplicate, taken):
        return duplicate
    return None


def _take(event: ConversionDocument, taken: dict[TransactionId, int]) -> bool:
    """Take the event's transaction id if it is free. Return False if another event has it."""
    transaction = transaction_id_of(event)
    return transaction is None or taken.setdefault(transaction, event["_id"]) == event["_id"]


class _RuleDecisions:
    """Decides which events of a plan count. `caps` has the caps that they use."""

    def __init__(self, batch_rules: BatchRules, stored: Iterable[ConversionDocument] = ()) -> None:
        self._batch_rules = batch_rules
        self._counts = Counter(batch_rules.others)
        for event in stored:
            which = click_and_config(event)
            if which and event["account_id"] is not None and event["status"] in COUNTED:
                self._counts[which] += 1
        self.caps: dict[ClickAndConfig, int] = {}

    def apply(self, event: ConversionDocument) -> ConversionDocument:
        refusal = self.refusal(event)
        return changed(event, refusal) if refusal else event

    def refusal(self, event: ConversionDocument) -> ConversionFields:
        """Return the fields that refuse the event, with the broken rule; none without one."""
        if event["account_id"] is None or event["status"] not in COUNTED:
            return {}
        rules = self._batch_rules.rules.get(event["account_id"])
        if rules is None:
            return {}
        broken = self._broken(rules, event) or self._over_cap(rules, event)
        return {"status": ConversionStatus.REFUSED, "refused": broken} if broken else {}

    def _broken(self, rules: ConversionRules, event: ConversionDocument) -> Rule | None:
        if event["_id"] in self._batch_rules.checked:
            return None
        value = event["value"]
        has_pbk = event["event_config_id"] is not None
        return rules.broken_by(has_pbk, None if value is None else value.to_decimal())

    def _over_cap(self, rules: ConversionRules, event: ConversionDocument) -> Rule | None:
        which = click_and_config(event)
        if rules.max_per_click is None or which is None:
            return None
        if self._counts[which] >= rules.max_per_click:
            return Rule.MAX_PER_CLICK
        self._counts[which] += 1
        self.caps[which] = rules.max_per_click
        return None
