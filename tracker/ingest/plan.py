"""The plan of a batch: its writes, given the part that is stored. Pure.

Clicks and events arrive in any order, and may be repeated. The first plan of a batch assumes that
nothing of it is stored, which is nearly always right, except what its reports and corrections
restate.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from tracker.clicks.document import ClickDocument
from tracker.conversions.conversion import Correction
from tracker.conversions.document import (
    Attribution,
    ConversionDocument,
    ConversionFields,
    TransactionId,
    attribute,
    changed,
    check_same,
    transaction_id_of,
)
from tracker.ingest.planning.planned import Clicks, Planned, StoredPart, click_of
from tracker.ingest.planning.rules import BatchRules, RuleDecisions
from tracker.ingest.planning.write_set import Move, WriteSet


def batch_writes(
    clicks: Iterable[ClickDocument],
    events: Mapping[int, ConversionDocument],
    clicks_of_events: Clicks,
    stored_part: StoredPart,
    at: datetime,
    batch_rules: BatchRules,
    corrections: Sequence[Correction] = (),
) -> WriteSet:
    """Return the writes of a batch stored at the moment `at`.

    `clicks_of_events` are the clicks that its events name, stored or in the batch. Raises
    EventIdTaken if another event has the id.
    """
    arrived_before = [one for key, one in stored_part.events.items() if key in events]
    decisions = RuleDecisions(batch_rules, arrived_before)
    new_clicks = [one for one in clicks if one["_id"] not in stored_part.clicks]
    write_set = WriteSet(new_clicks, [], [], decisions.caps)
    planned = Planned(write_set, stored_part, clicks_of_events, batch_rules, at)
    for event in events.values():
        stored = stored_part.events.get(event["_id"])
        if stored is not None:
            check_same(stored, event)
            if stored["status"] != Attribution.CLAIMED:
                continue
            current = planned.current(event["_id"]) or stored
            if "revision" in current:
                event = planned.claimed(current, event)
        arrived = planned.arrived(event, decisions)
        if arrived is None:
            continue
        arrived = planned.with_deadline(decisions.apply(planned.in_currency(arrived)))
        planned.put(stored, arrived)
    not_found = [one for one in corrections if not planned.correct(one)]
    write_set.moves.extend(planned.moves())
    return write_set._replace(not_found=not_found)


def settlement_writes(
    pending: Iterable[ConversionDocument],
    stored_clicks: Clicks,
    stored_part: StoredPart,
    at: datetime,
    batch_rules: BatchRules,
) -> WriteSet:
    """Return the moves of the pending events whose click is stored.

    Rules apply only to events whose account the click reveals. The rest has passed them.
    """
    decisions = RuleDecisions(batch_rules)
    write_set = WriteSet([], [], [], decisions.caps)
    planned = Planned(write_set, stored_part, stored_clicks, batch_rules, at)
    for event in pending:
        event = planned.current(event["_id"]) or event
        if click := click_of(event, stored_clicks):
            settled = changed(event, attribute(event, click))
            if not planned.take(settled):
                planned.restate(settled, decisions)
                settled = changed(event, {"status": Attribution.DUPLICATE})
            elif event["account_id"] is None:
                settled = decisions.apply(planned.in_currency(settled))
            settled.pop("tell_at", None)
            settled.pop("expires_at", None)
            planned.put(event, settled)
    write_set.moves.extend(planned.moves())
    return write_set


def overdue_writes(pending: Iterable[ConversionDocument]) -> WriteSet:
    return WriteSet([], [], [Move(event, changed(event, {"tell_at": None})) for event in pending])


def transactions_of(events: Iterable[ConversionDocument], clicks: Clicks) -> set[TransactionId]:
    """Return the transaction ids of these events, both without and with their clicks."""
    found = set()
    for event in events:
        click = click_of(event, clicks)
        fields: ConversionFields = attribute(event, click) if click else {}
        found |= {transaction_id_of(event), transaction_id_of(changed(event, fields))}
    return {one for one in found if one is not None}


def account_of(event: ConversionDocument, clicks: Clicks) -> bytes | None:
    """Return the account of an event or of its click; None if neither is known."""
    if event["account_id"] is not None:
        return event["account_id"]
    click = click_of(event, clicks)
    return None if click is None else click["account_id"]
