"""The hot requests, answered from raw bytes before any Tornado object is made.

GET and HEAD of `/c/<slug>`, `/api/click` and paths of custom domains, and GET of `/api/event`. The
handlers' functions make the same answers, byte for byte. Requests that are not plain
(`http/fast_path`), bad events and deliveries of webhooks are left to the handlers.
"""

from collections.abc import Sequence
from functools import partial
from http.client import responses
from time import perf_counter
from typing import Any, Final

import msgspec
import structlog
from uuid_utils import uuid4

from tracker.clicks.api import click
from tracker.clicks.redirects.redirection import Answer, usual
from tracker.clicks.visit import ClientHeaders, Visit
from tracker.conversions.api import event
from tracker.conversions.postbacks.parameters import parse_text
from tracker.conversions.recorder import RecordedConversion
from tracker.errors import TrackerError
from tracker.http.default_headers import DefaultHeaders
from tracker.http.fast_path import FastPathConnection, PlainHead, PlainHeadParser
from tracker.ids import SLUG
from tracker.links.domain import ServedName
from tracker.public_url import EVERYWHERE
from tracker.service.services import Services
from tracker.web.handler import SANE_REQUEST_ID, Content, as_tracker_error

log = structlog.get_logger(__name__)

_STARTS: Final = (
    b"GET /c/",
    b"GET /api/event?",
    b"GET /api/click?",
    b"HEAD /c/",
    b"HEAD /api/click?",
)

_PATH_STARTS: Final = (b"GET /", b"HEAD /")
_LEFT_STARTS: Final = tuple(
    method + path.encode()[1:]
    for method in _PATH_STARTS
    for path in (*EVERYWHERE, "/api/", "/console")
)
"""Paths of the service on every host, and of most of its requests. The handlers see the host."""

Headers = Sequence[tuple[str, str]]


class _Header(msgspec.Struct, frozen=True, gc=False):
    """The header fields of a plain request. `request_id` is empty unless it may be used."""

    client: ClientHeaders
    forwarded_for: str
    accept: str
    request_id: str
    is_delivery: bool
    event_headers: Headers


class Unanswered(msgspec.Struct, gc=False):
    """A request until it is answered: the waiter for its answer (`stores/batch`)."""

    fast_path: "HotRequests"
    connection: FastPathConnection
    head: PlainHead[Any]
    route: str
    id: str
    began: float

    def __repr__(self) -> str:
        """Show nothing in logs that the visitor sent."""
        return f"<request {self.id}>"

    def done(self) -> bool:
        """Return False: a disconnected client's request is still logged."""
        return False


class _Request(Unanswered, gc=False):
    """A visitor's request."""

    def set_result(self, answer: Answer) -> None:
        """Redirect the visitor: the click is durable, or there is none."""
        self.fast_path.redirect(self, answer)

    def set_exception(self, error: BaseException) -> None:
        """Answer with an error: the click is not durable."""
        self.fast_path.refuse_click(self, error)


class _EventRequest(Unanswered, gc=False):
    """A sender's request."""

    def set_result(self, recorded: RecordedConversion) -> None:
        self.fast_path.answer_event(self, recorded)

    def set_exception(self, error: BaseException) -> None:
        self.fast_path.refuse_event(self, error)


_HEADERS: Final = (
    *("user-agent", "referer", "accept", "x-forwarded-for", "x-request-id", "origin", "cookie"),
    "accept-language",
    *(event.DELIVERY_HEADER, *click.PREFETCH_HEADERS),
)

_Head = PlainHead[_Header]


class HotRequests:
    """The answers to hot requests from the bytes received, as `http/fast_path` defines."""

    def __init__(self, services: Services) -> None:
        self._redirect = services.clicks.redirect
        self._paths = services.clicks.paths
        self._recorder = services.conversions.recorder
        self._refusals = services.conversions.refusals
        self.client_address = services.access.client_address
        country_header = services.settings.country_header.lower()
        names = (*_HEADERS, country_header) if country_header else _HEADERS
        self.names = names
        self.make_header = partial(_header, bool(country_header))
        self._heads = PlainHeadParser(names, self.make_header)
        self._access_log = services.web.access_log
        self._default_headers = DefaultHeaders(Strict_Transport_Security=services.settings.hsts)

    def __call__(self, connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        """Return whether the request was taken; if not, it is for the handlers."""
        is_usual = data.startswith(_STARTS, start)
        if not is_usual and not data.startswith(_PATH_STARTS, start):
            return self.post(connection, data, start, end)
        if not is_usual and data.startswith(_LEFT_STARTS, start):
            return False
        head = self._heads.read(data, start, end)
        if head is None:
            return False
        path = head.path
        if not is_usual:
            domain = self._paths.domain_in_memory(head.host)
            return domain is not None and self._click(
                connection, head, click.ANY_PATH, None, path[1:], domain
            )
        if path.startswith("/c/"):
            return "%" not in path and self._click(connection, head, "/c/{slug}", path[3:])
        if path == "/api/click":
            return self._click(connection, head, path, None)
        return path == "/api/event" and head.method == "GET" and self._event(connection, head)

    def post(self, connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        """Return whether a request with a body was taken (`service/hot_page_clicks`)."""
        return False

    def redirect(self, request: _Request, answer: Answer) -> None:
        """Answer a visitor whose click, if there is one, is durable."""
        if isinstance(answer, str):
            self.end(request, 302, _REDIRECTED % (request.id, answer), b"")
        else:
            head = head_of(answer.status, (("X-Request-Id", request.id), *answer.headers))
            self.end(request, answer.status, head, b"")

    def refuse_click(self, request: _Request, error: BaseException) -> None:
        refused = refused_by(request, error)
        content = click.error_content(refused, request.head.header.accept)
        headers = (*refused.all_headers.items(), *click.ERROR_HEADERS)
        self.finish(request, refused.status, headers, content)

    def _click(
        self,
        connection: FastPathConnection,
        head: _Head,
        route: str,
        slug: str | None,
        path: str | None = None,
        domain: ServedName | None = None,
    ) -> bool:
        header = head.header
        request = _Request(self, connection, head, route, id_of(header), perf_counter())
        address = self.client_address.find(connection.peer, (header.forwarded_for,))
        visit = Visit(head.method, head.host, slug, head.query, address, header.client, path)
        try:
            if domain is None:
                self._redirect.begin(visit, request)
            else:
                self._paths.begin(domain, visit, request)
        except TrackerError as error:
            if slug is not None and not SLUG.fullmatch(slug):
                return False  # a path of no link
            self.refuse_click(request, error)
        return True

    def _event(self, connection: FastPathConnection, head: _Head) -> bool:
        if head.header.is_delivery:
            return False
        try:
            conversion = parse_text(head.query.encode("latin-1"))
        except TrackerError:
            return False
        began = perf_counter()
        address = self.client_address.find(connection.peer, (head.header.forwarded_for,))
        request = _EventRequest(self, connection, head, "/api/event", id_of(head.header), began)
        self._recorder.begin(conversion, address, request)
        return True

    def answer_event(self, request: _EventRequest, recorded: RecordedConversion) -> None:
        content = event.recorded_content(recorded, _wants_image(request))
        length = len(content.body)
        headers = request.head.header.event_headers
        is_usual = headers is event.WITHOUT_ORIGIN and not recorded.is_duplicate
        template = _RECORDED if is_usual else _recorded(headers, recorded.is_duplicate)
        head = template % (request.id, recorded.event_id, content.media_type, length)
        self.end(request, 200, head, content.body)

    def refuse_event(self, request: _EventRequest, error: BaseException) -> None:
        refused = refused_by(request, error)
        query = request.head.query.encode("latin-1")
        self._refusals.record(request.head.method, query, b"", refused)
        content = event.error_content(refused, _wants_image(request))
        allowed = request.head.header.event_headers
        headers = (*allowed, *refused.all_headers.items(), *event.retry_headers(refused))
        self.finish(request, refused.status, headers, content)

    def finish(self, request: Unanswered, status: int, headers: Headers, content: Content) -> None:
        of_content = (
            ("Content-Type", content.media_type),
            ("Content-Length", str(len(content.body))),
        )
        head = head_of(status, (("X-Request-Id", request.id), *headers, *of_content))
        body = b"" if request.head.method == "HEAD" else content.body
        self.end(request, status, head, body)

    def end(self, request: Unanswered, status: int, answer_head: str, body: bytes) -> None:
        answer = b"%b%b\r\n%b" % (answer_head.encode("latin-1"), self._default_headers(), body)
        request.connection.answer(answer, True)
        self._access_log.record(
            request.head.method,
            request.route,
            request.head.path,
            status,
            perf_counter() - request.began,
            request.id,
        )


def _header(names_country: bool, values: Sequence[str]) -> _Header:
    """Build the header from the values of _HEADERS, and of the country's header if it is set."""
    user_agent, referrer, accept, forwarded_for, request_id, origin, cookies, languages, *others = (
        values
    )
    delivery, *others = others
    edge_country = others.pop() if names_country else ""
    purpose = click.purpose_of(others)
    return _Header(
        ClientHeaders.from_headers(user_agent, referrer, purpose, edge_country, cookies, languages),
        forwarded_for,
        accept,
        request_id if SANE_REQUEST_ID.fullmatch(request_id) else "",
        bool(delivery),
        event.headers_for(origin) if origin else event.WITHOUT_ORIGIN,
    )


def id_of(header: _Header) -> str:
    return header.request_id or uuid4().hex


def _wants_image(request: _EventRequest) -> bool:
    return event.wants_image("GET", request.head.header.accept)


def refused_by(request: Unanswered, error: BaseException) -> TrackerError:
    if not isinstance(error, TrackerError):
        log.error("request failed", exc_info=error, request_id=request.id)
    return as_tracker_error(error)


def head_of(status: int, headers: Headers) -> str:
    """Return the head of an answer like the handlers', without the fields that every answer has."""
    fields = (("X-Content-Type-Options", "nosniff"), *headers)
    lines = "".join([f"{name}: {value}\r\n" for name, value in fields])
    return f"HTTP/1.1 {status} {responses[status]}\r\n{lines}"


_REDIRECTED: Final = head_of(302, (("X-Request-Id", "%s"), *usual("%s").headers))
"""Filled in with request id and location."""


def _recorded(headers: Headers, is_duplicate: bool = False) -> str:
    """Return a head to fill in: request id, event id, media type and length of the body."""
    ids = (("X-Request-Id", "%s"), ("X-Event-Id", "%d"))
    added = (event.DUPLICATE_HEADER,) if is_duplicate else ()
    fields = (*headers, *ids, *added, ("Content-Type", "%s"), ("Content-Length", "%d"))
    return head_of(200, fields)


_RECORDED: Final = _recorded(event.WITHOUT_ORIGIN)
