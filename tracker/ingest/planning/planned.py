"""The events of a plan, new and stored ones, and what reports and corrections make of them. Pure.

A report whose transaction id another event has may restate that event (`conversions/restating`).
So several records of a batch can change one event; it is written once.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from tracker.clicks.document import ClickDocument
from tracker.conversions import restating
from tracker.conversions.conversion import Correction
from tracker.conversions.corrections.changes import Change
from tracker.conversions.document import (
    OUT_OF_TIME,
    Attribution,
    ConversionDocument,
    TransactionId,
    attribute,
    changed,
    transaction_id_of,
    window_of,
    without_click,
)
from tracker.ingest.planning.rules import BatchRules, RuleDecisions
from tracker.ingest.planning.write_set import Move, WriteSet

CLICK_WAIT: Final = timedelta(hours=1)
"""The wait for an event's click, from when the event is stored. Then webhooks are notified."""

Clicks = Mapping[bytes, ClickDocument]

_JOINED: Final = (Attribution.ATTRIBUTED, *OUT_OF_TIME)


class StoredPart(NamedTuple):
    """The stored part of a batch: ids of clicks, events by id, holders of transaction ids.

    The events include those holders, and the corrected ones.
    """

    clicks: frozenset[bytes] = frozenset()
    events: Mapping[int, ConversionDocument] = {}
    transactions: Mapping[TransactionId, int] = {}

    @classmethod
    def of(
        cls, events: Mapping[int, ConversionDocument], clicks: Iterable[bytes] = ()
    ) -> "StoredPart":
        holders = {transaction_id_of(one): key for key, one in events.items()}
        transactions = {one: key for one, key in holders.items() if one is not None}
        return cls(frozenset(clicks), events, transactions)


NOTHING_STORED: Final = StoredPart()


def click_of(event: ConversionDocument, clicks: Clicks) -> ClickDocument | None:
    return None if event["click_id"] is None else clicks.get(event["click_id"])


def clicks_of(events: Iterable[ConversionDocument]) -> set[bytes]:
    return {event["click_id"] for event in events if event["click_id"] is not None}


class Planned:
    """The events of one plan."""

    def __init__(
        self,
        write_set: WriteSet,
        stored_part: StoredPart,
        clicks: Clicks,
        batch_rules: BatchRules,
        at: datetime,
    ) -> None:
        self._new = write_set.events
        self._places: dict[int, int] = {}
        self._stored = stored_part.events
        self._taken = dict(stored_part.transactions)
        self._clicks = clicks
        self._rules = batch_rules
        self._at = at
        # The states of stored events, before and after.
        self._before: dict[int, ConversionDocument] = {}
        self._after: dict[int, ConversionDocument] = {}
        self._tells: set[int] = set()

    def current(self, event_id: int) -> ConversionDocument | None:
        """Return an event as it is after what is planned; None if it is not known."""
        if event_id in self._places:
            return self._new[self._places[event_id]]
        return self._after.get(event_id) or self._stored.get(event_id)

    def arrived(
        self, event: ConversionDocument, decisions: RuleDecisions
    ) -> ConversionDocument | None:
        """Return the event to store; None if another event has its transaction id.

        If it restates that event, it does so now.
        """
        click = click_of(event, self._clicks)
        final = event
        if click is not None and not self._is_awaited(event):
            final = changed(event, attribute(event, click))
        if self.take(final):
            return final
        is_stored = event["_id"] in self._stored
        if self.restate(final, decisions) and not is_stored:
            return None
        duplicate = changed(event, {"status": Attribution.DUPLICATE})
        if transaction_id_of(final) != transaction_id_of(event) and self.take(duplicate):
            return duplicate
        return None

    def _is_awaited(self, event: ConversionDocument) -> bool:
        """Return whether another event waits for the click, under the same transaction id.

        A report that it has taken in may be repeated with the click: it is still of that event.
        """
        transaction = transaction_id_of(event)
        holder = self._taken.get(transaction, event["_id"]) if transaction else event["_id"]
        waiting = None if holder == event["_id"] else self.current(holder)
        return waiting is not None and waiting["status"] == Attribution.PENDING

    def take(self, event: ConversionDocument) -> bool:
        """Take the event's transaction id if it is free. Return False if another has it."""
        transaction = transaction_id_of(event)
        return (
            transaction is None or self._taken.setdefault(transaction, event["_id"]) == event["_id"]
        )

    def put(self, stored: ConversionDocument | None, event: ConversionDocument) -> None:
        """Plan an event: a new one, or the next state of a `stored` one."""
        if stored is None:
            self._places[event["_id"]] = len(self._new)
            self._new.append(event)
        else:
            self._before.setdefault(event["_id"], stored)
            self._after[event["_id"]] = event

    def restate(self, event: ConversionDocument, decisions: RuleDecisions) -> bool:
        """Restate the event with the same transaction id; return whether that is for `event`."""
        transaction = transaction_id_of(event)
        holder = self.current(self._taken[transaction]) if transaction else None
        if holder is None or not _restates(holder, event):
            return False
        if decisions.breaks_rules(event):
            return True
        report = event.get("report", {})
        after = self._restated(holder, restating.changes_of(event), event)
        if holder["click_id"] is None and event["click_id"] is not None:
            after = self._with_click(after, event, decisions)
        if "restates" not in report:
            after = _made_of_a_first(after)
        self._replace(holder, after, "silent" not in report)
        return True

    def correct(self, correction: Correction) -> bool:
        """Apply a correction; return False if its event is not found."""
        event = self.current(correction.event_id)
        if event is None or event["account_id"] != correction.account_id:
            return False
        after = self._restated(event, [restating.change_of(correction)])
        self._replace(event, after, correction.notify)
        return True

    def claimed(self, stored: ConversionDocument, event: ConversionDocument) -> ConversionDocument:
        """Return an arrived event that was restated while it was only claimed."""
        is_joinable = event["click_id"] is None is not stored["click_id"]
        status = Attribution.PENDING if is_joinable else event["status"]
        return changed(stored, {"status": status})

    def in_currency(self, event: ConversionDocument) -> ConversionDocument:
        return restating.in_currency(event, self._home(event))

    def with_deadline(self, event: ConversionDocument) -> ConversionDocument:
        """Return `event` as it is stored: if pending, with the end of its wait.

        Without an account it expires after `pending_ttl` (None: never).
        """
        if event["status"] != Attribution.PENDING:
            return event
        if event["account_id"] is not None:
            return changed(event, {"tell_at": self._at + CLICK_WAIT})
        ttl = self._rules.pending_ttl
        return event if ttl is None else changed(event, {"expires_at": self._at + ttl})

    def moves(self) -> Iterable[Move]:
        for key, before in self._before.items():
            if self._after[key] is not before:
                yield Move(before, self._after[key], key in self._tells)

    def _replace(self, before: ConversionDocument, after: ConversionDocument, tells: bool) -> None:
        key = before["_id"]
        if after is before:
            return
        if tells:
            self._tells.add(key)
        if key in self._places:
            self._new[self._places[key]] = after
        else:
            self.put(self._stored.get(key, before), after)

    def _restated(
        self,
        event: ConversionDocument,
        news: Sequence[Change],
        report: ConversionDocument | None = None,
    ) -> ConversionDocument:
        after = restating.restated(event, news, self._home(event), report)
        click = click_of(event, self._clicks)
        if after["at"] == event["at"] or event["status"] not in _JOINED or click is None:
            return after
        # It may be in time now, or no longer.
        return _joined(after, click)

    def _with_click(
        self, event: ConversionDocument, named_in: ConversionDocument, decisions: RuleDecisions
    ) -> ConversionDocument:
        """Return an event as one of the click that a report names, if its cap has room for it."""
        after = changed(event, {"click_id": named_in["click_id"]})
        if not decisions.has_room(after):
            return event
        after["revision"] = event.get("revision", 0) + 1
        if window := window_of(named_in):
            after["report"] = {**event.get("report", {}), **window}
        if event["status"] != Attribution.NO_CLICK:
            return after
        if click := click_of(after, self._clicks):
            return _joined(after, click)
        # Webhooks were notified of it.
        return changed(after, {"status": Attribution.PENDING, "tell_at": None})

    def _home(self, event: ConversionDocument) -> str | None:
        return self._rules.currencies.get(event["account_id"] or b"")


def _joined(event: ConversionDocument, click: ClickDocument) -> ConversionDocument:
    bare = without_click(event)
    return changed(bare, attribute(bare, click))


def _restates(holder: ConversionDocument, event: ConversionDocument) -> bool:
    """Return whether a report restates the conversion that has its transaction id.

    One that is not sent to restate does so if it was received first: it is what later ones restate.
    """
    if "restates" in event.get("report", ()):
        return True
    is_of_restating = "restates" in holder.get("report", ())
    return is_of_restating and restating.recorded_at(event) <= restating.recorded_at(holder)


def _made_of_a_first(event: ConversionDocument) -> ConversionDocument:
    report = event.get("report", {}).copy()
    report.pop("restates", None)
    return changed(event, {"report": report})
