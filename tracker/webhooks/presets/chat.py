"""Chat services: a text in the form of each, which reads no mention or markup in it. Pure.

The webhook's template says how it is told of conversions. Messages take the place of its text.
"""

import html
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from tracker.errors import BadRequest
from tracker.webhooks.delivery import Preset
from tracker.webhooks.macros import ENCODER, MACRO, TEMPLATE

LONGEST: Final = 2_000
"""Characters of a text. Discord takes no more; Telegram takes 4,096, of which an emoji is two."""

_MARKDOWN: Final = re.compile(r"([\\*_~`|<>#@\-\[\]()])")


class _Service(NamedTuple):
    needs: tuple[str, ...]
    """The first is the field of the text."""
    defaults: Mapping[str, Any]
    escape: Callable[[str], str]


_SERVICES: Final[Mapping[Preset | None, _Service]] = {
    Preset.SLACK: _Service(
        ("text",), {"mrkdwn": False}, lambda text: html.escape(text, quote=False)
    ),
    Preset.DISCORD: _Service(
        ("content",),
        {"allowed_mentions": {"parse": []}},
        lambda text: _MARKDOWN.sub(r"\\\1", text),
    ),
    # Without `parse_mode` a text has no markup, but @name still is a mention.
    Preset.TELEGRAM: _Service(
        ("text", "chat_id"),
        {"link_preview_options": {"is_disabled": True}},
        lambda text: text.replace("@", "@\u2060"),
    ),
}


def escape_of(preset: Preset | None) -> Callable[[str], str]:
    return _SERVICES[preset].escape if preset in _SERVICES else str


def check_preset(preset: Preset | None, template: Mapping[str, Any] | None) -> None:
    """Raises BadRequest if the service would refuse or misread what the template makes."""
    if preset not in _SERVICES:
        return
    for name in _SERVICES[preset].needs:
        if name not in (template or {}):
            raise BadRequest(f"{TEMPLATE}: {preset} needs {name}")
    if template and "parse_mode" in template:
        raise BadRequest(f"{TEMPLATE}: no parse_mode, because values are sent as plain text")


def fitted(preset: Preset | None, payload: str) -> str:
    """Return a payload with the fields that its service needs, and a text that it takes."""
    if preset not in _SERVICES:
        return payload
    service = _SERVICES[preset]
    fields = {**service.defaults, **msgspec.json.decode(payload)}
    text = str(fields.get(service.needs[0]))
    if len(text) > LONGEST:
        fields[service.needs[0]] = text[: LONGEST - 1] + "…"
    return ENCODER.encode(fields).decode()


def as_chat(preset: Preset | None, template: str, payload: str) -> str:
    """Return a message in the form of the service. One that has it already stays as it is."""
    message = msgspec.json.decode(payload)
    if preset not in _SERVICES or "timestamp" not in message or "data" not in message:
        return payload
    own = {
        name: value
        for name, value in msgspec.json.decode(template).items()
        if isinstance(value, str | int) and not MACRO.search(str(value))
    }
    service = _SERVICES[preset]
    # Processes of an earlier release store messages without a text.
    words = message["data"].get("text", message["type"])
    text = {service.needs[0]: service.escape(words)}
    return fitted(preset, ENCODER.encode(own | text).decode())
