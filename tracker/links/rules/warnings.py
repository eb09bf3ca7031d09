"""What nobody can have meant in rules and splits that break no rule. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from itertools import permutations
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from tracker.links.rules.rule import Condition, QueryMatch, Rule, Split, TimeMatch, kind_of
from tracker.visitor_dimensions import NAMES as VISITOR_DIMENSIONS


class RuleWarning(msgspec.Struct, kw_only=True):
    """A part of a link that has no effect. `path` is as in the request."""

    path: str
    message: str


def warnings_of(rules: Sequence[Rule], split: Split | None) -> list[RuleWarning]:
    """Return the rules that no visitor reaches, and the splits that nobody draws from."""
    splits = [*((f"rules[{n}].split", one.split) for n, one in enumerate(rules)), ("split", split)]
    return [*_unreachable(rules), *_undrawn(splits)]


def _unreachable(rules: Sequence[Rule]) -> Iterator[RuleWarning]:
    for number, rule in enumerate(rules):
        wider = next((n for n, one in enumerate(rules[:number]) if _is_within(rule, one)), None)
        if _contradicts_itself(rule):
            message = "can never hold: its conditions exclude each other"
        elif wider is not None:
            message = f"is never reached: rules[{wider}] holds whenever it does"
        else:
            continue
        yield RuleWarning(path=f"rules[{number}]", message=message)


def _undrawn(splits: Sequence[tuple[str, Split | None]]) -> Iterator[RuleWarning]:
    for path, split in splits:
        if split is not None and not any(one.active and one.weight for one in split.variants):
            message = "nobody draws a variant: no active one has a weight"
            yield RuleWarning(path=path, message=message)


def _is_within(rule: Rule, other: Rule) -> bool:
    """Return whether `other` surely holds for every visitor for whom `rule` does."""
    return all(any(implies(own, one) for own in rule.conditions) for one in other.conditions)


def _contradicts_itself(rule: Rule) -> bool:
    pairs = permutations(rule.conditions, 2)
    return any(implies(one, replace(other, not_=not other.not_)) for one, other in pairs)


def implies(one: Condition, other: Condition) -> bool:
    """Return whether `other` surely holds where `one` does. False may mean that it is not known."""
    kind = kind_of(one)
    if kind_of(other) != kind:
        return False
    own, wider = getattr(one, kind), getattr(other, kind)
    if one.not_ and other.not_:
        return _WITHIN.get(kind, _is_subset)(wider, own)
    if other.not_:
        # A visitor has one value of each dimension.
        return kind in VISITOR_DIMENSIONS and set(own).isdisjoint(wider)
    return not one.not_ and _WITHIN.get(kind, _is_subset)(own, wider)


def _is_subset(values: Sequence[str], wider: Sequence[str]) -> bool:
    return set(values) <= set(wider)


def _languages(values: Sequence[str], wider: Sequence[str]) -> bool:
    ends = tuple(f"{one.lower()}-" for one in wider)
    return all(f"{one.lower()}-".startswith(ends) for one in values)


def _hosts(values: Sequence[str], wider: Sequence[str]) -> bool:
    ends = tuple(f".{one}" for one in wider)
    return all(f".{one}".endswith(ends) for one in values)


def _networks(values: Sequence[str], wider: Sequence[str]) -> bool:
    parsed: list[Any] = [ip_network(one) for one in wider]
    return all(
        any(own.version == one.version and own.subnet_of(one) for one in parsed)
        for own in map(ip_network, values)
    )


def _queries(match: QueryMatch, wider: QueryMatch) -> bool:
    if match.key != wider.key or wider.values is None:
        return match.key == wider.key
    return match.values is not None and _is_subset(match.values, wider.values)


def _times(match: TimeMatch, wider: TimeMatch) -> bool:
    return (
        match.zone == wider.zone
        and _are_within(match.weekdays, wider.weekdays)
        and _are_within(match.hours, wider.hours)
        and (wider.from_, wider.to) in ((None, None), (match.from_, match.to))
    )


def _are_within(values: Sequence[int], wider: Sequence[int]) -> bool:
    return not wider or (bool(values) and set(values) <= set(wider))


_WITHIN: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "language": _languages,
    "referrer": _hosts,
    "ip": _networks,
    "query": _queries,
    "time": _times,
}
