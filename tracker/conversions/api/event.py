"""`/api/event`: conversions from pixels, browsers and servers."""

import contextlib
import re
from collections.abc import Sequence
from functools import partial

import orjson
from msgspec.structs import replace

from tracker.access.idempotency import HEADER, once_for
from tracker.conversions.api import event_schema
from tracker.conversions.event_ids import ReservedId
from tracker.conversions.postbacks.aliases import MAX_WARNINGS
from tracker.conversions.postbacks.fields import (
    Fields,
    fields_in_form,
    fields_in_json,
    fields_in_text,
    fields_of,
    merged,
)
from tracker.conversions.postbacks.parameters import (
    ConversionParameters,
    checked_parameters,
    parse_text,
)
from tracker.conversions.recorder import RecordedConversion
from tracker.errors import BadRequest, PayloadTooLarge, TrackerError
from tracker.syntax.accept import prefers
from tracker.syntax.form_data import FORM_DATA, text_fields
from tracker.web.endpoint import HandledEndpoint
from tracker.web.handler import JSON, Content, Handler, json_error
from tracker.web.limits import MAX_EVENT_BYTES, PREFLIGHT_CACHE_SECONDS
from tracker.web.openapi_parts import IDEMPOTENCY_KEY

# A transparent GIF89a of one pixel, the smallest image that every browser shows.
_PIXEL = Content(
    "image/gif",
    bytes.fromhex(
        "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
    ),
)

_ORIGIN = re.compile(r"null|[a-z][a-z0-9+.-]{0,31}://[A-Za-z0-9._:\[\]-]{1,255}", re.ASCII)
_OF_ANY_ORIGIN = (
    (
        "Access-Control-Expose-Headers",
        "X-Event-Id, X-Event-Duplicate, Idempotency-Replayed, X-Request-Id, X-Error-Code, "
        "X-Error-Reason, X-Error-Field, Retry-After",
    ),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    ("Cache-Control", "no-store"),
    ("Vary", "Origin"),
)
WITHOUT_ORIGIN = (("Access-Control-Allow-Origin", "*"), *_OF_ANY_ORIGIN)
"""The headers of each answer to a request without an origin."""

DUPLICATE_HEADER = ("X-Event-Duplicate", "true")
"""The header of a repeated transaction id: a pixel has no body to name it."""

_RETRY_SECONDS = 5
"""The Retry-After of a 503: stores come back in seconds."""

DELIVERY_HEADER = "webhook-id"
"""Only deliveries of webhooks have it. Recorded as conversions, they would be delivered again: one
conversion became 48,500 deliveries in 19 s."""
_KEY_IGNORED = f"{HEADER}: ignored without pbk; send a transaction_id"
_DELIVERY = f"{DELIVERY_HEADER}: a delivery of a webhook is not taken as a conversion"
# A template, because encoding JSON would cost more than the rest of the answer.
_RECORDED = b'{"success":true,"eventId":%d,"clickStatus":"%b","clickNamed":%b%b}'
_JSON = ("application/json", "text/plain", "")


class EventHandler(Handler):
    """The handler of `/api/event`, which records a conversion."""

    room = "conversions"

    body_bytes = MAX_EVENT_BYTES

    def set_default_headers(self) -> None:
        """Allow pages of any origin to read every answer."""
        super().set_default_headers()
        for name, value in headers_for(self.header("Origin")):
            self.set_header(name, value)

    def prepare(self) -> None:
        """Check the request. Raises BadRequest for a webhook's delivery."""
        super().prepare()
        if self.header(DELIVERY_HEADER):
            raise BadRequest(_DELIVERY)

    async def get(self) -> None:
        await self._record(parse_text(self.request.query.encode("latin-1")))

    async def post(self) -> None:
        query, body = fields_in_text(self.request.query.encode("latin-1")), self.body()
        fields = merged(query, self._parse(body)) if body else query
        parameters, key = checked_parameters(fields), self.idempotency_key()
        if key is None:
            await self._record(parameters)
        elif parameters.pbk is None:
            warnings = (_KEY_IGNORED, *parameters.warnings)[:MAX_WARNINGS]
            await self._record(replace(parameters, warnings=warnings))
        else:
            await self._record_once(parameters, parameters.pbk, key)

    async def _record_once(self, parameters: ConversionParameters, pbk: str, key: str) -> None:
        config = await self.services.event_configs.by_postback_key(pbk, self.client_address())
        if config is None:
            await self._record(parameters)  # raises NotFound
            return
        answers = self.web.answers
        once = once_for(config.account_id, config.id, key, self.fingerprint())

        async def record() -> None:
            reserved = ReservedId(once.event_id, partial(answers.reserve, once))
            recorded = await self.services.recorder.record(
                parameters, self.client_address(), reserved=reserved
            )
            await answers.keep(once, recorded_content(recorded, False).body)

        await self.answer_once(once, record)

    def finish_kept(self, answer: bytes) -> None:
        """Finish as `_record` does, with what is in the body."""
        kept = orjson.loads(answer)
        self._finish_recorded(kept["eventId"], kept.get("duplicate", False), Content(JSON, answer))

    def options(self) -> None:
        """Answer a CORS preflight: any origin may send a conversion."""
        self.set_header("Access-Control-Allow-Methods", ", ".join(self.methods))
        self.set_header("Access-Control-Allow-Headers", f"Content-Type, {HEADER}")
        self.set_header("Access-Control-Max-Age", str(PREFLIGHT_CACHE_SECONDS))
        self.set_header("Allow", ", ".join(self.methods))
        self.set_status(204)
        self.finish()

    def check_size(self) -> None:
        """Raises PayloadTooLarge if query or body is longer than MAX_EVENT_BYTES."""
        if len(self.request.query) > MAX_EVENT_BYTES:
            raise PayloadTooLarge(f"query: at most {MAX_EVENT_BYTES} bytes")
        super().check_size()

    def finish_error(self, error: TrackerError) -> None:
        """Finish with an image or JSON, and record the refusal for the account."""
        query, body = self.request.query.encode("latin-1"), b""
        with contextlib.suppress(TrackerError):  # the body may have been refused or dropped
            body = self.body()
        self.services.refusals.record(self.request.method or "", query, body, error)
        for name, value in retry_headers(error):
            self.set_header(name, value)
        self.finish_with(error_content(error, self._wants_image()))

    async def _record(self, parameters: ConversionParameters) -> None:
        recorded: RecordedConversion = await self.services.recorder.record(
            parameters, self.client_address()
        )
        content = recorded_content(recorded, self._wants_image())
        self._finish_recorded(recorded.event_id, recorded.is_duplicate, content)

    def _finish_recorded(self, event_id: int, is_duplicate: bool, content: Content) -> None:
        self.set_header("X-Event-Id", str(event_id))
        if is_duplicate:
            self.set_header(*DUPLICATE_HEADER)
        self.finish_with(content)

    def _parse(self, body: bytes) -> Fields:
        """Parse a form or JSON. JSON may be text/plain, which needs no preflight, or named a form.

        Raises BadRequest for a compressed body: what it grows to has no bound.
        """
        if self.header("Content-Encoding").strip().lower() not in ("", "identity"):
            raise BadRequest("Content-Encoding: not taken; send the body as it is")
        content_type = self.header("Content-Type").strip()
        kind = content_type.partition(";")[0].strip().lower()
        if kind == event_schema.FORM:
            return fields_in_form(body)
        if kind == FORM_DATA:
            return fields_of(text_fields(content_type, body))
        if kind in _JSON:
            return fields_in_json(body)
        raise BadRequest(
            f"Content-Type: must be application/json, text/plain, {event_schema.FORM} or "
            f"{FORM_DATA}"
        )

    def _wants_image(self) -> bool:
        return wants_image(self.request.method or "", self.header("Accept"))


def headers_for(origin: str) -> Sequence[tuple[str, str]]:
    """Return the CORS headers for an Origin, which is "" if it was not sent.

    Beacons have credentials, for which browsers accept no wildcard. Any origin is allowed, because
    cookies are ignored here.
    """
    if not _ORIGIN.fullmatch(origin):
        return WITHOUT_ORIGIN
    return (
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Allow-Credentials", "true"),
        *_OF_ANY_ORIGIN,
    )


def wants_image(method: str, accept: str) -> bool:
    """Return whether an <img> sent the request.

    Browsers then name image types first in Accept, but do not always rank them higher.
    """
    accept = accept.lstrip().lower()
    return method == "GET" and (
        accept.startswith("image/") or prefers(accept, "image/gif", "application/json")
    )


def recorded_content(recorded: RecordedConversion, image: bool) -> Content:
    if image:
        return _PIXEL
    status = b"found" if recorded.click_found else b"pending"
    named = b"true" if recorded.click_named else b"false"
    added = b',"duplicate":true' if recorded.is_duplicate else b""
    if recorded.is_updated:
        added = b',"updated":true'
    if recorded.warnings:
        added += b',"warnings":%b' % orjson.dumps(recorded.warnings)
    return Content(JSON, _RECORDED % (recorded.event_id, status, named, added))


def retry_headers(error: TrackerError) -> Sequence[tuple[str, str]]:
    """Return the Retry-After of a 503, unless the error has one."""
    if error.status != 503 or "Retry-After" in error.headers:
        return ()
    return (("Retry-After", str(_RETRY_SECONDS)),)


def error_content(error: TrackerError, image: bool) -> Content:
    if image:
        return _PIXEL
    return json_error(error)


_handled = partial(HandledEndpoint, path="/api/event", handler=EventHandler, tag="Conversions")

ENDPOINTS = (
    _handled(
        method="GET",
        operation_id="recordEventByPixel",
        summary="Record a conversion; the answer is a 1x1 GIF where `Accept` prefers an image",
        answers=event_schema.answers("image/gif"),
        parameters=event_schema.PARAMETERS,
    ),
    _handled(
        method="POST",
        operation_id="recordEvent",
        summary="Record a conversion",
        answers=event_schema.answers(),
        parameters=(IDEMPOTENCY_KEY,),
        body=event_schema.BODY,
    ),
    _handled(
        method="OPTIONS",
        operation_id="getEventOptions",
        summary="CORS preflight: the methods and headers that pages of any origin may send",
        answers=event_schema.preflight("GET, POST, OPTIONS"),
    ),
)
