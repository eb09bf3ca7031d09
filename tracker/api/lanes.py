"""The hot requests, answered from raw bytes before any Tornado object is made.

GET and HEAD of `/c/<slug>` and `/api/click` if memory knows the link, and GET of `/api/event`. The
rules are those of the handlers in `api/click` and `api/event`, made by the same functions; the
answers are the same, byte for byte. What is not plain (`http/plain`), what memory does not know and
what ends in an error before anything is recorded is left to the handlers.
"""

import asyncio
from functools import partial
from http.client import responses
from time import perf_counter
from typing import Final, NamedTuple
from uuid import uuid4

import structlog

from tracker.api import click, event
from tracker.api.handler import SANE_REQUEST_ID, Content, as_tracker_error
from tracker.clicks.redirect import Answer, Visit
from tracker.conversions.parameters import from_text
from tracker.conversions.record import Recorded
from tracker.errors import TrackerError
from tracker.http.date import own_fields
from tracker.http.lane import LaneConnection
from tracker.http.plain import PlainHead, PlainHeads
from tracker.services import Services

log = structlog.get_logger(__name__)

_STARTS: Final = (
    b"GET /c/",
    b"GET /api/event?",
    b"GET /api/click?",
    b"HEAD /c/",
    b"HEAD /api/click?",
)

_NOSNIFF: Final = b"X-Content-Type-Options: nosniff\r\n"

Headers = tuple[tuple[str, str], ...]


class _Request(NamedTuple):
    """What an answer, its log line and its counter need of a request."""

    connection: LaneConnection
    head: PlainHead
    route: str
    request_id: str
    began: float


class Lanes:
    """Called by the HTTP protocol with what has arrived; see `http/lane`."""

    def __init__(self, services: Services) -> None:
        self._redirect = services.redirect
        self._recorder = services.recorder
        self._client_address = services.client_address
        self._country_header = services.settings.country_header.lower()
        self._heads = PlainHeads((self._country_header,))
        self._access_log = services.access_log

    def __call__(self, connection: LaneConnection, data: bytes | bytearray, start: int) -> int:
        """How many bytes were taken; 0: none, the request is for the handlers."""
        if not data.startswith(_STARTS, start):
            return 0
        head = self._heads.read(data, start)
        if head is None:
            return 0
        path = head.path
        if path.startswith("/c/"):
            taken = "%" not in path and self._click(connection, head, "/c/{slug}", path[3:])
        elif path == "/api/click":
            taken = self._click(connection, head, path, None)
        else:
            taken = path == "/api/event" and head.method == "GET" and self._event(connection, head)
        return head.end - start if taken else 0

    def _click(
        self, connection: LaneConnection, head: PlainHead, route: str, slug: str | None
    ) -> bool:
        try:
            answered = self._redirect.answer_at_once(self._visit(connection, head, slug))
        except TrackerError:
            return False
        if answered is None:
            return False
        answer, durable = answered
        request = self._begin(connection, head, route)
        if durable is None:
            self._answer_click(request, answer, None)
        else:
            durable.add_done_callback(partial(self._answer_click, request, answer))
        return True

    def _visit(self, connection: LaneConnection, head: PlainHead, slug: str | None) -> Visit:
        get = head.headers.get
        forwarded_for = get("x-forwarded-for")
        return Visit(
            method=head.method,
            slug=slug,
            query=head.query,
            host=head.headers["host"],
            address=self._client_address.of(
                connection.peer, [] if forwarded_for is None else [forwarded_for]
            ),
            user_agent=get("user-agent", ""),
            referrer=get("referer", ""),
            purpose=click.purpose_of(get),
            edge_country=get(self._country_header, "") if self._country_header else "",
        )

    def _answer_click(
        self, request: _Request, answer: Answer, durable: "asyncio.Future[int | None] | None"
    ) -> None:
        error = None if durable is None else durable.exception()
        if error is None:
            headers = (("X-Request-Id", request.request_id), *answer.headers)
            self._end(request, answer.status, headers, b"")
            return
        refused = self._refused(error)
        content = click.error_content(refused, request.head.headers.get("accept", ""))
        self._end_refused(request, refused, (), click.ERROR_HEADERS, content)

    def _event(self, connection: LaneConnection, head: PlainHead) -> bool:
        try:
            conversion = from_text(head.query.encode("latin-1"))
        except TrackerError:
            return False
        request = self._begin(connection, head, "/api/event")
        recording = asyncio.get_running_loop().create_task(self._recorder.record(conversion))
        recording.add_done_callback(partial(self._answer_event, request))
        return True

    def _answer_event(self, request: _Request, recording: "asyncio.Task[Recorded]") -> None:
        image = event.wants_image("GET", request.head.headers.get("accept", ""))
        error = recording.exception()
        if error is not None:
            refused = self._refused(error)
            content = event.error_content(refused, image)
            self._end_refused(request, refused, event.HEADERS, (), content)
            return
        recorded = recording.result()
        content = event.recorded_content(recorded, image)
        headers = (
            *event.HEADERS,
            ("X-Request-Id", request.request_id),
            ("X-Event-Id", str(recorded.event_id)),
            ("Content-Type", content.kind),
            ("Content-Length", str(len(content.body))),
        )
        self._end(request, 200, headers, content.body)

    def _begin(self, connection: LaneConnection, head: PlainHead, route: str) -> _Request:
        sent = head.headers.get("x-request-id", "")
        request_id = sent if sent and SANE_REQUEST_ID.fullmatch(sent) else uuid4().hex
        return _Request(connection, head, route, request_id, perf_counter())

    def _refused(self, error: BaseException) -> TrackerError:
        if not isinstance(error, TrackerError):
            log.error("request failed", exc_info=error)
        return as_tracker_error(error)

    def _end_refused(
        self,
        request: _Request,
        error: TrackerError,
        of_all: Headers,
        of_errors: Headers,
        content: Content,
    ) -> None:
        headers = (
            ("X-Request-Id", request.request_id),
            *of_all,
            *error.headers.items(),
            *of_errors,
            ("Content-Type", content.kind),
            ("Content-Length", str(len(content.body))),
        )
        self._end(request, error.status, headers, content.body)

    def _end(self, request: _Request, status: int, headers: Headers, body: bytes) -> None:
        request.connection.answer(rendered(status, headers, body), True)
        self._access_log.record(
            request.head.method,
            request.route,
            request.head.path,
            status,
            perf_counter() - request.began,
            request.request_id,
        )


def rendered(status: int, headers: Headers, body: bytes) -> bytes:
    """A whole answer, as the handlers' are."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    start = f"HTTP/1.1 {status} {responses[status]}\r\n".encode()
    return b"%b%b%b%b\r\n%b" % (start, own_fields(), _NOSNIFF, lines.encode("latin-1"), body)
