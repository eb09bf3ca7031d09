"""Rules and splits of sources, as links have them here. Pure.

A rule of which one part cannot be kept is left out as a whole, and told: without the part it would
hold for more visitors.
"""

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any, Final

import msgspec
from msgspec import UNSET

from tracker.clicks.country import COUNTRIES
from tracker.errors import BadRequest
from tracker.imports.item import Loss
from tracker.imports.readers.fields import Record
from tracker.links.api.rules.checks import check_rules, check_size
from tracker.links.api.rules.schema import MAX_NAME_CHARACTERS, MAX_VALUES, RuleInput, SplitInput
from tracker.links.rules.rule import MAX_RULES

Condition = Mapping[str, Any]
"""A condition as in requests."""

_MAX_WHY_CHARACTERS: Final = 100


class SourceRules:
    """Collects the rules of one link, in their order."""

    def __init__(self) -> None:
        self.rules: list[RuleInput] = []
        self.split: SplitInput | None = None
        self.losses: list[Loss] = []

    def add(self, field: str, name: str, url: str, conditions: Iterable[Condition]) -> None:
        """Add the rule of a field. Its `conditions` may raise BadRequest: one has no like here."""
        try:
            self.rules.append(self._rule(name, url, conditions))
        except (BadRequest, msgspec.ValidationError) as error:
            self._lose(field, error, f"{url} if {name}")

    def _rule(self, name: str, url: str, conditions: Iterable[Condition]) -> RuleInput:
        if len(self.rules) == MAX_RULES:
            raise BadRequest(f"a link has at most {MAX_RULES} rules")
        sent = {"name": name[:MAX_NAME_CHARACTERS], "conditions": list(conditions)}
        rule = msgspec.convert({**sent, "destination_url": url}, RuleInput)
        check_rules([rule], UNSET)
        check_size([*self.rules, rule], self.split)
        return rule

    def add_systems(self, record: Record, systems: Mapping[str, str]) -> None:
        """Add a rule for each field that has a URL, by operating system."""
        for field, system in systems.items():
            if url := record.get(field):
                self.add(field, system, url, [{"os": [system]}])

    def add_countries(self, field: str, urls: Mapping[str, str]) -> None:
        """Add rules by country: one for each URL, since a visitor is in one country only."""
        of_url: dict[str, list[str]] = {}
        for code, url in urls.items():
            if code.upper() in COUNTRIES:
                of_url.setdefault(url, []).append(code.upper())
            else:
                self._lose(field, "not a country", f"{url} if {code}")
        for url, codes in of_url.items():
            for at in range(0, len(codes), MAX_VALUES):
                some = codes[at : at + MAX_VALUES]
                self.add(field, ", ".join(some), url, [{"country": some}])

    def add_split(self, field: str, shares: Sequence[tuple[str, int]]) -> None:
        """Set the split: the URL and the weight of each variant."""
        sent = [
            {"name": name, "destination_url": url, "weight": weight}
            for name, (url, weight) in zip(ascii_uppercase, shares, strict=False)
        ]
        try:
            split = msgspec.convert({"variants": sent}, SplitInput)
            check_rules(UNSET, split)
            check_size(self.rules, split)
        except (BadRequest, msgspec.ValidationError) as error:
            self._lose(field, error, ", ".join(f"{url} {weight}" for url, weight in shares))
        else:
            self.split = split

    def _lose(self, field: str, why: object, what: str) -> None:
        rule = str(why).removeprefix("rules[0].")[:_MAX_WHY_CHARACTERS]
        self.losses.append(Loss(field, f"left out ({rule}): {what}"))
