"""The rules of accounts in a plan: which of its events count. Pure.

An event of a known account has passed the rules before its answer, except the cap of conversions
per click. The plan applies the cap, and the transaction makes it exact. A conversion that is
rejected later still uses it up.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from tracker.conversions.corrections.status import NO_VALUE
from tracker.conversions.document import (
    COUNTED,
    Attribution,
    ClickAndConfig,
    ConversionDocument,
    ConversionFields,
    changed,
    click_and_config,
)
from tracker.conversions.rules import ConversionRules, Rule


class BatchRules(NamedTuple):
    """The rules of a batch's accounts, and the used part of their caps.

    `currencies` are those of accounts that have one. `others` counts the stored events outside the
    batch. The events in `checked` have passed the rules. `pending_ttl` is for pending events
    without an account (None: for ever).
    """

    rules: Mapping[bytes, ConversionRules] = {}
    currencies: Mapping[bytes, str] = {}
    others: Mapping[ClickAndConfig, int] = {}
    checked: Collection[int] = ()
    pending_ttl: timedelta | None = None


class RuleDecisions:
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

    def breaks_rules(self, event: ConversionDocument) -> bool:
        """Return whether the event breaks a rule by itself, so that it restates nothing."""
        rules = self._batch_rules.rules.get(event["account_id"] or b"")
        return rules is not None and self._broken(rules, event) is not None

    def has_room(self, event: ConversionDocument) -> bool:
        """Return whether the cap of its click has room for a counted event without one."""
        rules = self._batch_rules.rules.get(event["account_id"] or b"")
        is_counted = event["account_id"] is not None and event["status"] in COUNTED
        return rules is None or not is_counted or self._over_cap(rules, event) is None

    def _broken(self, rules: ConversionRules, event: ConversionDocument) -> Rule | None:
        if event["_id"] in self._batch_rules.checked:
            return None
        value = event["value"] if event.get("reported") not in NO_VALUE else None
        has_pbk = event["event_config_id"] is not None
        return rules.broken_by(has_pbk, None if value is None else value.to_decimal())

    def _over_cap(self, rules: ConversionRules, event: ConversionDocument) -> Rule | None:
        which = click_and_config(event)
        if rules.max_per_click is None or which is None:
            return None
        if rules.is_full(self._counts[which]):
            return Rule.MAX_PER_CLICK
        self._counts[which] += 1
        self.caps[which] = rules.max_per_click
        return None
