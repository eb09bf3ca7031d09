"""A strict parser of clients' JSON (RFC 8259, and I-JSON's rules of RFC 7493). Pure.

Numbers with a fraction or an exponent become Decimal, so that money stays exact.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import Any, Never

from tracker.errors import BadRequest

MAX_DEPTH = 32

MAX_DIGITS = 400
"""Characters of a whole number, its sign included."""

_SUSPECT_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_PAIR = rb"u[dD][89abAB]..\\u[dD][c-fC-F].."
_GOOD_ESCAPE = re.compile(rb"\\(?:%b|u(?!0000|[dD][89a-fA-F])....|[^u])" % _PAIR)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""Without a closing quote it extends to the end of the text."""
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in _STEPS)


def parse_json(name: str, text: bytes) -> Any:
    """Return the value of JSON text. Raises BadRequest, whose message calls it `name`.

    Refused too: repeated names, NaN, null characters, lone surrogates, over MAX_DEPTH levels.
    """
    if is_deeper(text, MAX_DEPTH):
        raise BadRequest(f"{name}: at most {MAX_DEPTH} levels deep")
    try:
        value = _DECODER.decode(text.decode())
    except UnicodeDecodeError:
        raise BadRequest(f"{name}: must be UTF-8") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise BadRequest(f"{name}: must be valid JSON ({error.msg}, {place})") from None
    except ValueError as error:
        raise BadRequest(f"{name}: {error}") from None
    if _has_bad_escape(text):
        raise BadRequest(f"{name}: no null characters and no lone surrogates")
    return value


def is_deeper(text: bytes, levels: int) -> bool:
    """Return whether JSON text nests deeper than `levels`; malformed text is fine."""
    if text.count(b"{") + text.count(b"[") <= levels:
        return False
    brackets = _STRING.sub(b"", text).translate(None, _NO_BRACKETS)
    return any(map(levels.__lt__, accumulate(map(_STEPS.__getitem__, brackets))))


def _has_bad_escape(text: bytes) -> bool:
    """Return whether valid JSON text escapes a null character or a lone surrogate."""
    return bool(_SUSPECT_ESCAPE.search(text)) and b"\\" in _GOOD_ESCAPE.sub(b"", text)


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the name {repeated[:64]!r} is repeated")
    return fields


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("a number is out of range") from None


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError("a number is out of range")
    return int(text)


def _no_constant(text: str) -> Never:
    raise ValueError(f"{text} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_constant=_no_constant,
    parse_float=_decimal,
    parse_int=_integer,
)
