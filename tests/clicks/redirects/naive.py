"""Rules and splits, evaluated by what `docs/api.md` says of them and nothing else: slowly."""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo

from tracker.clicks.bots import bot_reason
from tracker.clicks.country import COUNTRIES, Countries
from tracker.clicks.user_agent import describe
from tracker.clicks.visit import Visit
from tracker.links.rules.rule import (
    Condition,
    Deciding,
    QueryMatch,
    Rule,
    Split,
    TimeMatch,
    Variant,
)

Found = tuple[str, str | None, str | None]
"""A destination, the name of the rule, and the name of the variant."""


def decide(deciding: Deciding, own_url: str, visit: Visit, at: int) -> Found:
    for rule in deciding.rules:
        if first_failed(rule, visit, at) is None:
            if rule.split is None:
                return rule.destination_url or "", rule.name, None
            active = [one for one in rule.split.variants if one.active]
            url = active[0].destination_url if active else own_url
            return _drawn(rule.split, visit, url, rule.name)
    return (
        (own_url, None, None)
        if deciding.split is None
        else _drawn(deciding.split, visit, own_url, None)
    )


def first_failed(rule: Rule, visit: Visit, at: int) -> int | None:
    for number, condition in enumerate(rule.conditions):
        if holds(condition, visit, at) is not True:
            return number
    return None


def holds(condition: Condition, visit: Visit, at: int) -> bool | None:
    for kind, of_kind in _KINDS.items():
        if getattr(condition, kind):
            found = of_kind(getattr(condition, kind), visit, at)
            return None if found is None else found != condition.not_
    raise AssertionError("a condition of no kind")


def _drawn(split: Split, visit: Visit, undrawn: str, rule: str | None) -> Found:
    candidates = [one for one in split.variants if one.active and one.weight > 0]
    is_bot = bot_reason(visit.headers.user_agent, visit.headers.purpose) is not None
    if is_bot or not candidates:
        return undrawn, rule, None

    def score(variant: Variant) -> float:
        text = f"{_network(visit.address)}\0{visit.headers.user_agent}".encode()
        key = bytes.fromhex(split.secret)
        digest = blake2b(variant.id.bytes + text, digest_size=8, key=key).digest()
        fraction = (int.from_bytes(digest, "big") + 1) / (2**64 + 1)
        return variant.weight / -math.log(fraction)

    best = max(candidates, key=score)
    return best.destination_url, rule, best.name


def _network(text: str) -> str:
    try:
        address = ip_address(text.split("%")[0])
    except ValueError:
        return text
    if not isinstance(address, IPv6Address):
        return text
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ip_network((address, 64), strict=False))


def _country(wanted: list[str], visit: Visit, at: int) -> bool | None:
    sent = visit.headers.edge_country.upper()
    found = sent if sent in COUNTRIES else Countries().look_up(visit.address, "")
    return None if found == "unknown" else found in wanted


def _of_agent(name: str) -> Callable[[list[str], Visit, int], bool | None]:
    def test(wanted: list[str], visit: Visit, at: int) -> bool | None:
        found = getattr(describe(visit.headers.user_agent), name)
        return None if found == "unknown" else found in wanted

    return test


def _language(wanted: list[str], visit: Visit, at: int) -> bool | None:
    found: dict[str, float] = {}
    for entry in visit.headers.languages.lower().replace(" ", "").split(","):
        tag, _, quality = entry.partition(";q=")
        try:
            number = float(quality or 1)
        except ValueError:
            continue
        if tag and tag != "*" and tag not in found:
            found[tag] = number
    best = max(found.values(), default=0)
    preferred = [tag for tag, number in found.items() if number >= 0.9 and number >= best - 0.1]
    if not preferred:
        return None
    return any(f"{tag}-".startswith(f"{one.lower()}-") for tag in preferred for one in wanted)


def _referrer(wanted: list[str], visit: Visit, at: int) -> bool | None:
    host = urlsplit(visit.headers.referrer).hostname
    if host is None:
        return None
    return any(f".{host.removesuffix('.')}".endswith(f".{one}") for one in wanted)


def _query(wanted: QueryMatch, visit: Visit, at: int) -> bool:
    text = visit.query.encode("latin-1").decode(errors="replace")
    values = [value for key, value in parse_qsl(text, keep_blank_values=True) if key == wanted.key]
    return bool(values) if wanted.values is None else any(one in wanted.values for one in values)


def _ip(wanted: list[str], visit: Visit, at: int) -> bool | None:
    try:
        address = ip_address(visit.address.split("%")[0])
    except ValueError:
        return None
    address = getattr(address, "ipv4_mapped", None) or address
    return any(address in ip_network(one) for one in wanted)


def _time(wanted: TimeMatch, visit: Visit, at: int) -> bool:
    zone = ZoneInfo(wanted.zone)
    now = datetime.fromtimestamp(at / 1000, UTC)
    local = now.astimezone(zone)
    if wanted.weekdays and local.isoweekday() not in wanted.weekdays:
        return False
    if wanted.hours and local.hour not in wanted.hours:
        return False
    start, end = wanted.from_, wanted.to
    if start and end and "T" not in start:
        clock = f"{local:%H:%M}"
        return start <= clock < end if start <= end else not end <= clock < start
    begins = start and datetime.fromisoformat(start).replace(tzinfo=zone).astimezone(UTC)
    ends = end and datetime.fromisoformat(end).replace(tzinfo=zone).astimezone(UTC)
    return not (begins and now < begins) and not (ends and now >= ends)


_KINDS: Mapping[str, Callable[[Any, Visit, int], bool | None]] = {
    "country": _country,
    "device": _of_agent("device"),
    "os": _of_agent("os"),
    "browser": _of_agent("browser"),
    "language": _language,
    "referrer": _referrer,
    "query": _query,
    "ip": _ip,
    "time": _time,
}
