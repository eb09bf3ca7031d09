"""Payload templates: JSON whose texts may have macros in braces; its names may not. Pure.

A template is stored as JSON text: no name becomes a field of a document, numbers stay exact.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracker.errors import BadRequest
from tracker.webhooks.limits import MAX_TEMPLATE_BYTES, MAX_TEMPLATE_DEPTH
from tracker.webhooks.macros import (
    ENCODER,
    MACRO,
    MACROS,
    OF_CLICKS,
    TEMPLATE,
    check_macros,
    is_known,
)

DEFAULT: Final[Mapping[str, str]] = {name: f"{{{name}}}" for name in MACROS}
"""For a webhook created without a template, unless it asks for nothing but clicks."""

DEFAULT_OF_CLICKS: Final[Mapping[str, str]] = {name: f"{{{name}}}" for name in OF_CLICKS}

FIELD: Final = TEMPLATE


def check_template(template: Mapping[str, Any]) -> None:
    """Raises BadRequest if a template is too long or too deep, or has an unknown macro."""
    texts = list(_texts(template, 1))
    if len(ENCODER.encode(template)) > MAX_TEMPLATE_BYTES:
        raise BadRequest(f"{FIELD}: at most {MAX_TEMPLATE_BYTES} bytes")
    check_macros(FIELD, texts)


def _texts(value: Any, level: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        if level > MAX_TEMPLATE_DEPTH:
            raise BadRequest(f"{FIELD}: at most {MAX_TEMPLATE_DEPTH} levels deep")
        if isinstance(value, Mapping):
            for name in value:
                _check_name(name)
            value = value.values()
        for item in value:
            yield from _texts(item, level + 1)


def _check_name(name: str) -> None:
    """Raises BadRequest for a name with a macro: it would be sent with its braces."""
    if any(map(is_known, MACRO.findall(name))):
        raise BadRequest(f"{FIELD}: macros only in values; a name has one: {name[:64]}")
