"""The writes of one transaction. Pure.

Guarantee: webhooks are notified of an event once, when it is settled or its click is late.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, cast

from tracker.clicks.document import ClickDocument
from tracker.conversions.conversion import Correction
from tracker.conversions.document import (
    COUNTED,
    Attribution,
    ClickAndConfig,
    ConversionDocument,
    ConversionFields,
    changed,
    is_notified,
)

_TOLD: Final = frozenset(("reported", "value", "payout", "currency", "refunded_value"))
_WHAT_COUNTS: Final = _TOLD | {"status", "at"}
_COUNTED_OUTSIDE: Final = frozenset(("repeats", "last_repeat_at", "warnings"))
"""Repeats are counted outside the drain (`conversions/append`)."""

_SETTLED: Final = frozenset(COUNTED) - {Attribution.PENDING}


class Move(NamedTuple):
    """A stored event, the `fields` to set on it, and the names of those to be `removed`.

    `tells`: webhooks are told of new values.
    """

    event: ConversionDocument
    fields: ConversionFields
    removed: Collection[str] = ()
    tells: bool = False

    @classmethod
    def to(cls, before: ConversionDocument, after: ConversionDocument, tells: bool) -> "Move":
        missing = object()
        fields = {name: one for name, one in after.items() if before.get(name, missing) != one}
        removed = before.keys() - after.keys() - _COUNTED_OUTSIDE
        return cls(before, cast(ConversionFields, fields), removed, tells)

    def after(self) -> ConversionDocument:
        after = changed(self.event, self.fields)
        if not self.removed:
            return after
        return cast(
            ConversionDocument,
            {name: field for name, field in after.items() if name not in self.removed},
        )

    def counts_again(self) -> bool:
        return not _WHAT_COUNTS.isdisjoint((*self.fields, *self.removed))


class WriteSet(NamedTuple):
    """The writes of one transaction. `caps` limits the events of a click and configuration.

    Clicks that were `imported` have no arrivals. Those in `removed` are deleted, and subtracted.
    Corrections of events that are `not_found` change nothing.
    """

    clicks: list[ClickDocument]
    events: list[ConversionDocument]
    moves: list[Move]
    caps: Mapping[ClickAndConfig, int] = {}
    imported: Sequence[ClickDocument] = ()
    removed: Sequence[ClickDocument] = ()
    not_found: Sequence[Correction] = ()

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
        moved = [(one.event, one.after()) for one in self.moves]
        return arrived + [after for before, after in moved if _should_notify(before, after)]

    def conversions_updated(self) -> list[tuple[ConversionDocument, ConversionDocument]]:
        """Return the events, before and after, whose new values webhooks are told of.

        They were told of the event before, or would have been. One with several changes is listed
        once.
        """
        return [
            (one.event, one.after())
            for one in self.moves
            if one.tells
            and one.event["account_id"] is not None
            and (one.event["status"] in _SETTLED or is_notified(one.event))
            and not _TOLD.isdisjoint((*one.fields, *one.removed))
        ]


def _should_notify(before: ConversionDocument | None, after: ConversionDocument) -> bool:
    """Return whether this change of an event notifies webhooks. `before` is None if it is new."""
    if before is not None and (is_notified(before) or before["status"] in _SETTLED):
        return False
    if "silent" in after.get("report", ()):
        return False
    return after["status"] in _SETTLED or is_notified(after)
