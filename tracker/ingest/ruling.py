"""The ruling on a batch: which of its events may count, by the rules of their accounts. Pure.

Rules that one event can break by itself were checked before its answer if its account was known.
They are checked here for the others. The cap of conversions per click is decided here for all
events, and the transaction makes it exact (`ingest/batch_writer`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from tracker.clicks.document import ClickDocument
from tracker.conversions.document import (
    COUNTED,
    ClickAndConfig,
    EventDocument,
    EventFields,
    Status,
    changed,
    click_and_config,
)
from tracker.conversions.rules import ConversionRules, Rule
from tracker.metrics import CONVERSIONS_REFUSED


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


def account_of(event: EventDocument, clicks: Mapping[bytes, ClickDocument]) -> bytes | None:
    """Return the account of an event, else that of its click; None if neither is known."""
    if event["account_id"] is not None or event["click_id"] is None:
        return event["account_id"]
    click = clicks.get(event["click_id"])
    return None if click is None else click["account_id"]


def count_refused(events: Iterable[EventDocument | EventFields]) -> None:
    """Count the refused ones among stored events in the metric."""
    for event in events:
        if "refused" in event:
            CONVERSIONS_REFUSED.labels(event["refused"]).inc()


class Ruling:
    """The ruling of one plan. `stored` are the events of the batch that are stored already.

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
