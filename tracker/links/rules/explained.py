"""What a visitor brings for a condition to look at, in words. Pure."""

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from tracker.links.rules.rule import Condition, QueryMatch, TimeMatch, kind_of
from tracker.links.rules.visitor import Visitor
from tracker.visitor_dimensions import UNKNOWN

_LABELS: Final = {"os": "operating system", "ip": "address"}
_UNKNOWN: Final = "is not known"


def brought(condition: Condition, visitor: Visitor) -> str:
    """Return what a condition sees, such as `country is DE`."""
    kind = kind_of(condition)
    values = getattr(condition, kind)
    if isinstance(values, QueryMatch):
        return _of_query(values, visitor)
    if isinstance(values, TimeMatch):
        return _of_time(values, visitor)
    if kind == "language":
        found = ", ".join(sorted(visitor.languages()))
    elif kind == "referrer":
        found = visitor.referrer_host() or ""
    elif kind == "ip":
        found = "" if visitor.ip() is None else visitor.address
    else:
        found = visitor.dimensions()[kind].replace(UNKNOWN, "")
    return f"{_LABELS.get(kind, kind)} {f'is {found}' if found else _UNKNOWN}"


def _of_query(match: QueryMatch, visitor: Visitor) -> str:
    if visitor.raw_query is None:
        return f"query {_UNKNOWN}"
    values = visitor.query().get(match.key)
    if values is None:
        return f"query has no {match.key}"
    return f"{match.key} is {', '.join(sorted(values)) or 'empty'}"


def _of_time(match: TimeMatch, visitor: Visitor) -> str:
    if visitor.at is None:
        return f"time {_UNKNOWN}"
    local = datetime.fromtimestamp(visitor.at / 1000, ZoneInfo(match.zone))
    return f"time is {local:%A %Y-%m-%d %H:%M} in {match.zone}"
