"""Payload templates: JSON whose texts may have macros in braces. Names are never macros. Pure.

A template is stored as JSON text: no name becomes a field of a document, numbers stay exact.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tracker.errors import BadRequest
from tracker.webhooks.limits import MAX_TEMPLATE_BYTES, MAX_TEMPLATE_DEPTH
from tracker.webhooks.macros import MACROS, check_macros

DEFAULT: Final[Mapping[str, str]] = {name: f"{{{name}}}" for name in MACROS}
"""For a webhook created without a template."""

FIELD: Final = "payload_template"

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def check_template(template: Mapping[str, Any]) -> None:
    """Raises BadRequest if a template is too long or too deep, or has an unknown macro."""
    texts = list(_texts(template, 1))
    if len(_ENCODER.encode(template)) > MAX_TEMPLATE_BYTES:
        raise BadRequest(f"{FIELD}: at most {MAX_TEMPLATE_BYTES} bytes")
    check_macros(FIELD, texts)


def _texts(value: Any, level: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        if level > MAX_TEMPLATE_DEPTH:
            raise BadRequest(f"{FIELD}: at most {MAX_TEMPLATE_DEPTH} levels deep")
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item, level + 1)
