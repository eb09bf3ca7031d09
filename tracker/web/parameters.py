"""Parsing of bodies and queries into structs, with errors that name the field and the rule."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar, cast
from urllib.parse import parse_qsl
from uuid import UUID

import msgspec
from msgspec.inspect import (
    BoolType,
    DictType,
    EnumType,
    IntType,
    ListType,
    LiteralType,
    StructType,
    UnionType,
    type_info,
)

from tracker.errors import BadRequest, Required, UnknownField
from tracker.ids import UUID_RULE, parse_id
from tracker.syntax.strict_json import parse_json
from tracker.web.limits import MAX_PARAMETERS, MAX_QUOTED_NAME_CHARACTERS

Kind = TypeVar("Kind", bound=msgspec.Struct)

_type_info = cache(type_info)  # 1.5 ms for a link
_ACCOUNT_NAMES = ("accountId", "account_id")
_INTEGER = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_NUMBERED = re.compile(r"(\w+)\[[0-9]+\](:.*)", re.ASCII | re.DOTALL)
_LIST_INDEX = re.compile(r"\[[0-9]*\]\Z", re.ASCII)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}

_AT_PATH = re.compile(r"(.*) - at `\$\.?(.*)`\Z", re.DOTALL)
_FIELD_ERROR = re.compile(r"Object (contains unknown|missing required) field `(.*)`\Z", re.DOTALL)
_FIELD_RULES = {
    "contains unknown": ("unknown field", UnknownField),
    "missing required": ("required", Required),
}
_PATH_STEPS = re.compile(r"\[[^\]]*\]|[^.\[]+")
_QUOTED_TYPES = re.compile(r"`([^`]*)`(?: with a timezone component)?")
_LENGTH = re.compile(r"`(\w+)` of length ([<>])= ([0-9]+)")
_LIMIT_WORDS = {"<": "at most", ">": "at least"}

_TYPES = {
    "str": "text",
    "uuid": UUID_RULE.removeprefix("must be "),
    "datetime": "a time with its zone such as 2026-01-31T09:30:00.000Z",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bytes": "base64",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
"""Words for expected values, by msgspec's names of their types."""

_UNREADABLE = {
    "Invalid UUID": "uuid",
    "Invalid RFC3339 encoded datetime": "datetime",
    "Invalid decimal string": "decimal",
    "Invalid base64 encoded string": "bytes",
}
"""The types whose texts msgspec cannot read, by the beginnings of its messages."""


class Parsed(NamedTuple, Generic[Kind]):
    """The parsed body or query, its account, if any, and the names of its fields."""

    value: Kind
    account_id: UUID | None
    sent: frozenset[str] = frozenset()


def parse_body(kind: type[Kind], body: bytes) -> Parsed[Kind]:
    """Parse a JSON body into a struct of `kind`. `accountId` and `account_id` are one field.

    Raises BadRequest if it is not strict JSON or breaks a rule of the struct.
    """
    fields = parse_json("body", body)
    if not isinstance(fields, dict):
        raise BadRequest("body: must be a JSON object")
    return _parse_fields(kind, fields)


def parse_query(kind: type[Kind], raw: str) -> Parsed[Kind]:
    """Parse a query into a struct of `kind`. `raw` is Latin-1 text.

    A list may be a repeated name, `name[]` or `name[0]` (PHP, qs). Raises BadRequest if a value
    breaks a rule or a name is unknown: an ignored filter would find everything.
    """
    types = _field_types(kind)
    fields: dict[str, Any] = {}
    for name, text in _pairs(raw):
        listed = _LIST_INDEX.sub("", name)
        if ListType in types.get(listed, ()) or _beginning_of(listed) in types:
            fields.setdefault(listed, []).append(text)
        elif name in types or name in _ACCOUNT_NAMES:
            value = _convert_text(types.get(name, set()), text)
            if fields.setdefault(name, value) != value:
                raise BadRequest(f"{name}: given more than once")
        else:
            raise _unknown(name, types)
    try:
        return _parse_fields(kind, fields)
    except BadRequest as error:
        # Repeated names have no index.
        if match := _NUMBERED.match(error.message):
            raise error.with_message(match[1] + match[2]) from None
        raise


def _unknown(name: str, types: Mapping[str, set[type]]) -> BadRequest:
    """Return the error of an unknown name, with the closest name or all."""
    if name == "page" and "cursor" in types:
        return UnknownField("page: this list is paged by cursor")
    quoted = name[:MAX_QUOTED_NAME_CHARACTERS] or '""'
    plain = {_plain(known): known for known in (_ACCOUNT_NAMES[0], *types)}
    near = get_close_matches(_plain(quoted), plain, n=1)
    hint = f"did you mean {plain[near[0]]}?" if near else f"known are {', '.join(plain.values())}"
    return UnknownField(f"{quoted}: unknown parameter; {hint}")


def _plain(name: str) -> str:
    """Return a name without case, `_`, `-` and the keys of lists, where most typos are."""
    return name.partition("[")[0].replace("_", "").replace("-", "").casefold()


def _pairs(raw: str) -> list[tuple[str, str]]:
    try:
        text = raw.encode("latin-1").decode()
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict")
    except UnicodeError:
        raise BadRequest("parameters: must be UTF-8") from None
    if len(pairs) > MAX_PARAMETERS:
        raise BadRequest(f"parameters: at most {MAX_PARAMETERS}")
    if "\0" in text or any("\0" in value for _, value in pairs):
        raise BadRequest("parameters: no null characters")
    return pairs


@cache
def _field_types(kind: type[msgspec.Struct]) -> dict[str, set[type]]:
    """Return the types that each field may have, by its name in requests."""
    fields = cast("StructType", _type_info(kind)).fields
    return {field.encode_name: set(map(type, union_types(field.type))) for field in fields}


def union_types(kind: Any) -> list[Any]:
    """Return the types of a union, without their descriptions."""
    kind = getattr(kind, "type", kind)
    if isinstance(kind, UnionType):
        return [one for each in kind.types for one in union_types(each)]
    return [kind]


def _convert_text(types: set[type], text: str) -> str | int:
    """Return `text` as an int or bool if `types` has it and it is one, else unchanged."""
    if IntType in types and _INTEGER.fullmatch(text):
        return int(text)
    if BoolType in types:
        return _BOOLEANS.get(text.lower(), text)
    return text


def _parse_fields(kind: type[Kind], fields: dict[str, Any]) -> Parsed[Kind]:
    account_id = _take_account(fields)
    own = next((name for name in _ACCOUNT_NAMES if name in _field_types(kind)), None)
    if own is not None and account_id is not None:
        fields[own] = account_id
    collected = _collected(_type_info(kind), fields)
    return Parsed(_convert(kind, collected), account_id, frozenset(fields))


def _beginning_of(name: str) -> str:
    """Return the name of the field that takes `parameter:sub1` and the like; empty if none may."""
    beginning, _, rest = name.partition(":")
    return f"{beginning}:" if rest else ""


def _collected(kind: Any, fields: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return the fields, those of one beginning as pairs (rest of the name, value) in one field.

    A struct has such a field if its name ends in a colon. Nested structs are looked into.
    """
    types = {one.encode_name: one.type for one in kind.fields}
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if (beginning := _beginning_of(name)) in types:
            found.setdefault(beginning, []).append((name[len(beginning) :], value))
            continue
        if name in types and name.endswith(":"):
            raise UnknownField(f"{path}{name}: unknown field")
        inner = [one for one in union_types(types.get(name)) if isinstance(one, StructType)]
        if inner and isinstance(value, dict):
            value = _collected(inner[0], value, f"{path}{name}.")
        found[name] = value
    return found


def _take_account(fields: dict[str, Any]) -> UUID | None:
    """Remove the account from `fields`, in either spelling, and return it."""
    named = {name: parse_id(name, fields.pop(name)) for name in _ACCOUNT_NAMES if name in fields}
    if len(set(named.values())) > 1:
        raise BadRequest("account_id: differs from accountId, which is another name for it")
    return next(iter(named.values()), None)


def _convert(kind: type[Kind], fields: Mapping[str, Any]) -> Kind:
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        if error.__cause__ is not None:  # raised by a struct's own check
            rule, path = _split_path(str(error))
            raise BadRequest(_join_path(path, rule)) from None
        raise _refusal(kind, str(error)) from None


def _refusal(kind: type[msgspec.Struct], text: str) -> BadRequest:
    text, path = _split_path(text)
    if match := _FIELD_ERROR.match(text):
        rule, kind_of_error = _FIELD_RULES[match[1]]
        return kind_of_error(f"{_join_path(path, match[2])}: {rule}")
    rule = _rule(text)
    if text.startswith("Invalid enum value"):
        rule = f"must be {' or '.join(_choices(kind, path))}"
    return BadRequest(f"{path.replace('[...]', '') or 'body'}: {rule}")


def _split_path(text: str) -> tuple[str, str]:
    """Split msgspec's message into the text and the path of the field, empty for the struct."""
    match = _AT_PATH.match(text)
    return (match[1], match[2]) if match else (text, "")


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _rule(text: str) -> str:
    """Return msgspec's rule in plain words, without Python's types."""
    for beginning, kind in _UNREADABLE.items():
        if text.startswith(beginning):
            return f"must be {_TYPES[kind]}"
    if match := _LENGTH.search(text):
        unit = {"str": " characters", "bytes": " bytes"}.get(match[1], "")
        return f"must be {_TYPES[match[1]]} of {_LIMIT_WORDS[match[2]]} {match[3]}{unit}"
    text = _QUOTED_TYPES.sub(lambda match: _named(match[1]), text)
    return text.replace("Expected", "must be", 1)


def _named(types: str) -> str:
    return " or ".join(dict.fromkeys(_TYPES.get(one, one) for one in types.split(" | ")))


def _choices(kind: type[msgspec.Struct], path: str) -> Sequence[str]:
    """Return the values that the enumeration at `path` allows, sorted."""
    kinds: Sequence[Any] = [_type_info(kind)]
    for step in _PATH_STEPS.findall(path):
        inner = [kind for outer in kinds for kind in _types_inside(outer, step)]
        kinds = [one for kind in inner for one in union_types(kind)]
    found = next(one for one in kinds if isinstance(one, LiteralType | EnumType))
    choices = found.values if isinstance(found, LiteralType) else [one.value for one in found.cls]
    return sorted(map(str, choices))


def _types_inside(kind: Any, step: str) -> Sequence[Any]:
    if isinstance(kind, StructType):
        return [field.type for field in kind.fields if field.encode_name == step]
    if isinstance(kind, DictType):
        return [kind.value_type]
    return [kind.item_type] if hasattr(kind, "item_type") else []
