"""The base of all handlers: JSON, one shape of errors, the request id, the log record."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, ClassVar, Final, NamedTuple, TypeVar
from uuid import uuid4

import orjson
import structlog
from pymongo.errors import ConnectionFailure, OperationFailure
from tornado.web import HTTPError, RequestHandler, stream_request_body

from tracker.access.idempotency import HEADER, REPLAYED, Once, parse_key
from tracker.errors import ErrorCode, MethodNotAllowed, NotFound, TooSlow, TrackerError, Unavailable
from tracker.stores.mongodb.drivers import MONGODB_TIMEOUT_SECONDS
from tracker.stores.mongodb.time_limit import is_time_limit
from tracker.stores.mongodb.transaction import is_conflict
from tracker.web.incoming_body import IncomingBody, TakePiece
from tracker.web.limits import MAX_IGNORED_BODY_BYTES, MAX_REQUEST_ID_CHARACTERS
from tracker.web.services import WebProcess, WebServices

log = structlog.get_logger(__name__)

SANE_REQUEST_ID = re.compile(rf"[A-Za-z0-9._:-]{{1,{MAX_REQUEST_ID_CHARACTERS}}}")

JSON = "application/json; charset=utf-8"

_CLIENT_CLOSED_REQUEST: Final = 499
"""nginx's status for a client that disconnects before the answer, for metrics and logs."""

Result = TypeVar("Result")


class Content(NamedTuple):
    """A body and its media type."""

    media_type: str
    body: bytes


def json_error(error: TrackerError) -> Content:
    return Content(JSON, orjson.dumps({"error": error.message}))


@stream_request_body
class Handler(RequestHandler):
    """The base of all handlers. A raised TrackerError is the answer; any other error is a 500.

    The body is in `incoming` (`web/incoming_body`). Tornado never parses it, whatever its type.
    """

    body_bytes: ClassVar[int] = MAX_IGNORED_BODY_BYTES

    room = "web"

    def initialize(
        self,
        process: WebProcess,
        incoming: IncomingBody,
        route: str = "unknown",
        methods: tuple[str, ...] = (),
    ) -> None:
        """Take the path's entry in the endpoint table. Requests are counted under `route`."""
        self.process = process
        self.incoming = incoming
        self.route = route
        self.methods = methods
        self._work: asyncio.Future[Any] | None = None
        self._passed_on: Any = None
        self._is_disconnected = False
        # Set here, because Tornado may reject a request before `prepare`.
        sent = self.header("X-Request-Id")
        self.request_id = sent if SANE_REQUEST_ID.fullmatch(sent) else uuid4().hex
        self.set_header("X-Request-Id", self.request_id)

    # Read at each use, because a process may replace its services.
    @property
    def web(self) -> WebServices:
        return self.process.web

    @property
    def services(self) -> Any:
        return getattr(self.process, self.room)

    def prepare(self) -> None:
        structlog.contextvars.bind_contextvars(request_id=self.request_id)
        self.check_size()
        self.check_method()

    def check_size(self) -> None:
        self.incoming.allow(self.body_bytes)

    def check_method(self) -> None:
        if self.request.method not in self.methods:
            raise self.method_error()

    def method_error(self) -> TrackerError:
        return MethodNotAllowed(", ".join(self.methods))

    def body(self) -> bytes:
        """Return the body. Raises PayloadTooLarge, or Unavailable if memory was short."""
        return self.incoming.content()

    def header(self, name: str) -> str:
        """Return the value of a header; an empty string if it was not sent."""
        return self.request.headers.get(name, "")

    def client_address(self) -> str:
        forwarded_for = (self.header("X-Forwarded-For"),)
        return self.web.client_address.find(self.request.remote_ip or "", forwarded_for)

    def edge_country(self) -> str:
        """Return the client's country from the header of a trusted edge; empty without one."""
        name = self.web.country_header
        return self.header(name) if name else ""

    def idempotency_key(self) -> str | None:
        """Return the request's Idempotency-Key, if any. Raises BadRequest if it breaks the rule."""
        return parse_key(self.request.headers.get_list(HEADER))

    def hashed(self, take: TakePiece) -> TakePiece:
        """Return `take`, for a body that is not kept: it goes into the fingerprint as well."""
        self._passed_on = passed_on = sha256()

        def take_hashed(piece: bytes) -> Awaitable[None] | None:
            passed_on.update(piece)
            return take(piece)

        return take_hashed

    def fingerprint(self) -> bytes:
        """Return what a request and its repeats have in common: method, target and body."""
        body = self._passed_on or sha256(self.body())
        target = f"{self.request.method} {self.request.uri} ".encode("latin-1", "replace")
        return sha256(target + body.digest()).digest()

    async def answer_once(self, once: Once, work: Callable[[], Awaitable[object]]) -> None:
        """Do `work` and finish with the answer that it keeps, or with that of an earlier request.

        Raises as `FirstAnswers.once`.
        """
        if await self.web.answers.once(once, work):
            self.set_header(REPLAYED, "true")
        assert once.answer is not None
        self.finish_kept(once.answer)

    def finish_kept(self, answer: bytes) -> None:
        self.finish_with(Content(JSON, answer))

    def answer(self, value: Any, status: int = 200) -> None:
        self.set_status(status)
        self.finish_with(Content(JSON, orjson.dumps(value)))

    def answer_error(self, error: TrackerError) -> None:
        self.set_status(error.status)
        for name, value in error.all_headers.items():
            self.set_header(name, value)
        self.finish_error(error)

    def finish_error(self, error: TrackerError) -> None:
        """Finish with the body of `error`. Handlers that answer in other formats override it."""
        self.finish_with(json_error(error))

    def finish_with(self, content: Content) -> None:
        self.set_header("Content-Type", content.media_type)
        self.finish(content.body)

    async def while_connected(self, work: Awaitable[Result]) -> Result:
        """Return the result of `work`, which must only read. A disconnect cancels it.

        Raises HTTPError after that.
        """
        self._work = running = asyncio.ensure_future(work)
        try:
            return await running
        except asyncio.CancelledError:
            if self._is_disconnected:
                raise HTTPError(_CLIENT_CLOSED_REQUEST, reason="client closed request") from None
            raise

    def on_connection_close(self) -> None:
        super().on_connection_close()
        self._is_disconnected = True
        if self._work is not None:
            self._work.cancel()

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.clear_header("Content-Type")
        self.set_header("X-Content-Type-Options", "nosniff")
        if hasattr(self, "request_id"):
            self.set_header("X-Request-Id", self.request_id)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs["exc_info"][1] if "exc_info" in kwargs else None
        if status_code == 405:  # a method that Tornado does not know
            error = self.method_error()
        self.answer_error(as_tracker_error(error, status_code))

    def log_exception(self, kind: Any, error: Any, traceback: Any) -> None:
        """Log an unexpected error. An unavailable MongoDB and a time limit are warnings."""
        if is_time_limit(error) or isinstance(error, TooSlow):
            log.warning("a time limit was reached", route=self.route)
        elif isinstance(error, ConnectionFailure):
            log.warning("MongoDB is unavailable", error=type(error).__name__)
        elif isinstance(error, OperationFailure) and is_conflict(error):
            log.warning("too many changes at once", route=self.route)
        elif not isinstance(error, TrackerError | HTTPError):
            log.error("request failed", exc_info=(kind, error, traceback))

    def compute_etag(self) -> None:
        """Return None: hashing answers that always differ would be wasted."""


class UnknownPath(Handler):
    """The handler of paths that do not exist: every method is answered 404."""

    def method_error(self) -> TrackerError:
        return NotFound("no such path", code=ErrorCode.UNKNOWN_PATH)


def log_request(handler: Handler) -> None:
    """Count an answer, and write it to the access log if that is on."""
    method = handler.request.method or ""
    handler.web.access_log.record(
        method if method in handler.SUPPORTED_METHODS else "other",
        handler.route,
        handler.request.path,
        handler.get_status(),
        handler.request.request_time(),
        handler.request_id,
    )


class _Internal(TrackerError):
    """An error that reveals nothing; the log has the details under the request id."""


def as_tracker_error(error: BaseException | None, status: int = 500) -> TrackerError:
    if isinstance(error, TrackerError):
        return error
    if is_time_limit(error):
        seconds = int(MONGODB_TIMEOUT_SECONDS)
        return TooSlow(
            f"this took longer than {seconds} seconds; ask for less, or try again", seconds
        )
    if isinstance(error, ConnectionFailure):
        return Unavailable("storage is unavailable; try again")
    if isinstance(error, OperationFailure) and is_conflict(error):
        return Unavailable("too many changes at once; try again", {"Retry-After": "1"})
    if isinstance(error, HTTPError) and status != 500:
        message = error.reason or error.log_message or "bad request"
        answer = _Internal(message, code=ErrorCode.BAD_REQUEST)
        answer.status = status  # type: ignore[misc]
        return answer
    return _Internal("internal error")
