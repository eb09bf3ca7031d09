"""Bodies and queries into structs, with errors that name the field and the rule."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from tracker.errors import BadRequest
from tracker.http.strict_json import parse_json

Kind = TypeVar("Kind", bound=msgspec.Struct)

_MOST_PARAMETERS = 200
_SPELLINGS = {"account_id": "accountId", "accountId": "account_id"}

_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`(?: - at `\$\.?(.*)`)?\Z", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`(?: - at `\$\.?(.*)`)?\Z")
_WRONG = re.compile(r"(.*) - at `\$\.?(.*)`\Z", re.DOTALL)
_WORDS = (("`", ""), ("Expected", "must be"), ("str", "text"), (" | ", " or "))


def parse_body(kind: type[Kind], body: bytes) -> Kind:
    """Raises BadRequest. `accountId` and `account_id` are two names of one field."""
    fields = parse_json("body", body)
    if not isinstance(fields, dict):
        raise BadRequest("body: must be a JSON object")
    return _converted(kind, _spelled(kind, fields), strict=True)


def parse_query(kind: type[Kind], raw: str) -> Kind:
    """`raw` holds one byte a character. A repeated name is a list to a field that is a list
    (`name[]` too); else the first counts. Unknown names are ignored."""
    try:
        text = raw.encode("latin-1").decode()
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=200)
    except ValueError as error:
        raise BadRequest(f"parameters: {error}") from None
    lists = {field.encode_name for field in msgspec.structs.fields(kind) if _is_list(field.type)}
    fields: dict[str, Any] = {}
    for name, value in pairs:
        name = name.removesuffix("[]")
        if name in lists:
            fields.setdefault(name, []).append(value)
        elif value:
            fields.setdefault(name, value)
    known = {field.encode_name for field in msgspec.structs.fields(kind)} | set(_SPELLINGS)
    spelled = _spelled(kind, {name: fields[name] for name in fields if name in known})
    return _converted(kind, spelled, strict=False)


def _is_list(annotation: Any) -> bool:
    return "list" in str(annotation)


def _converted(kind: type[Kind], fields: Mapping[str, Any], strict: bool) -> Kind:
    try:
        return msgspec.convert(fields, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise BadRequest(_message(str(error))) from None


def _spelled(kind: type[msgspec.Struct], fields: dict[str, Any]) -> dict[str, Any]:
    """The account under the name that `kind` has for it."""
    own = next((f.encode_name for f in msgspec.structs.fields(kind) if f.name == "account_id"), "")
    other = _SPELLINGS.get(own, "")
    if other in fields:
        spelled = fields.pop(other)
        if fields.setdefault(own, spelled) != spelled:
            raise BadRequest(f"{other}: differs from {own}, which is another name for it")
    return fields


def _message(text: str) -> str:
    if match := _UNKNOWN.match(text):
        return f"{_path(match)}: unknown field"
    if match := _MISSING.match(text):
        return f"{_path(match)}: required"
    if match := _WRONG.match(text):
        return f"{match[2] or 'body'}: {_rule(match[1])}"
    return f"body: {_rule(text)}"


def _path(match: re.Match[str]) -> str:
    return f"{match[2]}.{match[1]}" if match[2] else match[1]


def _rule(text: str) -> str:
    """In words of JSON, not of a type system."""
    for word, spoken in _WORDS:
        text = text.replace(word, spoken)
    return text
