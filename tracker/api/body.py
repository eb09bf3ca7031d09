"""Request bodies: JSON objects into structs, with errors that name the field and the rule."""

import re
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.ids import parse_id

Kind = TypeVar("Kind", bound=msgspec.Struct)

_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`(?: - at `\$\.?(.*)`)?\Z", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`(?: - at `\$\.?(.*)`)?\Z")
_WRONG = re.compile(r"(.*) - at `\$\.?(.*)`\Z")


def parse_body(kind: type[Kind], body: bytes) -> Kind:
    """`body` as `kind`, whose field `account_id` may be spelled `accountId`. Raises BadRequest."""
    try:
        fields = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadRequest(f"body: must be valid JSON ({error})") from None
    if not isinstance(fields, dict):
        raise BadRequest("body: must be a JSON object")
    try:
        return msgspec.convert(_one_spelling(fields), kind)
    except msgspec.ValidationError as error:
        raise BadRequest(_message(str(error))) from None


def account_id(text: str) -> UUID:
    return parse_id("accountId", text)


def _one_spelling(fields: dict[str, Any]) -> dict[str, Any]:
    if "accountId" not in fields:
        return fields
    spelled = fields.pop("accountId")
    if fields.setdefault("account_id", spelled) != spelled:
        raise BadRequest("accountId: differs from account_id, which is another name for it")
    return fields


def _message(text: str) -> str:
    if match := _UNKNOWN.match(text):
        return f"{_path(match)}: unknown field"
    if match := _MISSING.match(text):
        return f"{_path(match)}: required"
    if match := _WRONG.match(text):
        return f"{_spoken(match[2])}: {_rule(match[1])}"
    return f"body: {text}"


def _rule(text: str) -> str:
    """In words of JSON, not of a type system."""
    words = (("`", ""), ("Expected", "must be"), ("str", "text"), (" | ", " or "))
    for word, spoken in words:
        text = text.replace(word, spoken)
    return text


def _path(match: re.Match[str]) -> str:
    return _spoken(f"{match[2]}.{match[1]}" if match[2] else match[1])


def _spoken(name: str) -> str:
    return "accountId" if name == "account_id" else name
