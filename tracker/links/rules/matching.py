"""Tests of one condition, compiled once. Pure.

A test may return None if it looks at something that is not known. Then neither the condition nor
its `not` holds.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from math import inf
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

from tracker.limits.network import address_number
from tracker.links.rules.rule import Condition, QueryMatch, TimeMatch, kind_of
from tracker.links.rules.visitor import Visitor, clock_in
from tracker.visitor_dimensions import NAMES as VISITOR_DIMENSIONS
from tracker.visitor_dimensions import UNKNOWN

Test: TypeAlias = Callable[[Visitor], bool | None]

_BITS: Final = {4: 32, 6: 128}
_MINUTE_MS: Final = 60_000
_DAY_MINUTES: Final = 24 * 60
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.~-]+")
"""A key that a query has unchanged, unless it has escapes."""

_SHORT: Final = 500
"""Characters that are searched in less time than the query is parsed in, for all conditions."""


def test_of(condition: Condition) -> Test:
    """Return the test of a condition."""
    kind = kind_of(condition)
    values = getattr(condition, kind)
    if kind in VISITOR_DIMENSIONS:
        return _dimension(kind, values, condition.not_)
    test = _BUILDERS[kind](values)
    return _opposite(test) if condition.not_ else test


def _opposite(test: Test) -> Test:
    def opposite(visitor: Visitor) -> bool | None:
        found = test(visitor)
        return None if found is None else not found

    return opposite


def _dimension(name: str, values: Sequence[str], is_not: bool) -> Test:
    wanted, unwanted = frozenset(values) - {UNKNOWN}, frozenset(values) | {UNKNOWN}
    if is_not:
        return lambda visitor: visitor.dimensions()[name] not in unwanted
    return lambda visitor: visitor.dimensions()[name] in wanted


def _language(tags: Sequence[str]) -> Test:
    wanted = frozenset(tag.lower() for tag in tags)

    def prefers(visitor: Visitor) -> bool | None:
        preferred = visitor.languages()
        return not wanted.isdisjoint(preferred) if preferred else None

    return prefers


def _referrer(hosts: Sequence[str]) -> Test:
    names, ends = frozenset(hosts), tuple(f".{host}" for host in hosts)

    def comes_from(visitor: Visitor) -> bool | None:
        host = visitor.referrer_host()
        return None if host is None else host in names or host.endswith(ends)

    return comes_from


def _ip(networks: Sequence[str]) -> Test:
    ranges = sorted(map(_range, networks))
    lows = [(version, low) for version, low, _ in ranges]
    # The highest end so far, as a network may be within an earlier one.
    highs = list(accumulate(((version, high) for version, _, high in ranges), max))

    def is_within(visitor: Visitor) -> bool | None:
        ip = visitor.ip()
        if ip is None:
            return None
        at = bisect_right(lows, ip)
        return at > 0 and ip <= highs[at - 1]

    return is_within


def _range(network: str) -> tuple[int, int, int]:
    """Return version, first and last address: `ip_network` takes ten times as long."""
    text, _, bits = network.partition("/")
    version, number = address_number(text) or (0, 0)
    size = (_BITS[version] - int(bits)) if bits else 0
    first = number >> size << size
    return version, first, first + (1 << size) - 1


def _query(match: QueryMatch) -> Test:
    key, wanted = match.key, None if match.values is None else frozenset(match.values)
    is_plain = _PLAIN.fullmatch(key) is not None

    def has(visitor: Visitor) -> bool | None:
        raw = visitor.raw_query
        if raw is None:
            return None
        if is_plain and len(raw) <= _SHORT and key not in raw and "%" not in raw:
            return False
        values = visitor.query().get(key)
        return values is not None and (wanted is None or not wanted.isdisjoint(values))

    return has


def _time(match: TimeMatch) -> Test:
    zone = ZoneInfo(match.zone)
    weekdays, hours = frozenset(match.weekdays or range(1, 8)), frozenset(match.hours or range(24))
    begins, ends, low, high = -inf, inf, 0, _DAY_MINUTES
    is_daily = len(match.from_ or match.to or "") == len("09:00")
    if is_daily:
        low, high = _minutes(match.from_, low), _minutes(match.to, high)
    else:
        begins, ends = _ms(match.from_, zone, begins), _ms(match.to, zone, ends)
    asks_clock = is_daily or match.weekdays or match.hours
    is_over_midnight, (low, high) = high < low, sorted((low, high))

    def holds(visitor: Visitor) -> bool | None:
        at = visitor.at
        if at is None:
            return None
        if not begins <= at < ends:
            return False
        if not asks_clock:
            return True
        weekday, hour, minute = clock_in(zone, at // _MINUTE_MS)
        is_between = low <= minute < high
        return is_between != is_over_midnight and hour in hours and weekday in weekdays

    return holds


def _minutes(text: str | None, missing: int) -> int:
    """Return the minute of a day."""
    return missing if text is None else int(text[:2]) * 60 + int(text[3:])


def _ms(text: str | None, zone: ZoneInfo, missing: float) -> float:
    """Return a time on the clocks of a zone, the first of two, in milliseconds since the epoch."""
    if text is None:
        return missing
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000


_BUILDERS: Final[Mapping[str, Callable[[Any], Test]]] = {
    "language": _language,
    "referrer": _referrer,
    "ip": _ip,
    "query": _query,
    "time": _time,
}
