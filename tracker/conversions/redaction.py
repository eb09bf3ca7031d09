"""Redaction of refused postbacks, which may be malformed. Pure."""

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote_plus
from uuid import UUID

from tracker.conversions.postbacks.parameters import MAX_PBK_CHARACTERS
from tracker.errors import BadRequest
from tracker.ids import parse_id

MAX_TEXT: Final = 2048
"""The beginning of a query or body that is read and stored, in bytes."""

_CUT: Final = "…"
_PBK_CHARACTERS: Final = 4
# Each repetition is limited: a sender chooses the text, and the event loop waits for the search.
_WORDS: Final = "(?:pass|pwd|secret|token|auth|signature|api[_-]?key|e-?mail|card)"
_SECRET: Final = rf"[\w.\[\]%-]{{0,40}}{_WORDS}[\w.\[\]%-]{{0,40}}"
# After the name of a part in a multipart form: the rest of its line, and up to two header fields.
_REST: Final = r'"[^\r\n]{0,200}\r\n(?:[^\r\n]{1,200}\r\n){0,2}\r\n'
# JSON, also as a text within JSON, and as a value of a query or a form.
_JSON: Final = r'(?:\\"(?:(?!\\").)*(?:\\")?|"(?:[^"\\]|\\.)*"?|[^\s,}\]]+)'
_KEY: Final = rf"%22[\w.-]{{0,40}}{_WORDS}[\w.-]{{0,40}}%22"
_SPACE: Final = r"(?:%20|\+|\s){0,9}"
_ENCODED: Final = r"(?:%22(?:%5C%22|(?!%22)[^&])*(?:%22)?|(?:(?!%2C|%7D)[^&,}])+)"
_SECRETS: Final = re.compile(
    rf"(?P<pair>(?:^|[?&;\s]){_SECRET}=)[^&\r\n]+"
    rf'|(?P<json>"{_SECRET}\\?"\s{{0,9}}:\s{{0,9}}){_JSON}'
    rf"|(?P<encoded>{_KEY}{_SPACE}(?:%3A|:){_SPACE}){_ENCODED}"
    rf"|(?P<element><{_SECRET}>)[^<]+"
    rf'|(?P<part>name="{_SECRET}{_REST})[^\r\n]*',
    re.IGNORECASE,
)


def _values_of(name: str) -> re.Pattern[str]:
    """Match a parameter in a query, a form or JSON; the group is the value.

    Case, and marks around the name, are ignored: they may be why the request was refused, and the
    parser reads such names.
    """
    return re.compile(
        rf'(?<![\w.$-]){name}(?:[^\w&="]|\d){{0,9}}(?:"?=|"\s{{0,9}}:\s{{0,9}}"|{_REST})([^&"\r\n]+)',
        re.IGNORECASE,
    )


_KEY_NAME: Final = "(?:pbk|postback_?key)"
_PBK: Final = _values_of(_KEY_NAME)
_CLICK_ID: Final = _values_of("click_id")

_ESCAPED: Final = re.compile(r"\\u00([0-7][0-9a-fA-F])")
_MAX_ENCODINGS: Final = 3
"""A name or value may be encoded, in a URL that is a parameter, of a form."""

_MAX_KEYS: Final = 8
_MIN_KEY_CHARACTERS: Final = 8
"""A shorter value is none of our keys, and may stand in other words."""

_ANYWHERE: Final = re.compile(
    rf"(?<![\w.$-]){_KEY_NAME}(?:\[\d\])?[^a-z0-9&,]{{1,20}}"
    rf"([\w-]{{{_MIN_KEY_CHARACTERS},{MAX_PBK_CHARACTERS}}})",
    re.IGNORECASE | re.ASCII,
)
"""A key after its name, whatever stands between them in a malformed request."""


class RedactedRequest(NamedTuple):
    """A refused request without secrets, and the ids to find its account by."""

    query: str
    body: str
    pbk: str | None
    click_id: UUID | None


def redacted(query: bytes, body: bytes) -> RedactedRequest:
    """Redact a refused request. Parameters of the body come before the query's."""
    texts = [one[:MAX_TEXT].decode(errors="replace") for one in (body, query)]
    shown = [_without_secrets(one) for one in texts]
    pbk = next((found for one in texts if (found := _value(_PBK, one))), None)
    named = next((found for one in texts if (found := _value(_CLICK_ID, one))), None)
    return RedactedRequest(
        query=shown[1],
        body=shown[0],
        pbk=pbk if pbk and len(pbk) <= MAX_PBK_CHARACTERS and pbk.isprintable() else None,
        click_id=_id(named),
    )


def _value(pattern: re.Pattern[str], text: str) -> str | None:
    found = next(filter(None, map(pattern.search, chain((text,), _decodings(text)))), None)
    if found is None:
        return None
    # Values in a query may be encoded. Decoding does not change values in JSON.
    return next((value for _, value in parse_qsl(f"v={found[1]}")), None)


def _id(text: str | None) -> UUID | None:
    try:
        return parse_id("click_id", text or "")
    except BadRequest:
        return None


def _without_secrets(text: str) -> str:
    keys = sorted(islice(_possible_keys(text), _MAX_KEYS), key=len, reverse=True)
    text = _SECRETS.sub(lambda found: f"{found[found.lastgroup or 0]}{_CUT}", text)
    text = _PBK.sub(_shortened_pbk, text)
    for key in keys:
        shown = (key[:_PBK_CHARACTERS] + _CUT).replace("\\", r"\\")
        text = _in_any_encoding(key).sub(shown, text)
    return text


def _possible_keys(text: str) -> Iterator[str]:
    """Yield the postback keys in `text`, whose name or value may be encoded."""
    for decoded in (text, *_decodings(text)):
        for found in (*_PBK.finditer(decoded), *_ANYWHERE.finditer(decoded)):
            if _MIN_KEY_CHARACTERS <= len(found[1]) <= MAX_PBK_CHARACTERS:
                yield found[1]


def _decodings(text: str) -> Iterator[str]:
    for _ in range(_MAX_ENCODINGS):
        decoded = unquote_plus(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), text))
        if decoded == text:
            return
        yield decoded
        text = decoded


def _in_any_encoding(key: str) -> re.Pattern[str]:
    """Match a key whose characters may be percent-encoded, repeatedly, or escaped as in JSON."""
    characters = (
        rf"(?:{re.escape(one)}|%(?:25){{0,{_MAX_ENCODINGS}}}{ord(one):02x}|\\u{ord(one):04x})"
        for one in key
    )
    return re.compile("".join(characters), re.IGNORECASE)


def _shortened_pbk(found: re.Match[str]) -> str:
    return found[0].removesuffix(found[1]) + found[1][:_PBK_CHARACTERS] + _CUT
