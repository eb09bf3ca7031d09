"""JSON as clients send it, parsed strictly (RFC 8259, and I-JSON's rules of RFC 7493). Pure.

The standard library's parser, because it alone tells of repeated names; numbers with a fraction or
an exponent become Decimal, so that money stays exact.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any, Never

from tracker.errors import BadRequest

MAX_DEPTH = 32
MAX_DIGITS = 400
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def parse_json(name: str, text: bytes) -> Any:
    """The value of `text`. Raises BadRequest, which calls it `name`.

    Refused besides bad syntax: bytes that are not UTF-8, names that repeat, NaN and Infinity,
    null characters and lone surrogates in strings, and more than MAX_DEPTH levels.
    """
    try:
        value = _DECODER.decode(text.decode())
    except UnicodeDecodeError:
        raise BadRequest(f"{name}: must be UTF-8") from None
    except json.JSONDecodeError as error:
        raise BadRequest(f"{name}: must be valid JSON ({error.msg}, {_where(error)})") from None
    except RecursionError:
        raise BadRequest(f"{name}: at most {MAX_DEPTH} levels deep") from None
    except ValueError as error:
        raise BadRequest(f"{name}: {error}") from None
    # Only an escape can bring in a character that UTF-8 and JSON do not allow as it is; most texts
    # have neither an escape nor more brackets than levels are allowed.
    if b"\\u" in text or text.count(b"{") + text.count(b"[") > MAX_DEPTH:
        _check(name, value, 0)
    return value


def _where(error: json.JSONDecodeError) -> str:
    return f"line {error.lineno} column {error.colno}"


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


def _check(name: str, value: Any, levels: int) -> None:
    """`value` lies within so many levels."""
    if isinstance(value, str):
        if "\0" in value or _SURROGATE.search(value):
            raise BadRequest(f"{name}: no null characters and no lone surrogates")
    elif isinstance(value, dict | list):
        if levels == MAX_DEPTH:
            raise BadRequest(f"{name}: at most {MAX_DEPTH} levels deep")
        inner = chain(value, value.values()) if isinstance(value, dict) else value
        for one in inner:
            _check(name, one, levels + 1)
