"""Parameters of a conversion, from the query, a form or a JSON body. Pure.

- Unknown parameters are in `others`: an event configuration may have aliases among them.
- An empty parameter counts as not sent, because networks leave macros empty.
- A parameter that breaks a rule raises BadRequest, which names it.
- An unfilled macro or a placeholder is no transaction id. It is the same for every conversion, so
  all but the first would count as repeats.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.ids import parse_id
from tracker.syntax.strict_json import is_deeper, parse_json

MAX_METADATA_BYTES: Final = 16 * 1024
MAX_METADATA_LEVELS: Final = 8
MAX_TRANSACTION_ID_CHARACTERS: Final = 255
MAX_PBK_CHARACTERS: Final = 128
MAX_VALUE: Final = 10**15
_MAX_VALUE: Final = Decimal(MAX_VALUE)
MAX_VALUE_DIGITS: Final = 30
_CLICK_ID_CHARACTERS: Final = 36
_MAX_FIELDS: Final = 200

NAMES: Final = frozenset(("pbk", "click_id", "value", "metadata", "transaction_id", "txid"))

# Any text can match in one way only, so a long one is rejected in linear time.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_TO_JSON = msgspec.json.Encoder(decimal_format="number")

# A name has no three digits in a row, as order numbers have. It is no GUID, which some systems
# write in braces.
_MACRO_NAME: Final = r"(?![0-9a-f]{8}-)[$_]?[a-z](?:(?!\d{3})[a-z0-9_.:| -])*"
_MACRO: Final = re.compile(
    rf"""
      [$\#%]?\{{{{1,3}}\s*(?:{_MACRO_NAME})?\s*\}}{{1,3}}
    | \[{{1,2}}\s*(?:{_MACRO_NAME})?\s*\]{{1,2}}
    | <{{1,2}}\s*(?:{_MACRO_NAME})?\s*>{{1,2}}
    | %{{1,2}}{_MACRO_NAME}%{{1,2}}
    | \#{_MACRO_NAME}\#
    | __{_MACRO_NAME}__
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_PLACEHOLDERS: Final = frozenset(("order_id", "transaction_id", "undefined", "null", "none", "nan"))
"""Ids in examples, such as the console's, and words for no value in programming languages."""

_TRANSACTION_IDS: Final = ("transaction_id", "txid")
_TEXTS: Final = frozenset(("pbk", "click_id", *_TRANSACTION_IDS))
"""Parameters that must be text in JSON."""

Fields = dict[str, Any]
"""The unchecked parameters of a request by name, without empty ones."""


class FormValue(str):
    """A value in a query or a form, where numbers and objects are text too."""

    __slots__ = ()


class QueryAndBody(NamedTuple):
    """The two values of an unknown parameter that is in the query and in the body."""

    query: Any
    body: Any


class ConversionParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Checked parameters. `metadata` is JSON text; `others` are unknown and unchecked."""

    pbk: str | None
    click_id: UUID | None
    value: Decimal | None
    metadata: str | None
    transaction_id: str | None
    others: Mapping[str, Any] | None = None


def parse_text(raw: bytes) -> ConversionParameters:
    """Parse and check a query or a form. Raises BadRequest if a parameter breaks a rule."""
    return checked_parameters(fields_in_text(raw))


def fields_in_text(raw: bytes) -> Fields:
    """Return unchecked fields. Raises BadRequest if there are too many.

    Bytes that are not UTF-8 become surrogates, which the rules of each field reject.
    """
    try:
        pairs = _pairs(raw.decode(errors="surrogateescape"))
    except ValueError as error:
        raise BadRequest(f"parameters: {error}") from None
    return fields_of(pairs)


def fields_of(pairs: Iterable[tuple[str, str]]) -> Fields:
    """Return the fields of non-empty `pairs`. The first value of a repeated name counts."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name not in fields:
            fields[name] = value if name in _TEXTS else FormValue(value)
    return fields


def fields_in_json(body: bytes) -> Fields:
    """Return unchecked fields. Raises BadRequest if `body` is no JSON object."""
    fields = parse_json("body", body)
    if not isinstance(fields, dict):
        raise BadRequest("body: must be a JSON object")
    return {name: value for name, value in fields.items() if value not in ("", None)}


def merged(query: Fields, body: Fields) -> Fields:
    """Return the fields of query and body. If both have a field, the body's value counts.

    Unknown names in both become QueryAndBody, because they may be aliases of the click. Raises
    BadRequest if query and body name two postback keys or two clicks.
    """
    for name in ("pbk", "click_id"):
        if name in query and name in body and not _is_same(name, query[name], body[name]):
            raise BadRequest(f"{name}: differs between the query and the body")
    replaced = _TRANSACTION_IDS if not body.keys().isdisjoint(_TRANSACTION_IDS) else ()
    others = {name: value for name, value in query.items() if name not in replaced}
    both = query.keys() & (body.keys() - NAMES)
    return others | body | {name: QueryAndBody(query[name], body[name]) for name in both}


def _is_same(name: str, one: Any, other: Any) -> bool:
    if name == "click_id" and isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    return bool(one == other)


def checked_parameters(fields: Fields) -> ConversionParameters:
    """Check `fields`. Raises BadRequest if one breaks a rule."""
    if fields.keys() <= NAMES:
        return _checked(fields)
    return _checked(fields, {name: value for name, value in fields.items() if name not in NAMES})


def _pairs(text: str) -> Sequence[tuple[str, str]]:
    """Return the non-empty pairs. Raises ValueError if there are too many."""
    if "%" in text or "+" in text or text.count("&") >= _MAX_FIELDS:
        return parse_qsl(text, errors="surrogateescape", max_num_fields=_MAX_FIELDS)
    # Most texts need no decoding. Then this does the same, four times as fast.
    pairs = [pair.partition("=") for pair in text.split("&")]
    return [(name, value) for name, _, value in pairs if value]


def _checked(
    fields: Mapping[str, Any], others: Mapping[str, Any] | None = None
) -> ConversionParameters:
    pbk, click_id, value = fields.get("pbk"), fields.get("click_id"), fields.get("value")
    if pbk is None and click_id is None:
        raise BadRequest("pbk or click_id: at least one is required")
    return ConversionParameters(
        pbk=None if pbk is None else _text("pbk", pbk, MAX_PBK_CHARACTERS),
        click_id=None if click_id is None else _click_id("click_id", click_id),
        value=None if value is None else checked_value("value", value),
        metadata=_metadata(fields.get("metadata")),
        transaction_id=_transaction_id(fields),
        others=others,
    )


def _text(name: str, text: Any, limit: int) -> str:
    if not isinstance(text, str) or len(text) > limit or not text.isprintable():
        raise BadRequest(f"{name}: must be text of 1 to {limit} printable characters")
    return text


def _click_id(name: str, value: Any) -> UUID:
    return parse_id(name, _text(name, value, _CLICK_ID_CHARACTERS))


def _transaction_id(fields: Mapping[str, Any]) -> str | None:
    if "transaction_id" not in fields and "txid" not in fields:
        return None
    named = {_one_transaction_id(name, fields[name]) for name in _TRANSACTION_IDS if name in fields}
    if len(named) > 1:
        raise BadRequest("transaction_id: differs from txid, which is another name for it")
    return named.pop()


def _one_transaction_id(name: str, value: Any) -> str:
    sent = str(value) if type(value) in (int, FormValue) else value
    text = _text(name, sent, MAX_TRANSACTION_ID_CHARACTERS)
    if defect := unfilled(text):
        raise BadRequest(f"{name}: {defect}, {text}; send the id of the order, or none")
    return text


def unfilled(text: str) -> str | None:
    """Return why a text cannot be an id, for an error; None if it can."""
    if _has_only_macros(text) or ("%" in text and _has_only_macros(unquote(text))):
        return "an unfilled macro"
    return "a placeholder" if text.strip().lower() in _PLACEHOLDERS else None


def _has_only_macros(text: str) -> bool:
    rest, macros = _MACRO.subn("", text)
    return macros > 0 and not any(map(str.isalnum, rest))


def checked_value(name: str, value: Any) -> Decimal:
    """Return the value of the parameter `name`. Raises BadRequest if it breaks a rule."""
    if isinstance(value, FormValue) and _NUMBER.fullmatch(value):
        value = Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise BadRequest(f"{name}: must be a finite number such as 12.50")
    number = Decimal(value)
    if (
        abs(number.adjusted()) > MAX_VALUE_DIGITS
        or number.copy_abs() > _MAX_VALUE
        or len(number.as_tuple().digits) > MAX_VALUE_DIGITS
    ):
        raise BadRequest(f"{name}: at most 10^15, and {MAX_VALUE_DIGITS} digits")
    return number


PARSERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "click_id": _click_id,
    "value": checked_value,
    "transaction_id": _one_transaction_id,
}
"""Parsers of aliased parameters, called with the alias and the value."""


def _metadata(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, FormValue):
        value = parse_json("metadata", value.encode(errors="surrogateescape"))
    if not isinstance(value, dict):
        raise BadRequest("metadata: must be a JSON object")
    text = _TO_JSON.encode(value)
    if is_deeper(text, MAX_METADATA_LEVELS):
        raise BadRequest(f"metadata: at most {MAX_METADATA_LEVELS} levels deep")
    if len(text) > MAX_METADATA_BYTES:
        raise BadRequest(f"metadata: at most {MAX_METADATA_BYTES} bytes")
    return text.decode()
