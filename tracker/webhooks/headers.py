"""The headers that a webhook adds: checked when they are written, filled for each request. Pure.

Guarantee: a request has exactly these headers, one line each, whatever the values of macros are.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import quote

import msgspec

from tracker.errors import BadRequest
from tracker.webhooks.limits import MAX_HEADERS, MAX_HEADERS_CHARACTERS
from tracker.webhooks.macros import Unfillable, check_macros, fill_parts, split_at_macros

FIELD: Final = "headers"

MASK: Final = "…"
"""Replaces the hidden parts of a value."""

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110
_VALUE: Final = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_PRINTABLE: Final = "".join(map(chr, range(ord(" "), ord("~") + 1))).replace("%", "")
_encode: Final = partial(quote, safe=_PRINTABLE)
_RESERVED: Final = frozenset(
    {
        *("accept-encoding", "connection", "content-encoding", "content-length", "content-type"),
        *("expect", "host", "http2-settings", "keep-alive", "te", "trailer", "transfer-encoding"),
        *("upgrade", "user-agent"),
    }
)
_RESERVED_PREFIXES: Final = ("webhook-", "proxy-")

_TOO_LONG: Final = (
    f"{FIELD}: with their macros filled longer than {MAX_HEADERS_CHARACTERS:,} characters"
)

_MIN_HIDDEN_CHARACTERS: Final = 8
"""Shorter words are no secrets; an answer may have them by chance."""

_MIN_HIDDEN_AT_END: Final = 4
"""A word may be cut off at the end of an answer. Fewer characters may be there by chance."""

_DECODER: Final = msgspec.json.Decoder(dict[str, str])


def check_headers(headers: Mapping[str, str | None]) -> None:
    """Check headers; None keeps a stored value. Raises BadRequest with the header and the rule."""
    if len(headers) > MAX_HEADERS:
        raise BadRequest(f"{FIELD}: at most {MAX_HEADERS}")
    seen: set[str] = set()
    for name, value in headers.items():
        field, lower = f"{FIELD}.{name[:64]}", name.lower()
        if not _NAME.fullmatch(name):
            raise BadRequest(f"{field}: a name has letters, digits and !#$%&'*+-.^_`|~")
        if lower in _RESERVED or lower.startswith(_RESERVED_PREFIXES):
            raise BadRequest(f"{field}: is set by HTTP or by the service")
        if lower in seen:
            raise BadRequest(f"{field}: is repeated; case makes no difference")
        seen.add(lower)
        if not _VALUE.fullmatch(value or ""):
            raise BadRequest(f"{field}: printable ASCII, without spaces at its ends")
        check_macros(field, [value or ""])


def with_stored_values(stored: Mapping[str, str], sent: Mapping[str, str | None]) -> dict[str, str]:
    """Add stored values where None was sent.

    Raises BadRequest if there is none, or if all together are too long.
    """
    stored_by_name = {name.lower(): value for name, value in stored.items()}
    headers: dict[str, str] = {}
    for name, value in sent.items():
        new = stored_by_name.get(name.lower()) if value is None else value
        if new is None:
            raise BadRequest(f"{FIELD}.{name}: has no stored value to keep; send one")
        headers[name] = new
    if _total_characters(headers) > MAX_HEADERS_CHARACTERS:
        raise BadRequest(f"{FIELD}: at most {MAX_HEADERS_CHARACTERS:,} characters in total")
    return headers


def headers_text(headers: Mapping[str, str]) -> str:
    return msgspec.json.encode(headers).decode()


def parsed_headers(text: str | None) -> dict[str, str]:
    return {} if text is None else _DECODER.decode(text)


def macros_in(headers: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for one in headers.values() for name in split_at_macros(one)[1::2])


def fill_headers(headers: Mapping[str, str], texts: Mapping[str, str]) -> dict[str, str]:
    """Fill in macros, percent-encoded; a missing one is empty. Raises Unfillable if too long."""
    filled = {name: "".join(_filled(value, texts)) for name, value in headers.items()}
    if _total_characters(filled) > MAX_HEADERS_CHARACTERS:
        raise Unfillable(_TOO_LONG)
    return filled


def masked_headers(headers: Mapping[str, str], texts: Mapping[str, str]) -> dict[str, str]:
    """Return filled headers to show: all text but the macros' values is masked."""
    return {name: masked_texts(_filled(value, texts)) for name, value in headers.items()}


def masked_texts(parts: Sequence[str]) -> str:
    """Join plain texts and macros, alternating, with the texts masked."""
    return "".join(one if number % 2 else one and MASK for number, one in enumerate(parts))


def mask_values(text: str, headers: Mapping[str, str]) -> str:
    """Mask each word of the headers that an answer repeats, even one cut off at the end."""
    words = {
        word
        for value in headers.values()
        for literal in split_at_macros(value)[::2]
        for word in literal.split()
        if len(word) >= _MIN_HIDDEN_CHARACTERS
    }
    for word in sorted(words, key=len, reverse=True):
        text = _mask_word(text, word)
    return text


def _mask_word(text: str, word: str) -> str:
    text = text.replace(word, MASK)
    for length in range(min(len(word) - 1, len(text)), _MIN_HIDDEN_AT_END - 1, -1):
        if text.endswith(word[:length]):
            return text[:-length] + MASK
    return text


def _filled(value: str, texts: Mapping[str, str]) -> list[str]:
    return fill_parts(split_at_macros(value), texts, _encode, MAX_HEADERS_CHARACTERS, _TOO_LONG)


def _total_characters(headers: Mapping[str, str]) -> int:
    return sum(len(name) + len(value) for name, value in headers.items())
