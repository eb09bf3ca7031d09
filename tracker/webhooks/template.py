"""Payload templates: JSON whose texts may hold macros in braces. Pure.

- A template is checked when it is written, so that a typo is an error then and not a hole in every
  payload.
- Names of fields are never macros.
- Braces around white space or quotes are no macros, because a text may itself be GraphQL or JSON.
  Only the names after `metadata.` and `query.` may have spaces.
- A template is kept as JSON text: its names never become fields of a document, its numbers stay
  exact.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from tracker.clicks.dimensions import DIMENSIONS
from tracker.errors import BadRequest
from tracker.webhooks.limits import MAX_TEMPLATE_BYTES, MAX_TEMPLATE_DEPTH

MACROS: Final[Mapping[str, str]] = {
    "event_id": "id of the conversion event",
    "click_id": "id of the click",
    "value": "value of the conversion",
    "payout": "what the conversion pays",
    "payout_type": "payout type of the event configuration",
    "conversion_timestamp": "when the conversion was received, ISO 8601 UTC",
    "click_timestamp": "when the click was recorded, ISO 8601 UTC",
    "event_name": "name of the event configuration",
    "pbk": "postback key",
    "transaction_id": "transaction id that was sent with the conversion",
    "account_id": "id of the account",
    "link_id": "id of the short link",
    "slug": "slug of the short link",
    "internal_name": "internal name of the short link",
    "domain_name": "domain of the short link",
    "destination_url": "destination of the short link",
    "tags": "names of the short link's tags",
    **{dimension.name: f"{dimension.title} of the click" for dimension in DIMENSIONS},
    "referrer": "referrer of the click",
    "metadata": "metadata of the conversion",
}
"""The meaning of each macro, by name."""

NAMED_MACROS: Final[Mapping[str, str]] = {
    "metadata.<key>": "one field of the conversion's metadata",
    "query.<name>": "one parameter of the click's query",
}
"""The meaning of each macro that the template names itself, by a pattern."""

ALL_MACROS: Final = {**MACROS, **NAMED_MACROS}
"""All macros, by name or pattern."""

_PREFIXES: Final = tuple(pattern.partition("<")[0] for pattern in NAMED_MACROS)

DEFAULT: Final[Mapping[str, str]] = {name: f"{{{name}}}" for name in MACROS}
"""The template of a webhook that is created without one."""

FIELD: Final = "payload_template"

# The group is the name of the macro; `is_known` says whether there is one.
MACRO: Final = re.compile(r"\{((?:metadata|query)\.[^{}]*|[^\W\d][^{}\s\"]*)\}")
_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def check_template(template: Mapping[str, Any]) -> None:
    """Check a template as it was sent.

    Raises BadRequest if it is too long, too deep, or has an unknown macro.
    """
    texts = list(_texts(template, 1))
    if len(_ENCODER.encode(template)) > MAX_TEMPLATE_BYTES:
        raise BadRequest(f"{FIELD}: at most {MAX_TEMPLATE_BYTES} bytes")
    used = {name for text in texts for name in MACRO.findall(text)}
    if unknown := sorted(name for name in used if not is_known(name))[:10]:
        known = _listed(list(ALL_MACROS))
        raise BadRequest(f"{FIELD}: unknown macro {_listed(unknown)}; known: {known}")


def template_text(template: Mapping[str, Any]) -> str:
    """Return a template as the JSON text that is stored."""
    return _ENCODER.encode(template).decode()


def is_known(name: str) -> bool:
    """Return whether `{name}` is replaced in a payload."""
    return name in MACROS or any(
        name.startswith(prefix) and len(name) > len(prefix) for prefix in _PREFIXES
    )


def _texts(value: Any, level: int) -> Iterator[str]:
    """Yield every text that may hold macros. Raises BadRequest if there are too many levels."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        if level > MAX_TEMPLATE_DEPTH:
            raise BadRequest(f"{FIELD}: at most {MAX_TEMPLATE_DEPTH} levels deep")
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item, level + 1)


def _listed(names: list[str]) -> str:
    return " ".join(f"{{{name[:64]}}}" for name in names)
