"""Which events of a batch the rules of their accounts let count.

Rules that an event breaks by itself are checked here only if its answer did not: for events whose
account became known when their click arrived. The cap of conversions a click is decided here for
all, and made exact by the transaction (`ingest/posting`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.conversions.attribution import COUNTED, Status
from tracker.conversions.rules import ConversionRules, Rule
from tracker.conversions.store import ClickAndConfig, click_and_config
from tracker.metrics import CONVERSIONS_REFUSED

Document = dict[str, Any]


class Bounds(NamedTuple):
    """The bounds of a batch's accounts: those that have rules, and for those with a cap how many
    other events of its clicks are stored and count. `checked` are the events whose answer has seen
    the rules. `pending_lives` is how long events are kept that belong to nobody, None: for ever."""

    rules: Mapping[UUID, ConversionRules] = {}
    others: Mapping[ClickAndConfig, int] = {}
    checked: Collection[int] = ()
    pending_lives: timedelta | None = None


NO_BOUNDS: Final = Bounds()


def account_of(event: Document, clicks: Mapping[UUID, Document]) -> UUID | None:
    """Return the account of an event, or that of its click if it is among `clicks`."""
    if event["account_id"] is not None or event["click_id"] not in clicks:
        return event["account_id"]  # type: ignore[no-any-return]
    return clicks[event["click_id"]]["account_id"]  # type: ignore[no-any-return]


def count_refused(events: Iterable[Mapping[str, Any]]) -> None:
    """Count the refused among what was stored."""
    for event in events:
        if "refused" in event:
            CONVERSIONS_REFUSED.labels(event["refused"]).inc()


class Ruling:
    """The ruling of one plan. `stored` are the events of the batch that are stored; `caps` those of
    the clicks and configurations that the plan adds to."""

    def __init__(self, bounds: Bounds, stored: Iterable[Document] = ()) -> None:
        self._bounds = bounds
        self._counts = Counter(bounds.others)
        for event in stored:
            if event["account_id"] is not None and event["status"] in COUNTED:
                self._counts[click_and_config(event)] += 1
        self.caps: dict[ClickAndConfig, int] = {}

    def ruled(self, event: Document) -> Document:
        """Return the event as it is to be stored: refused, with the rule, if it breaks one."""
        rules = self._bounds.rules.get(event["account_id"])
        if rules is None or event["status"] not in COUNTED:
            return event
        broken = self._broken(rules, event) or self._over_cap(rules, event)
        if broken is None:
            return event
        return {**event, "status": Status.REFUSED, "refused": broken}

    def _broken(self, rules: ConversionRules, event: Document) -> Rule | None:
        if event["_id"] in self._bounds.checked:
            return None
        value = event["value"]
        has_pbk = event["event_config_id"] is not None
        return rules.broken_by(has_pbk, None if value is None else value.to_decimal())

    def _over_cap(self, rules: ConversionRules, event: Document) -> Rule | None:
        if rules.max_per_click is None or event["click_id"] is None:
            return None
        which = click_and_config(event)
        if self._counts[which] >= rules.max_per_click:
            return Rule.MAX_PER_CLICK
        self._counts[which] += 1
        self.caps[which] = rules.max_per_click
        return None
