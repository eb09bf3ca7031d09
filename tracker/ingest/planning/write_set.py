"""The writes of one transaction. Pure.

Guarantee: webhooks are notified of an event once, when it is settled or its click is late.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from tracker.clicks.document import PARENT_LINK, ClickDocument
from tracker.conversions.conversion import Correction
from tracker.conversions.corrections.changes import RESTATED
from tracker.conversions.document import (
    COUNTED,
    Attribution,
    ClickAndConfig,
    ConversionDocument,
    is_notified,
)

_WHAT_COUNTS: Final = (*RESTATED, "at", PARENT_LINK)
_COUNTED_OUTSIDE: Final = frozenset(("repeats", "last_repeat_at", "warnings"))
"""Repeats are counted outside the drain (`conversions/append`)."""

_SETTLED: Final = frozenset(COUNTED) - {Attribution.PENDING}


class WriteConflict(Exception):
    """A part of the write set is stored already, or its event has changed since the plan."""


class Move(NamedTuple):
    """A stored event, and as it is `after` the transaction. `tells`: webhooks get new values."""

    event: ConversionDocument
    after: ConversionDocument
    tells: bool = False

    def counts_again(self) -> bool:
        return self._changes("status") or any(map(self._changes, _WHAT_COUNTS))

    def tells_new_values(self) -> bool:
        return self.tells and any(map(self._changes, RESTATED))

    def fields(self) -> dict[str, Any]:
        """Return the fields to set."""
        before: Mapping[str, Any] = self.event
        return {
            name: field
            for name, field in self.after.items()
            # Most are the same object, and amounts are slow to compare.
            if (old := before.get(name, before)) is not field and old != field
        }

    def removed(self) -> Collection[str]:
        """Return the names of the fields to remove."""
        return self.event.keys() - self.after.keys() - _COUNTED_OUTSIDE

    def _changes(self, name: str) -> bool:
        before, after = self.event.get(name), self.after.get(name)
        return before is not after and before != after


class WriteSet(NamedTuple):
    """The writes of one transaction. `caps` limits the events of a click and configuration.

    Clicks that were `imported` have no arrivals. Those in `removed` are deleted, and subtracted.
    Those in `children` are stored, and get the links of their parents.
    Corrections of events that are `not_found` change nothing.
    """

    clicks: list[ClickDocument]
    events: list[ConversionDocument]
    moves: list[Move]
    caps: Mapping[ClickAndConfig, int] = {}
    imported: Sequence[ClickDocument] = ()
    removed: Sequence[ClickDocument] = ()
    not_found: Sequence[Correction] = ()
    children: Sequence[ClickDocument] = ()

    def is_empty(self) -> bool:
        return not (self.events or self.moves or self._all_clicks())

    def new_of_accounts(self) -> Iterator[bytes]:
        """Yield the account of each new click, and of each new event that has one."""
        for click in self.clicks:
            yield click["account_id"]
        for event in self.events:
            if event["account_id"] is not None:
                yield event["account_id"]

    def accounts(self) -> set[bytes]:
        found = {click["account_id"] for click in self._all_clicks()}
        for event in (*self.events, *(one.after for one in self.moves)):
            if event["account_id"] is not None:
                found.add(event["account_id"])
        return found

    def newest(self) -> datetime:
        """Return the time of the newest click or event; of one at least."""
        events = (*self.events, *(one.event for one in self.moves))
        return max(one["at"] for one in (*self._all_clicks(), *events))

    def _all_clicks(self) -> Sequence[ClickDocument]:
        return [*self.clicks, *self.imported, *self.removed, *self.children]

    def accounts_with_parents(self) -> set[bytes]:
        """Return the accounts of clicks with a known parent."""
        new = (*self.clicks, *self.children)
        return {one["account_id"] for one in new if PARENT_LINK in one}

    def events_to_notify(self) -> list[ConversionDocument]:
        """Return the events to notify webhooks of, as they are after the transaction."""
        arrived = [event for event in self.events if _should_notify(None, event)]
        return arrived + [one.after for one in self.moves if _should_notify(one.event, one.after)]

    def conversions_updated(self) -> list[tuple[ConversionDocument, ConversionDocument]]:
        """Return the events, before and after, whose new values webhooks are told of.

        They were told of the event before, or would have been. One with several changes is listed
        once.
        """
        return [
            (one.event, one.after)
            for one in self.moves
            if one.tells_new_values()
            and one.event["account_id"] is not None
            and (one.event["status"] in _SETTLED or is_notified(one.event))
        ]


def _should_notify(before: ConversionDocument | None, after: ConversionDocument) -> bool:
    """Return whether this change of an event notifies webhooks. `before` is None if it is new."""
    if before is not None and (is_notified(before) or before["status"] in _SETTLED):
        return False
    if "silent" in after.get("report", ()):
        return False
    return after["status"] in _SETTLED or is_notified(after)
