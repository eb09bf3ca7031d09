"""The handler of endpoints that need an API key, or the session of a person.

A key is sent as `Authorization: Bearer <key>`, a session as a cookie. The checks, in order: address
limit, key, account limit, size (413), parameters and body (400), access (403), existence (404). A
session has one limit instead of the two. Of a large body the scope is checked before it is received
and parsed.

A long body is received after the check of its size, as slowly as its client sends. So the key or
session is checked again after it: nobody acts with ended access.
"""

import asyncio
import re
from asyncio import Future
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, cast
from uuid import UUID

import msgspec
import structlog
from tornado.web import RequestHandler

from tracker.access.idempotency import Once, once_for
from tracker.access.open_answers import Access
from tracker.access.principal import Principal
from tracker.access.rate_limit import Usage
from tracker.access.session_cookie import SessionCookie
from tracker.access.sessions import Session, SignedIn
from tracker.errors import BadRequest, ErrorCode, Forbidden, Unauthorized
from tracker.http.exchange import Exchange
from tracker.web.call import Call, Nothing
from tracker.web.endpoint import TEXT_IDS, Endpoint, Upload
from tracker.web.endpoint_handler import EndpointHandler, parsed_path
from tracker.web.event_stream import EventStream, EventStreamAnswer
from tracker.web.export import FileFormat, check_export_request, requested_format
from tracker.web.export_stream import ExportStream
from tracker.web.incoming_body import IncomingBody
from tracker.web.limits import LARGE_BODY_BYTES, MAX_API_KEY_CHARACTERS
from tracker.web.parameters import Parsed, parse_query
from tracker.web.schema import trimmed
from tracker.web.services import WebProcess

_BEARER = re.compile(rf"(?i:bearer) +([\x21-\x7e]{{1,{MAX_API_KEY_CHARACTERS}}})")

_LIMITED: Final = "account: you see only links with some tags, so this is not for you"

_PARSING: Final = ThreadPoolExecutor(1, "bodies")
"""One thread: two would share the interpreter and delay the event loop twice."""


class ProtectedHandler(EndpointHandler):
    """The handler of one path whose `endpoints`, by method, need an API key."""

    def initialize(  # type: ignore[override]
        self, process: WebProcess, incoming: IncomingBody, endpoints: Mapping[str, Endpoint]
    ) -> None:
        super().initialize(process, incoming, endpoints)
        self.usages: list[Usage] = []
        self.signed_in: SignedIn | None = None
        self.cookie: SessionCookie | None = None
        self.varies: list[str] = []
        self.principal: Principal
        self.read_principal: Callable[[], Awaitable[object]]
        self.body_comes_late = False
        self.upload: Upload | None = None
        self.once: Once | None = None
        self.stream: ExportStream | EventStreamAnswer | None = None
        # Every request is counted, whatever is wrong with it: Tornado must not reject its method
        # first.
        self.SUPPORTED_METHODS = (*RequestHandler.SUPPORTED_METHODS, self.request.method or "")

    def decode_argument(self, value: bytes, name: str | None = None) -> str:
        """Return a part of the path as text. Anything but UTF-8 fails later, as an invalid id."""
        return value.decode(errors="replace").replace("\ufffd", "\0")

    async def prepare(self) -> None:  # type: ignore[override]
        del self.SUPPORTED_METHODS
        structlog.contextvars.bind_contextvars(request_id=self.request_id)
        await self.web.pacing.wait_turn()
        headers = self.request.headers
        if "Cookie" in headers and "Authorization" not in headers:
            self.cookie = SessionCookie(self.web.public_url)
        secret = self.cookie.read(headers) if self.cookie else None
        if self.cookie is None or secret is None:
            await self._prepare_key()
        else:
            await self._prepare_session(self.cookie, secret)
        self.incoming.allow(self.endpoint.body_bytes)
        if self.incoming.length > LARGE_BODY_BYTES and not callable(self.endpoint.access):
            self._check_scope(self.endpoint.scope_of(None))
        self.body_comes_late = not cast("Exchange", self.request.connection).body_received
        if self.endpoint.receive is not None:
            await self._receive(self.endpoint)

    async def _receive(self, endpoint: Endpoint) -> None:
        ids, _ = parsed_path(endpoint, self.path_args)
        self._check_account(parse_query(endpoint.query, self.request.query).account_id)
        self._check_scope(endpoint.scope_of(None))
        if endpoint.idempotent:
            self.idempotency_key()  # raises BadRequest
        assert endpoint.receive is not None
        self.upload = await endpoint.receive(self.services, self.principal, ids)
        write = self.upload.write
        await self.incoming.pass_on(self.hashed(write) if endpoint.idempotent else write)

    async def _prepare_session(self, cookie: SessionCookie, secret: str) -> None:
        headers, is_method = self.request.headers, self.request.method in self.methods
        # A request that cannot count for a session counts for its address, like one with a key.
        may_count = is_method and cookie.is_same_origin(headers)
        if not may_count or not self.web.sessions.peek(secret):
            await self._count(self.client_address(), None)
            self._check_limit("ip")
        self.check_method()
        cookie.check_origin(headers)
        self.read_principal = partial(self._read_session, secret)
        session = await self._read_session(secret)
        self.usages = await self.web.rate_limiter.count_person(
            session.person_id, session.account_id
        )
        self._check_limit("session")
        is_file = self.endpoint.receive is not None
        cookie.check_content_type(self.request.method or "", headers, is_file)

    async def _prepare_key(self) -> None:
        # With a wrong method the key is not looked up.
        is_method = self.request.method in self.methods
        bearer = _BEARER.fullmatch(self.header("Authorization")) if is_method else None
        secret = bearer and bearer[1]
        known = self.web.api_keys.peek_account(secret) if secret else None
        await self._count(self.client_address(), known)
        self._check_limit("ip")
        self.check_method()
        if not secret:
            raise Unauthorized("API key: send it as Authorization: Bearer <API_KEY>")
        self.read_principal = partial(self._read_key, secret)
        await self._read_key(secret)
        if known is None:
            await self._count(None, self.principal.account_id)
        self._check_limit("account")

    async def _read_session(self, secret: str) -> Session:
        self.signed_in = await self.web.sessions.authenticate(secret)
        self.principal = self.signed_in.principal
        return self.signed_in.session

    async def _read_key(self, secret: str) -> None:
        self.principal = (await self.web.api_keys.authenticate(secret)).principal

    async def run_endpoint(self, endpoint: Endpoint, path: Sequence[str]) -> None:
        if self.body_comes_late:
            await self.read_principal()
        if self.upload is not None:
            if self.incoming.exceeded:
                self.upload.abandon()
            self.incoming.content()  # raises PayloadTooLarge
        key = self.idempotency_key() if endpoint.idempotent else None
        if key is None:
            await self._run_parsed(endpoint, path)
            return
        self._check_scope(endpoint.scope_of(None))
        caller, limit = self.principal.actor.queue_key, self.principal.tags
        fingerprint = self.fingerprint() + repr(limit and sorted(limit)).encode()
        self.once = once_for(self.principal.account_id, caller, key, fingerprint)
        run = partial(self._run_parsed, endpoint, path)
        try:
            await self.answer_once(self.once, run)
        finally:
            if self.upload is not None:
                self.upload.abandon()  # unless a job has it

    async def _run_parsed(self, endpoint: Endpoint, path: Sequence[str]) -> None:
        ids, event_ids = parsed_path(endpoint, path)
        query = parse_query(endpoint.query, self.request.query)
        body = await self._parsed_body(endpoint.body)
        named = zip(endpoint.id_names, path, strict=True)
        file_format = self._format(endpoint, query if endpoint.body is Nothing else body)
        if endpoint.check is not None:
            await endpoint.check(self.services, body.value)
        scope = endpoint.scope_of(body.value)
        if scope is not None:
            self._check_account(query.account_id, body.account_id)
        self._check_scope(scope)
        call = Call(
            services=self.services,
            web=self.web,
            client=self.client(),
            query=query.value,
            body=body.value,
            principal=self.principal,
            sent=body.sent,
            external_ids=tuple(trimmed(*one) for one in named if one[0] in TEXT_IDS),
            signed_in=self.signed_in.session if self.signed_in else None,
            ids=ids,
            event_ids=event_ids,
            upload=self.upload,
            if_match=self.request.headers.get("If-Match"),
            once=self.once,
        )
        if endpoint.export is not None and file_format is not None:
            await self._send(ExportStream(self, endpoint.export, file_format, call), scope)
            return
        if isinstance(result := await self.result_of(endpoint, call), EventStream):
            await self._send(EventStreamAnswer(self, result), scope)
        elif self.once is None:
            self.finish_with_result(result)

    async def _parsed_body(self, kind: type[msgspec.Struct]) -> Parsed[msgspec.Struct]:
        if self.incoming.length <= LARGE_BODY_BYTES:
            return self.parsed_body(kind)
        loop = asyncio.get_running_loop()
        async with self.web.large_bodies.permit(self.principal.account_id):
            return await loop.run_in_executor(_PARSING, self.parsed_body, kind)

    def _check_scope(self, scope: str | None) -> None:
        """Raise Forbidden if the principal lacks the scope, or if a person is needed instead.

        The one check of limits: whoever is limited to tags reaches only endpoints that respect it.
        """
        if scope is not None:
            if self.principal.tags is not None and not self.endpoint.limited:
                raise Forbidden(_LIMITED, code=ErrorCode.LIMITED)
            self.principal.require(scope)
        elif self.signed_in is None:
            raise Forbidden("session: this endpoint is for people who are signed in")

    def _format(self, endpoint: Endpoint, request: Parsed[Any]) -> FileFormat | None:
        """Return the export's format; None for JSON. Raises BadRequest if a field fits neither."""
        if endpoint.export is None:
            return None
        self.varies = ["Accept"]
        file_format = requested_format(request.value.format, self.header("Accept"))
        if endpoint.is_file and file_format is None:
            if request.value.format == "json":
                raise BadRequest("format: must be csv or ndjson")
            file_format = "csv"
        if file_format is not None:
            check_export_request(endpoint.export, file_format, request.value, request.sent)
        return file_format

    async def _send(self, stream: ExportStream | EventStreamAnswer, scope: str | None) -> None:
        self.stream = stream
        self._set_common_headers()
        with self.web.open_answers.open(self._access(scope), stream.on_access_ended):
            await stream.send()

    def _access(self, scope: str | None) -> Access:
        session = self.signed_in and self.signed_in.session
        opener = session.id if session else self.principal.actor.id
        assert opener is not None  # only the operator has none, who sends no requests
        return Access(opener, self.principal.account_id, scope, is_key=session is None)

    def on_connection_close(self) -> None:
        super().on_connection_close()
        if self.upload is not None:
            self.upload.abandon()
        if self.stream is not None:
            self.stream.on_disconnect()

    def _check_account(self, *named: UUID | None) -> None:
        if any(account_id not in (None, self.principal.account_id) for account_id in named):
            subject = "this API key" if self.signed_in is None else "this session"
            raise Forbidden(f"accountId: {subject} has no access to the account")

    async def _count(self, address: str | None, account_id: UUID | None) -> None:
        self.usages += await self.web.rate_limiter.count(address, account_id)

    def _check_limit(self, scope: str) -> None:
        for usage in self.usages:
            if usage.scope.name == scope:
                usage.check()

    def finish(self, chunk: str | bytes | dict[str, Any] | None = None) -> Future[None]:
        """Finish with the rate limit headers, set here because an error clears earlier ones."""
        self._set_common_headers()
        return super().finish(chunk)

    def _set_common_headers(self) -> None:
        varies = self.varies
        if self.usages:
            self._show_limits(self.usages)
        if self.cookie is not None:
            self.set_header("Cache-Control", "no-store")
            varies = ["Authorization", "Cookie", *varies]
        if varies:
            self.set_header("Vary", ", ".join(varies))

    def _show_limits(self, usages: Sequence[Usage]) -> None:
        """Set the X-RateLimit headers for the tighter limit, and the IETF draft's for all."""
        tighter = min(usages, key=lambda usage: (usage.remaining, -usage.reset_ms))
        policies = [
            f'"{scope.name}";q={scope.limit};w={scope.window_seconds}' for scope, *_ in usages
        ]
        left = [f'"{u.scope.name}";r={u.remaining};t={u.seconds_left}' for u in usages]
        self.set_header("X-RateLimit-Limit", str(tighter.scope.limit))
        self.set_header("X-RateLimit-Remaining", str(tighter.remaining))
        self.set_header("X-RateLimit-Reset", str(-(-tighter.reset_ms // 1000)))
        self.set_header("RateLimit-Policy", ", ".join(policies))
        self.set_header("RateLimit", ", ".join(left))
