"""Ad platforms: what each takes, how it says so, and what a webhook sends it. Pure.

What its documentation says is in `platforms/`, where `<name>` is a setting of the webhook. A
template has one event, and the sender puts those of several deliveries into one request. An empty
value drops its field, because platforms refuse empty ones.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from tracker.conversions.corrections.status import Status
from tracker.errors import BadRequest
from tracker.webhooks.delivery import Kind, Outcome, Preset
from tracker.webhooks.macros import ENCODER, TEMPLATE, Unfillable, parsed
from tracker.webhooks.schedule import NOT_TOLD, TOO_OLD


class Platform(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An ad platform.

    - `events` is the field of the list of events, `persons` those of an event that say whose it is.
    - `days`: how old a conversion may be.
    - `accepted` is found in an answer if the events were taken; its group is their number.
    - `test`: fields that make a request a test. Without them none can be made.
    - `has_consent`: it is told that a visitor said no; others are not told of the conversion.
    - `has_changes`: an event with the id of an earlier one corrects its value.
    """

    target: str
    settings: Sequence[str]
    events: str
    persons: Sequence[str]
    days: int
    accepted: str
    template: Mapping[str, Any]
    optional: Sequence[str] = ()
    test: Mapping[str, Any] = {}
    has_consent: bool = False
    has_changes: bool = False


PLATFORMS: Final[Mapping[Preset | None, Platform]] = {
    Preset(path.stem): msgspec.json.decode(path.read_bytes(), type=Platform)
    for path in sorted((Path(__file__).parent / "platforms").glob("*.json"))
}
AGE: Final = "conversion_timestamp_unix"
"""The macro whose value says how old an event is."""

MAX_EVENTS: Final = 50
"""Events of one request. TikTok takes no more, and those of others fill a payload then."""

_VALUE: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SETTING: Final = re.compile(r"<(\w+)(?:\|(\w+))?>")
_EMPTY: Final[Sequence[Any]] = (None, "", [], {})
_OF_NOBODY: Final = re.compile("ip|user_agent|client.*")
"""Fields that do not say whose an event is: address and program of a visitor."""


def expanded(preset: Preset | None, settings: Mapping[str, str]) -> dict[str, Any]:
    """Return `target_url` and `payload_template` of an ad platform; none if it is no such.

    Raises BadRequest with the setting and its rule.
    """
    platform = PLATFORMS.get(preset)
    if platform is None:
        if settings:
            raise BadRequest(f"settings: only with {' '.join(filter(None, PLATFORMS))}")
        return {}
    known = [*platform.settings, *platform.optional]
    for name, value in settings.items():
        if name not in known:
            raise BadRequest(f"settings.{name[:64]}: unknown field; known: {' '.join(known)}")
        if not _VALUE.fullmatch(value):
            raise BadRequest(f"settings.{name}: 1 to 64 letters, digits, _ and -")
    for name in platform.settings:
        if name not in settings:
            raise BadRequest(f"settings.{name}: required")
    return _with_settings({"target_url": platform.target, TEMPLATE: platform.template}, settings)


def check_platform(
    preset: Preset | None,
    method: str,
    template: Mapping[str, Any],
    events: Collection[Kind],
    statuses: Collection[Status],
) -> None:
    """Raises BadRequest if the ad platform would refuse or misread what is sent."""
    platform = PLATFORMS.get(preset)
    if platform is None:
        return
    number = 2 if platform.has_changes else 1
    named = statuses or (Status.APPROVED if Kind.CONVERSION_UPDATED not in events else "none",)
    for field, values, taken in (
        ("method", [method], ["POST"]),
        ("events", events, [Kind.CONVERSION, Kind.CONVERSION_UPDATED][:number]),
        ("filter.statuses", named, [Status.APPROVED, Status.REFUNDED][:number]),
    ):
        if not set(values) <= set(taken):
            raise BadRequest(f"{field}: {preset} takes {' and '.join(taken)}")
    match template.get(platform.events):
        case [dict()]:
            return
    raise BadRequest(f"{TEMPLATE}: {preset} needs {platform.events}, a list of one event")


def fitted_event(preset: Preset | None, payload: bytes, consent: str | None) -> str:
    """Return a payload without empty fields. Raises Unfillable if nothing is told."""
    platform = PLATFORMS[preset]
    if consent == "denied" and not platform.has_consent:
        raise Unfillable(f"consent is denied, and {preset} has no field for that", NOT_TOLD)
    fields = _whole(parsed(payload))
    [event, *_] = fields.get(platform.events) or [{}]
    if len(ids := event.get("adIdentifiers", {})) > 1:
        event["adIdentifiers"] = dict([*ids.items()][:1])  # Google takes one, the first
    persons = [event[name] for name in platform.persons if name in event]
    if all(_OF_NOBODY.fullmatch(name) for person in persons for name in person):
        raise Unfillable(f"neither an id of {preset}, nor email or phone", NOT_TOLD)
    return ENCODER.encode(fields).decode()


def as_test(preset: Preset | None, payload: str, settings: str) -> str:
    """Return a payload that its platform does not count. Raises Unfillable if there is none."""
    if (platform := PLATFORMS.get(preset)) is None:
        return payload
    fields = _with_settings(platform.test, parsed(settings))
    if not fields:
        raise Unfillable(f"preset: {preset} has no tests, and would count this one")
    if "" in fields.values():
        raise Unfillable(f"settings.{next(iter(fields))}: {preset} needs it for a test")
    return ENCODER.encode(parsed(payload) | fields).decode()


def check_age(preset: Preset | None, texts: Mapping[str, str], at: datetime) -> None:
    """Raises Unfillable if the platform takes no event of that time any more."""
    platform = PLATFORMS.get(preset)
    if platform and at.timestamp() - int(texts[AGE]) > platform.days * 86_400:
        raise Unfillable(f"too old for {preset}, which takes {platform.days} days", TOO_OLD)


def judged(preset: Preset | None, outcome: Outcome, events: int = 1) -> Outcome:
    """Return an outcome, as a failure if the answer does not say that all events were taken."""
    platform = PLATFORMS.get(preset)
    if platform is None or not outcome.delivered:
        return outcome
    found = re.search(platform.accepted, outcome.answer, re.DOTALL)
    if found and all(int(number) >= events for number in found.groups()):
        return outcome
    return msgspec.structs.replace(outcome, error=f"refused: {preset} has not taken it")


def _with_settings(fields: Mapping[str, Any], settings: Mapping[str, str]) -> dict[str, Any]:
    """Fill in settings, whose values need no escape in JSON."""

    def value(found: re.Match[str]) -> str:
        return settings.get(found[1]) or settings.get(found[2], "")

    return parsed(_SETTING.sub(value, json.dumps(fields)))


def _whole(value: Any) -> Any:
    """Return a value without the empty ones in it."""
    if isinstance(value, dict):
        made = {name: _whole(one) for name, one in value.items()}
        return {name: one for name, one in made.items() if one not in _EMPTY}
    if isinstance(value, list):
        return [one for one in map(_whole, value) if one not in _EMPTY]
    return value
