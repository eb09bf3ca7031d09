"""Payloads: rendered from a template and the values of its macros. Pure.

Guarantee: the payload has the structure of its template. A value is not searched for macros.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

from tracker.webhooks.limits import CACHED_TEMPLATES, MAX_PAYLOAD_BYTES
from tracker.webhooks.macros import ENCODER, Unfillable, as_text, parsed, split_at_macros
from tracker.webhooks.payloads.template import FIELD
from tracker.webhooks.payloads.values import MacroValues

_TOO_LONG: Final = f"{FIELD}: with its macros filled longer than {MAX_PAYLOAD_BYTES:,} bytes"


def render(template: str, values: MacroValues, escape: Callable[[str], str] = str) -> bytes:
    """Render a checked template (`template_text`) as JSON in UTF-8.

    A text of just one macro becomes its value with its type, or null. In a longer text null is
    empty, and other values are JSON. Texts are escaped. Raises Unfillable beyond MAX_PAYLOAD_BYTES.
    """
    payload = ENCODER.encode(_Renderer(values, escape).render(_prepared(template)))
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise Unfillable(_TOO_LONG)
    return payload


def as_query(payload: bytes) -> str:
    """Return a payload's fields in order as a query without "?"; null is empty."""
    fields = parsed(payload)
    return urlencode([(name, as_text(value)) for name, value in fields.items()])


class _Renderer:
    """Renders one payload. A macro is encoded once, and its length counts each time."""

    def __init__(self, values: MacroValues, escape: Callable[[str], str]) -> None:
        self._values = values
        self._escape = escape
        self._texts: dict[str, str] = {}
        self._bytes_left = MAX_PAYLOAD_BYTES

    def render(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return self._render_text(value)
        if isinstance(value, dict):
            return {name: self.render(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.render(inner) for inner in value]
        return value

    def _render_text(self, parts: Sequence[str]) -> Any:
        texts = [*parts]
        texts[1::2] = map(self._text, parts[1::2])
        if len(parts) != 3 or parts[0] or parts[2]:
            return "".join(texts)
        value = self._values.get(parts[1])
        return texts[1] if isinstance(value, str) else value

    def _text(self, macro: str) -> str:
        text = self._texts.get(macro)
        if text is None:
            text = self._texts[macro] = self._escape(as_text(self._values.get(macro)))
        self._bytes_left -= len(text)
        if self._bytes_left < 0:
            raise Unfillable(_TOO_LONG)
        return text


@lru_cache(maxsize=CACHED_TEMPLATES)
def _prepared(template: str) -> Any:
    """Parse a template, with each text split at its macros."""
    return _split(parsed(template))


def _split(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _split(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_split(inner) for inner in value]
    return tuple(split_at_macros(value)) if isinstance(value, str) else value
