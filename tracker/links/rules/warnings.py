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


def warnings_of(rules: Sequence[Rule], split: Split | None) -> Iterator[RuleWarning]:
    """Yield the rules that no visitor reaches, and the splits that nobody draws from."""
    for number, rule in enumerate(rules):
        path, earlier = f"rules[{number}]", enumerate(rules[:number])
        wider = next((n for n, one in earlier if _implies_all(rule, one)), None)
        if _contradicts_itself(rule):
            message = "can never hold: its conditions exclude each other"
            yield RuleWarning(path=path, message=message)
        elif wider is not None:
            message = f"is never reached: rules[{wider}] holds whenever it does"
            yield RuleWarning(path=path, message=message)
        yield from _undrawn(f"{path}.split", rule.split)
    yield from _undrawn("split", split)


def _undrawn(path: str, split: Split | None) -> Iterator[RuleWarning]:
    if split is not None and not any(one.active and one.weight for one in split.variants):
        yield RuleWarning(path=path, message="nobody draws a variant: no active one has a weight")


def _implies_all(rule: Rule, other: Rule) -> bool:
    return all(any(implies(own, one) for own in rule.conditions) for one in other.conditions)


def _contradicts_itself(rule: Rule) -> bool:
    pairs = permutations(rule.conditions, 2)
    return any(implies(one, replace(other, not_=not other.not_)) for one, other in pairs)


def implies(one: Condition, other: Condition) -> bool:
    """Return whether `other` surely holds where `one` does."""
    kind = kind_of(one)
    own, wider = getattr(one, kind), getattr(other, kind)
    if not wider:  # of another kind
        return False
    is_within = _WITHIN.get(kind) or _each(_COVERS.get(kind, str.__eq__))
    if other.not_ and not one.not_:
        # A visitor has one value of each dimension.
        return kind in VISITOR_DIMENSIONS and set(own).isdisjoint(wider)
    if one.not_:
        return other.not_ and is_within(wider, own)
    return is_within(own, wider)


def _each(covers: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    return lambda own, wider: all(any(covers(other, one) for other in wider) for one in own)


def _has_network(wider: str, own: str) -> bool:
    one, other = ip_network(own), ip_network(wider)
    return one.version == other.version and one.subnet_of(other)  # type: ignore[arg-type]


def _has_query(own: QueryMatch, wider: QueryMatch) -> bool:
    if own.key != wider.key or wider.values is None:
        return own.key == wider.key
    return own.values is not None and set(own.values) <= set(wider.values)


def _has_time(own: TimeMatch, wider: TimeMatch) -> bool:
    """Return whether a time is within another, apart from the clocks, which must be the same."""
    lists = ((own.weekdays, wider.weekdays), (own.hours, wider.hours))
    return (
        own.zone == wider.zone
        and (wider.from_, wider.to) in ((None, None), (own.from_, own.to))
        and all(not values or (one and set(one) <= set(values)) for one, values in lists)
    )


_COVERS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "language": lambda wider, own: f"{own}-".lower().startswith(f"{wider}-".lower()),
    "referrer": lambda wider, own: f".{own}".endswith(f".{wider}"),
    "ip": _has_network,
}
_WITHIN: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"query": _has_query, "time": _has_time}
