"""Tests of one condition, compiled once. Pure.

A test returns None if it looks at something that is not known. Then neither the condition nor its
`not` holds.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from ipaddress import ip_network
from typing import Any, Final, TypeAlias

from tracker.links.rules.rule import Condition, QueryMatch, TimeMatch, kind_of
from tracker.links.rules.visitor import Visitor
from tracker.visitor_dimensions import NAMES as VISITOR_DIMENSIONS
from tracker.visitor_dimensions import UNKNOWN

Test: TypeAlias = Callable[[Visitor], bool | None]


def test_of(condition: Condition) -> Test:
    """Return the test of a condition."""
    kind = kind_of(condition)
    test = _BUILDERS[kind](getattr(condition, kind))
    return _opposite(test) if condition.not_ else test


def _opposite(test: Test) -> Test:
    def opposite(visitor: Visitor) -> bool | None:
        found = test(visitor)
        return None if found is None else not found

    return opposite


def _of_dimension(name: str) -> Callable[[Sequence[str]], Test]:
    def build(values: Sequence[str]) -> Test:
        wanted = frozenset(values)

        def is_one(visitor: Visitor) -> bool | None:
            value = visitor.dimensions[name]
            return None if value == UNKNOWN else value in wanted

        return is_one

    return build


def _language(tags: Sequence[str]) -> Test:
    wanted = tuple(tag.lower() for tag in tags)

    def prefers(visitor: Visitor) -> bool | None:
        if not visitor.languages:
            return None
        return any(
            tag == one or tag.startswith(f"{one}-") for tag in visitor.languages for one in wanted
        )

    return prefers


def _referrer(hosts: Sequence[str]) -> Test:
    names, ends = frozenset(hosts), tuple(f".{host}" for host in hosts)

    def comes_from(visitor: Visitor) -> bool | None:
        host = visitor.referrer_host
        return None if host is None else host in names or host.endswith(ends)

    return comes_from


def _ip(networks: Sequence[str]) -> Test:
    parsed = [ip_network(one) for one in networks]
    ranges = [(one.version, int(one[0]), int(one[-1])) for one in parsed]

    def is_within(visitor: Visitor) -> bool | None:
        if visitor.ip is None:
            return None
        own, number = visitor.ip
        return any(own == version and low <= number <= high for version, low, high in ranges)

    return is_within


def _query(match: QueryMatch) -> Test:
    key, wanted = match.key, None if match.values is None else frozenset(match.values)

    def has(visitor: Visitor) -> bool | None:
        if visitor.query is None:
            return None
        values = visitor.query.get(key)
        if values is None:
            return False
        return wanted is None or not wanted.isdisjoint(values)

    return has


def _time(match: TimeMatch) -> Test:
    weekdays, hours = frozenset(match.weekdays), frozenset(match.hours)
    is_within = _between(match.from_, match.to)

    def holds(visitor: Visitor) -> bool | None:
        clock = visitor.clock(match.zone)
        if clock is None:
            return None
        return (
            (not weekdays or clock.isoweekday() in weekdays)
            and (not hours or clock.hour in hours)
            and is_within(clock)
        )

    return holds


def _between(start: str | None, end: str | None) -> Callable[[datetime], bool]:
    """Return the test of a local time. Texts of one form are ordered as their times are."""
    if start is None and end is None:
        return lambda _: True
    is_daily = len(start or end or "") == len("09:00")
    low, high = start or "", end or "~"
    form = "%H:%M" if is_daily else "%Y-%m-%dT%H:%M"
    if is_daily and low > high:
        return lambda clock: not high <= clock.strftime(form) < low
    return lambda clock: low <= clock.strftime(form) < high


_BUILDERS: Final[Mapping[str, Callable[[Any], Test]]] = {
    **{name: _of_dimension(name) for name in VISITOR_DIMENSIONS},
    "language": _language,
    "referrer": _referrer,
    "ip": _ip,
    "query": _query,
    "time": _time,
}
