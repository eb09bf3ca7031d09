"""Payloads: rendered from a template and the values of its macros. Pure.

Called when a delivery is first attempted. A value is neither parsed nor searched for macros.

Guarantee: the payload has the structure of its template, whatever the values hold.
"""

import json
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from tracker.webhooks.limits import CACHED_TEMPLATES, MAX_PAYLOAD_BYTES
from tracker.webhooks.macros import (
    ENCODER,
    MACRO,
    Unfillable,
    as_text,
    is_known,
    split_at_macros,
)
from tracker.webhooks.payloads.template import FIELD
from tracker.webhooks.payloads.values import MacroValues

_TOO_LONG: Final = f"{FIELD}: with its macros filled longer than {MAX_PAYLOAD_BYTES:,} bytes"


def render(template: str, values: MacroValues) -> bytes:
    """Render a checked template (`template_text`) as JSON in UTF-8.

    A text of just one macro becomes its value with its type, or null. In a longer text null is
    empty, and other values are JSON. Raises Unfillable beyond MAX_PAYLOAD_BYTES.
    """
    payload = ENCODER.encode(_Renderer(values).render(_prepared(template)))
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise Unfillable(_TOO_LONG)
    return payload


def as_query(payload: bytes) -> str:
    """Return a payload's fields in order as a query without "?"; null is empty."""
    fields = _parsed(payload)
    return urlencode([(name, as_text(value)) for name, value in fields.items()])


class _LoneMacro(NamedTuple):
    """A text of a template that is just this macro."""

    macro: str


class _Renderer:
    """Renders one payload. A macro is encoded once, and its length counts each time."""

    def __init__(self, values: MacroValues) -> None:
        self._values = values
        self._texts: dict[str, str] = {}
        self._bytes_left = MAX_PAYLOAD_BYTES

    def render(self, value: Any) -> Any:
        if isinstance(value, _LoneMacro):
            self._text(value.macro)
            return self._values.get(value.macro)
        if isinstance(value, str):
            return self._render_text(value)
        if isinstance(value, dict):
            return {name: self.render(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.render(inner) for inner in value]
        return value

    def _render_text(self, text: str) -> str:
        parts = split_at_macros(text)
        parts[1::2] = map(self._text, parts[1::2])
        return "".join(parts)

    def _text(self, macro: str) -> str:
        text = self._texts.get(macro)
        if text is None:
            text = self._texts[macro] = as_text(self._values.get(macro))
        self._bytes_left -= len(text)
        if self._bytes_left < 0:
            raise Unfillable(_TOO_LONG)
        return text


@lru_cache(maxsize=CACHED_TEMPLATES)
def _prepared(template: str) -> Any:
    """Parse a template, and mark the texts that are just one macro."""
    return _with_macros(_parsed(template))


def _with_macros(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_macros(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_macros(inner) for inner in value]
    macro = MACRO.fullmatch(value) if isinstance(value, str) else None
    return _LoneMacro(macro[1]) if macro and is_known(macro[1]) else value


def _parsed(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object whose numbers keep their digits."""
    fields: dict[str, Any] = json.loads(text, parse_float=Decimal)
    return fields
