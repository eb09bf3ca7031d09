"""`/api/event`: conversions from pixels, browsers and servers."""

from collections.abc import Mapping, Sequence

from tracker.api import event_schema
from tracker.api.endpoint import PublicEndpoint
from tracker.api.handler import JSON, Content, Handler, json_error
from tracker.api.limits import MAX_EVENT_BYTES, PREFLIGHT_CACHE_SECONDS
from tracker.api.openapi.parts import Described
from tracker.conversions.parameters import Conversion, from_json, from_text
from tracker.conversions.waiters import Recorded
from tracker.errors import BadRequest, PayloadTooLarge, TrackerError
from tracker.syntax.accept import prefers

# A transparent GIF89a of one pixel, the smallest image that every browser shows.
_PIXEL = Content(
    "image/gif",
    bytes.fromhex(
        "47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"
    ),
)

HEADERS = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "X-Event-Id, X-Request-Id, X-Error-Code, Retry-After"),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
    ("Cache-Control", "no-store"),
)
"""The headers of every answer."""

_RETRY_SECONDS = 5
"""The time after which a conversion that got 503 is sent again: stores come back in seconds."""

DELIVERY_HEADER = "webhook-id"
"""Requests with this header are deliveries of a webhook. A delivery to this service would become a
conversion, delivered in turn: measured, one conversion became 48,500 deliveries in 19 s."""
_DELIVERY = f"{DELIVERY_HEADER}: a delivery of a webhook is not taken as a conversion"
# A template, because encoding JSON would cost more than the rest of the answer.
_RECORDED = b'{"success":true,"eventId":%d,"clickStatus":"%b"}'
_JSON = ("application/json", "text/plain", "")


class EventHandler(Handler):
    """The handler of `/api/event`, which records a conversion."""

    body_bytes = MAX_EVENT_BYTES

    def set_default_headers(self) -> None:
        """Set the headers of every answer, so that pages of any origin may read it."""
        super().set_default_headers()
        for name, value in HEADERS:
            self.set_header(name, value)

    def prepare(self) -> None:
        """Check the request. Raises BadRequest for a webhook's delivery, else as Handler does."""
        super().prepare()
        if self.header(DELIVERY_HEADER):
            raise BadRequest(_DELIVERY)

    async def get(self) -> None:
        """Record the conversion in the query. Raises a TrackerError if it is rejected."""
        await self._record(from_text(self.request.query.encode("latin-1")))

    async def post(self) -> None:
        """Record the conversion in the body. Raises a TrackerError if it is rejected."""
        await self._record(self._parse_post())

    def options(self) -> None:
        """Answer a CORS preflight: any origin may send a conversion."""
        self.set_header("Access-Control-Allow-Methods", ", ".join(self.methods))
        self.set_header("Access-Control-Allow-Headers", "Content-Type")
        self.set_header("Access-Control-Max-Age", str(PREFLIGHT_CACHE_SECONDS))
        self.set_header("Allow", ", ".join(self.methods))
        self.set_status(204)
        self.finish()

    def check_size(self) -> None:
        """Check query and body. Raises PayloadTooLarge if either is longer than MAX_EVENT_BYTES."""
        if len(self.request.query) > MAX_EVENT_BYTES:
            raise PayloadTooLarge(f"query: at most {MAX_EVENT_BYTES} bytes")
        super().check_size()

    def finish_error(self, error: TrackerError) -> None:
        """Finish with the error, as an image or JSON."""
        for name, value in retry_headers(error):
            self.set_header(name, value)
        self.finish_with(error_content(error, self._wants_image()))

    async def _record(self, conversion: Conversion) -> None:
        recorded: Recorded = await self.services.recorder.record(conversion, self.client_address())
        self.set_header("X-Event-Id", str(recorded.event_id))
        self.finish_with(recorded_content(recorded, self._wants_image()))

    def _parse_post(self) -> Conversion:
        """Parse the body: a form, or JSON, also as text/plain, which needs no preflight.

        Raises BadRequest if it cannot be read.
        """
        body = self.body()
        if not body:
            return from_text(self.request.query.encode("latin-1"))
        kind = self.header("Content-Type").partition(";")[0].strip().lower()
        if kind == event_schema.FORM:
            return from_text(body)
        if kind in _JSON:
            return from_json(body)
        raise BadRequest(
            f"Content-Type: must be application/json, text/plain or {event_schema.FORM}"
        )

    def _wants_image(self) -> bool:
        return wants_image(self.request.method or "", self.header("Accept"))


def wants_image(method: str, accept: str) -> bool:
    """Return whether an <img> sent the request.

    Browsers then name image types first in Accept, but do not always rank them higher.
    """
    accept = accept.lstrip().lower()
    return method == "GET" and (
        accept.startswith("image/") or prefers(accept, "image/gif", "application/json")
    )


def recorded_content(recorded: Recorded, image: bool) -> Content:
    """Return the body of the answer to a recorded conversion."""
    if image:
        return _PIXEL
    event_id, click_found = recorded
    return Content(JSON, _RECORDED % (event_id, b"found" if click_found else b"pending"))


def retry_headers(error: TrackerError) -> Sequence[tuple[str, str]]:
    """Return the header that says when a 503 may be sent again, unless the error has one."""
    if error.status != 503 or "Retry-After" in error.headers:
        return ()
    return (("Retry-After", str(_RETRY_SECONDS)),)


def error_content(error: TrackerError, image: bool) -> Content:
    """Return the body of an error."""
    return _PIXEL if image else json_error(error)


def _row(
    method: str,
    operation_id: str,
    summary: str,
    answers: Mapping[int, Described],
    parameters: tuple[Described, ...] = (),
    body: Described | None = None,
) -> PublicEndpoint:
    return PublicEndpoint(
        method,
        "/api/event",
        EventHandler,
        operation_id,
        "Conversions",
        summary,
        answers,
        parameters,
        body,
    )


ENDPOINTS = (
    _row(
        "GET",
        "recordEventByPixel",
        "Record a conversion; the answer is a 1x1 GIF where `Accept` prefers an image",
        event_schema.answers("image/gif"),
        event_schema.PARAMETERS,
    ),
    _row(
        "POST",
        "recordEvent",
        "Record a conversion",
        event_schema.answers(),
        body=event_schema.BODY,
    ),
    _row(
        "OPTIONS",
        "recordEventOptions",
        "CORS preflight: what pages of any origin may send",
        event_schema.PREFLIGHT_ANSWERS,
    ),
)
