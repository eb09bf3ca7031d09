"""Rules of Shlink as rules here. Pure."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tracker.errors import BadRequest
from tracker.imports.readers.fields import Record, moment
from tracker.imports.readers.rules import Condition, SourceRules

_FIELD: Final = "redirectRules"
_DEVICES: Final = {
    "desktop": {"device": ["desktop"]},
    "mobile": {"device": ["mobile", "tablet"]},
    "chromeos": {"os": ["Chrome OS"]},
}
"""Others are operating systems."""
_WILDCARDS: Final = re.compile(r"((?:\d+\.){1,3})\*(?:\.\*)*")


def rules_of(rules: list[Record]) -> SourceRules:
    found = SourceRules()
    for rule in sorted(rules, key=lambda rule: rule.get("priority") or 0):
        name = " and ".join(map(_told, rule["conditions"])) or "nothing: it never holds there"
        found.add(_FIELD, name, rule["longUrl"], map(_condition, rule["conditions"]))
    return found


def _told(one: Record) -> str:
    return " ".join(filter(None, (one["type"], one.get("matchKey"), one.get("matchValue"))))


def _condition(one: Record) -> Condition:
    """Return the condition that holds for the same visitors. Raises BadRequest without one."""
    if one["type"] not in _MAKERS:
        raise BadRequest(f"no condition here is like {one['type']}")
    return _MAKERS[one["type"]](one.get("matchKey") or "", one.get("matchValue") or "")


def _query(key: str, **values: list[str]) -> Condition:
    return {"query": {"key": key, **values}}


def _network(text: str) -> str:
    part = _WILDCARDS.fullmatch(text)
    if part is None:
        return text
    numbers = part[1].count(".")
    return f"{part[1]}{'.'.join(['0'] * (4 - numbers))}/{8 * numbers}"


def _time(limit: str, text: str) -> Condition:
    at = moment(limit, text)
    clock = at and at.replace(tzinfo=None).isoformat(timespec="minutes")
    return {"time": {"zone": "UTC", limit: clock}}


_MAKERS: Final[Mapping[str, Callable[[str, Any], Condition]]] = {
    "device": lambda _, name: _DEVICES.get(name.lower()) or {"os": [name]},
    "browser": lambda _, name: {"browser": [name.replace("_", " ")]},
    "language": lambda _, tag: {"language": [tag.replace("_", "-")]},
    "query-param": lambda key, value: _query(key, values=[value]),
    "any-value-query-param": lambda key, _: _query(key),
    # PHP takes "0" as empty too.
    "valueless-query-param": lambda key, _: _query(key, values=["", "0"]),
    "ip-address": lambda _, text: {"ip": [_network(text)]},
    "geolocation-country-code": lambda _, code: {"country": [code]},
    "before-date": lambda _, text: _time("to", text),
    "after-date": lambda _, text: _time("from", text),
}
