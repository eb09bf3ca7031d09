"""What nobody can have meant in rules and splits that break no rule. Pure."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from tracker.links.rules.rule import Condition, QueryMatch, Rule, Split, TimeMatch, kind_of
from tracker.visitor_dimensions import NAMES as VISITOR_DIMENSIONS

MAX_COMPARISONS: Final = 100_000
"""Values by conditions of a link whose rules are compared. They take 20 ms."""


class RuleWarning(msgspec.Struct, kw_only=True):
    """A part of a link that has no effect. `path` is as in the request."""

    path: str
    message: str


def warnings_of(rules: Sequence[Rule], split: Split | None) -> Iterator[RuleWarning]:
    """Yield the rules that no visitor reaches, and the splits that nobody draws from."""
    is_short = _comparisons(rules) <= MAX_COMPARISONS
    for number, rule in enumerate(rules):
        path, earlier = f"rules[{number}]", enumerate(rules[:number])
        if is_short and _contradicts_itself(rule):
            message = "can never hold: its conditions exclude each other"
            yield RuleWarning(path=path, message=message)
        elif is_short and (wider := [n for n, one in earlier if _implies_all(rule, one)]):
            message = f"is never reached: rules[{wider[0]}] holds whenever it does"
            yield RuleWarning(path=path, message=message)
        yield from _undrawn(f"{path}.split", rule.split)
    yield from _undrawn("split", split)


def _comparisons(rules: Sequence[Rule]) -> int:
    conditions = [one for rule in rules for one in rule.conditions]
    values = (getattr(one, kind_of(one)) for one in conditions)
    return len(conditions) * sum(len(one) if isinstance(one, list) else 1 for one in values)


def _undrawn(path: str, split: Split | None) -> Iterator[RuleWarning]:
    if split is not None and not any(one.active and one.weight for one in split.variants):
        yield RuleWarning(path=path, message="nobody draws a variant: no active one has a weight")


def _implies_all(rule: Rule, other: Rule) -> bool:
    return all(any(implies(own, one) for own in rule.conditions) for one in other.conditions)


def _contradicts_itself(rule: Rule) -> bool:
    pairs = permutations(rule.conditions, 2)
    return any(implies(one, replace(other, not_=not other.not_)) for one, other in pairs)


def implies(one: Condition, other: Condition) -> bool:
    """Return whether `other` surely holds where `one` does. Networks are compared as texts."""
    kind = kind_of(one)
    own, wider = getattr(one, kind), getattr(other, kind)
    if not wider:  # of another kind
        return False
    if other.not_ and not one.not_:
        # A visitor has one value of each dimension.
        return kind in VISITOR_DIMENSIONS and set(own).isdisjoint(wider)
    if one.not_:
        return other.not_ and _is_within(kind, wider, own)
    return _is_within(kind, own, wider)


def _is_within(kind: str, own: Any, wider: Any) -> bool:
    if kind == "query":
        return _is_query_within(own, wider)
    if kind == "time":
        return _is_time_within(own, wider)
    if kind in ("language", "referrer"):
        values = {one.lower() for one in wider}
        return not any(values.isdisjoint(_wider(kind, one)) for one in own)
    return set(own) <= set(wider)


@lru_cache(maxsize=2_000)
def _wider(kind: str, value: str) -> Sequence[str]:
    """Return a host and its parents, or a language and its own: `es-AR` and `es`."""
    if kind == "referrer":
        labels = value.split(".")
        return [".".join(labels[start:]) for start in range(len(labels))]
    parts = value.lower().split("-")
    return ["-".join(parts[: end + 1]) for end in range(len(parts))]


def _is_query_within(own: QueryMatch, wider: QueryMatch) -> bool:
    if own.key != wider.key or wider.values is None:
        return own.key == wider.key
    return own.values is not None and set(own.values) <= set(wider.values)


def _is_time_within(own: TimeMatch, wider: TimeMatch) -> bool:
    """Return whether a time is within another whose clocks are the same or missing."""
    lists = ((own.weekdays, wider.weekdays), (own.hours, wider.hours))
    return (
        own.zone == wider.zone
        and (wider.from_, wider.to) in ((None, None), (own.from_, own.to))
        and all(not values or (one and set(one) <= set(values)) for one, values in lists)
    )
