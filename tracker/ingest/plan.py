"""The plan of a batch: its writes, given the part that is stored. Pure.

Clicks and events arrive in any order, and may be repeated. The first plan of a batch assumes that
nothing of it is stored, which is nearly always right.

Guarantee: webhooks are notified of an event once, when it is settled or its click is late.

An event of a known account has passed the rules before its answer, except the cap of conversions
per click. The plan applies the cap, and the transaction makes it exact.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from tracker.clicks.document import ClickDocument
from tracker.conversions.document import (
    COUNTED,
    Attribution,
    ClickAndConfig,
    ConversionDocument,
    ConversionFields,
    TransactionId,
    attribute,
    changed,
    check_same,
    click_and_config,
    fields_without_id,
    is_notified,
    transaction_id_of,
)
from tracker.conversions.rules import ConversionRules, Rule

CLICK_WAIT: Final = timedelta(hours=1)
"""The wait for an event's click, from when the event is stored. Then webhooks are notified."""

_SETTLED: Final = frozenset(COUNTED) - {Attribution.PENDING}

Clicks = Mapping[bytes, ClickDocument]


class Move(NamedTuple):
    """A stored event and the `fields` to set on it. It counts again if they change its status."""

    event: ConversionDocument
    fields: ConversionFields


class WriteSet(NamedTuple):
    """The writes of one transaction. `caps` limits the events of a click and configuration.

    Clicks that were `imported` have no arrivals. Those in `removed` are deleted, and subtracted.
    """

    clicks: list[ClickDocument]
    events: list[ConversionDocument]
    moves: list[Move]
    caps: Mapping[ClickAndConfig, int] = {}
    imported: Sequence[ClickDocument] = ()
    removed: Sequence[ClickDocument] = ()

    def is_empty(self) -> bool:
        return not any((self.clicks, self.events, self.moves, self.imported, self.removed))

    def new_of_accounts(self) -> Iterator[bytes]:
        """Yield the account of each new click, and of each new event that has one."""
        for click in self.clicks:
            yield click["account_id"]
        for event in self.events:
            if event["account_id"] is not None:
                yield event["account_id"]

    def accounts(self) -> set[bytes]:
        found = {click["account_id"] for click in self._all_clicks()}
        for event in (*self.events, *(one.event for one in self.moves)):
            if event["account_id"] is not None:
                found.add(event["account_id"])
        moved = (one.fields.get("account_id") for one in self.moves)
        return found | {one for one in moved if one is not None}

    def newest(self) -> datetime:
        """Return the time of the newest click or event; of one at least."""
        events = (*self.events, *(one.event for one in self.moves))
        return max(one["at"] for one in (*self._all_clicks(), *events))

    def _all_clicks(self) -> Sequence[ClickDocument]:
        return [*self.clicks, *self.imported, *self.removed]

    def events_to_notify(self) -> list[ConversionDocument]:
        """Return the events to notify webhooks of, as they are after the transaction."""
        arrived = [event for event in self.events if _should_notify(None, event)]
        moved = [(event, changed(event, fields)) for event, fields in self.moves]
        return arrived + [after for before, after in moved if _should_notify(before, after)]


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


def batch_writes(
    clicks: Iterable[ClickDocument],
    events: Mapping[int, ConversionDocument],
    clicks_of_events: Clicks,
    stored_part: StoredPart,
    at: datetime,
    batch_rules: BatchRules,
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
            if stored["status"] != Attribution.CLAIMED:
                continue
        arrived = _arrived(event, _click_of(event, clicks_of_events), taken)
        if arrived is None:
            continue
        arrived = _with_deadline(decisions.apply(arrived), at, batch_rules.pending_ttl)
        if stored is None:
            write_set.events.append(arrived)
        else:
            write_set.moves.append(Move(stored, fields_without_id(arrived)))
    return write_set


def settlement_writes(
    pending: Iterable[ConversionDocument],
    stored_clicks: Clicks,
    transactions: Mapping[TransactionId, int],
    batch_rules: BatchRules,
) -> WriteSet:
    """Return the moves of the pending events whose click is stored.

    Rules apply only to events whose account the click reveals. The rest has passed them.
    """
    taken = dict(transactions)
    decisions = _RuleDecisions(batch_rules)
    moves = []
    for event in pending:
        if click := _click_of(event, stored_clicks):
            fields = attribute(event, click)
            settled = changed(event, fields)
            if not _take(settled, taken):
                fields = {"status": Attribution.DUPLICATE}
            elif event["account_id"] is None:
                fields.update(decisions.refusal(settled))
            moves.append(Move(event, fields))
    return WriteSet([], [], moves, decisions.caps)


def overdue_writes(pending: Iterable[ConversionDocument]) -> WriteSet:
    return WriteSet([], [], [Move(event, {"tell_at": None}) for event in pending])


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


def _click_of(event: ConversionDocument, clicks: Clicks) -> ClickDocument | None:
    return None if event["click_id"] is None else clicks.get(event["click_id"])


def _arrived(
    event: ConversionDocument, click: ClickDocument | None, taken: dict[TransactionId, int]
) -> ConversionDocument | None:
    """Return the event to store; None if another event has its transaction id."""
    final = event if click is None else changed(event, attribute(event, click))
    if _take(final, taken):
        return final
    duplicate = changed(event, {"status": Attribution.DUPLICATE})
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
        return {"status": Attribution.REFUSED, "refused": broken} if broken else {}

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


def _should_notify(before: ConversionDocument | None, after: ConversionDocument) -> bool:
    """Return whether this change of an event notifies webhooks. `before` is None if it is new."""
    if before is not None and is_notified(before):
        return False
    return after["status"] in _SETTLED or is_notified(after)


def _with_deadline(
    event: ConversionDocument, at: datetime, pending_ttl: timedelta | None
) -> ConversionDocument:
    """Return `event` as it is stored: if pending, with the end of its wait.

    Without an account it expires after `pending_ttl` (None: never).
    """
    if event["status"] != Attribution.PENDING:
        return event
    if event["account_id"] is not None:
        return changed(event, {"tell_at": at + CLICK_WAIT})
    return event if pending_ttl is None else changed(event, {"expires_at": at + pending_ttl})
