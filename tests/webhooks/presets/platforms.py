"""Ad platforms as their documentation says they answer, on loopback."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.webhooks.receiver import Behaviour, Handler
from tracker.clock import now_ms
from tracker.webhooks.delivery import Preset

BAD: Final = "bad"
"""The id of an event that every platform refuses, and the whole request with it."""

TOKEN: Final = "ya29.token"

Fields = Mapping[str, Any]
Answer = tuple[int, Fields]
"""Status and body."""


def _is_recent(event: Fields, name: str, days: int) -> bool:
    at: int = event[name]
    return 0 <= now_ms() / 1000 + 120 - at <= days * 86_400


def meta(fields: Fields, headers: Mapping[str, str]) -> Answer:
    if headers.get("authorization") != f"Bearer {TOKEN}":
        return 400, {"error": {"message": "Invalid OAuth access token", "code": 190}}
    for event in fields["data"]:
        person = event["user_data"]
        lists = [person[name] for name in ("em", "ph") if name in person]
        if (
            event["event_id"] == BAD
            or not _is_recent(event, "event_time", 7)
            or not all(isinstance(one, list) for one in lists)
        ):
            return 400, {"error": {"message": "Invalid parameter", "code": 100}}
    return 200, {"events_received": len(fields["data"]), "messages": [], "fbtrace_id": "A1"}


def tiktok(fields: Fields, headers: Mapping[str, str]) -> Answer:
    if headers.get("access-token") != TOKEN:
        return 200, {"code": 40105, "message": "Access token is incorrect", "data": {}}
    events = fields["data"]
    if len(events) > 50 or any(one["event_id"] == BAD for one in events):
        return 200, {"code": 40002, "message": "data.0.event_id: invalid", "data": {"code": 0}}
    return 200, {"code": 0, "message": "OK", "request_id": "2026", "data": {}}


def google(fields: Fields, headers: Mapping[str, str]) -> Answer:
    if headers.get("authorization") != f"Bearer {TOKEN}":
        return 401, {"error": {"code": 401, "status": "UNAUTHENTICATED"}}
    for event in fields["events"]:
        consents = event.get("consent", {}).values()
        known = {"CONSENT_GRANTED", "CONSENT_DENIED"}
        has_one_id = len(event.get("adIdentifiers", {})) <= 1
        if event["transactionId"] == BAD or not known.issuperset(consents) or not has_one_id:
            return 400, {"error": {"code": 400, "status": "INVALID_ARGUMENT"}}
    return 200, {"requestId": "126365e1-16d0-4c81-9de9-f362711e250a"}


def microsoft(fields: Fields, headers: Mapping[str, str]) -> Answer:
    if headers.get("authorization") != f"Bearer {TOKEN}":
        return 401, {"error": {"code": "Unauthorized"}}
    for number, event in enumerate(fields["data"]):
        if event["eventId"] == BAD or not _is_recent(event, "eventTime", 7):
            details = [{"index": number, "propertyName": "eventId", "errorMessage": "invalid"}]
            return 400, {"error": {"code": "ValidationError", "details": details}}
    return 200, {"eventsReceived": len(fields["data"])}


PLATFORMS: Final[Mapping[Preset, Callable[[Fields, Mapping[str, str]], Answer]]] = {
    Preset.META: meta,
    Preset.TIKTOK: tiktok,
    Preset.GOOGLE: google,
    Preset.MICROSOFT: microsoft,
}
_BEARER: Final = {"Authorization": f"Bearer {TOKEN}"}
HEADERS: Final = dict.fromkeys(PLATFORMS, _BEARER) | {Preset.TIKTOK: {"Access-Token": TOKEN}}
SETTINGS: Final = {
    Preset.META: {"pixel_id": "77", "event_name": "Purchase"},
    Preset.TIKTOK: {"pixel_id": "C4", "event_name": "Purchase"},
    Preset.GOOGLE: {"customer_id": "123", "conversion_action_id": "456"},
    Preset.MICROSOFT: {"tag_id": "55", "event_name": "buy"},
}


def platform(preset: Preset) -> Behaviour:
    """Return the behaviour of a platform, which takes no empty value anywhere."""

    async def behave(handler: Handler) -> None:
        fields = json.loads(handler.request.body)
        headers = {name.lower(): value for name, value in handler.request.headers.items()}
        code, body = PLATFORMS[preset](fields, headers)
        if any(one in (None, "", [], {}) for one in _values(fields)):
            code, body = 400, {"error": {"message": "empty value"}}
        handler.set_status(code)
        handler.finish(json.dumps(body))

    return behave


def _values(value: Any) -> Iterator[Any]:
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _values(one)
