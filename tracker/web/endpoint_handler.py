"""The handlers of endpoints: their common base, and the handler of public endpoints."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any
from uuid import UUID

import msgspec

from tracker.access.session_cookie import SessionCookie
from tracker.ids import parse_event_id, parse_id
from tracker.stores.mongodb.time_limit import TimeLimits
from tracker.syntax.entity_tags import entity_tag
from tracker.web.call import ENCODER, AnswerWithHeaders, Nothing, PublicCall, RequestClient
from tracker.web.endpoint import EVENT_ID, TEXT_IDS, Endpoint, Public
from tracker.web.handler import JSON, Content, Handler
from tracker.web.incoming_body import IncomingBody
from tracker.web.limits import MAX_SIGN_IN_BYTES
from tracker.web.parameters import Parsed, parse_body, parse_query
from tracker.web.services import WebProcess


class EndpointHandler(Handler):
    """The base of the handlers of one path whose `endpoints` are functions, by method."""

    def initialize(  # type: ignore[override]
        self, process: WebProcess, incoming: IncomingBody, endpoints: Mapping[str, Endpoint]
    ) -> None:
        first = next(iter(endpoints.values()))
        answered = [(one, "HEAD") if one == "GET" else (one,) for one in endpoints]
        super().initialize(process, incoming, first.path, tuple(chain(*answered)))
        self.room = first.room
        self.endpoints = endpoints

    async def _run(self, *path: str) -> None:
        async with TimeLimits(self.web.mongodb.database):
            await self.run_endpoint(self.endpoint, path)

    get = head = post = put = patch = delete = _run

    @property
    def endpoint(self) -> Endpoint:
        method = self.request.method or ""
        return self.endpoints["GET" if method == "HEAD" else method]

    async def run_endpoint(self, endpoint: Endpoint, path: Sequence[str]) -> None:
        """Answer the request. Raises NotImplementedError: handlers override it."""
        raise NotImplementedError

    def client(self) -> RequestClient:
        return RequestClient(self.client_address(), self.header("User-Agent"), self.edge_country())

    def parsed_body(self, kind: type[msgspec.Struct]) -> Parsed[msgspec.Struct]:
        return Parsed(Nothing(), None) if kind is Nothing else parse_body(kind, self.body())

    async def result_of(self, endpoint: Endpoint, call: PublicCall[Any, Any, Any]) -> Any:
        """Return the endpoint's result. A disconnect cancels it if the endpoint only reads."""
        run = endpoint.run(call)
        return await (self.while_connected(run) if endpoint.ends_with_client else run)

    def finish_with_result(self, result: Any) -> None:
        if isinstance(result, AnswerWithHeaders):
            for name, value in result.headers.items():
                self.set_header(name, value)
            result = result.value
        if self.endpoint.versioned and hasattr(result, "revision"):
            self.set_header("ETag", entity_tag(result.revision))
        is_content = isinstance(result, Content)
        self.finish_with(result if is_content else Content(JSON, ENCODER.encode(result)))

    def check_etag_header(self) -> bool:
        """Return False: a tag is for `If-Match`; what is counted changes without it."""
        return False


class PublicHandler(EndpointHandler):
    """The handler of paths for people without a session: they sign in, join, or read a share.

    The checks, in order: size of the body (413), method (405), origin (403), type (400), address
    limit (429), parameters and body (400).
    """

    body_bytes = MAX_SIGN_IN_BYTES

    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Cache-Control", "no-store")

    async def prepare(self) -> None:  # type: ignore[override]
        super().prepare()
        cookie = SessionCookie(self.web.public_url)
        cookie.check_origin(self.request.headers)
        cookie.check_content_type(self.request.method or "", self.request.headers)
        await self.web.pacing.wait_turn()
        access = self.endpoint.access
        assert isinstance(access, Public)
        if not access.limits_itself:
            for usage in await self.web.rate_limiter.count(self.client_address(), None):
                usage.check()

    async def run_endpoint(self, endpoint: Endpoint, path: Sequence[str]) -> None:
        call = PublicCall(
            services=self.services,
            web=self.web,
            client=self.client(),
            query=parse_query(endpoint.query, self.request.query).value,
            body=self.parsed_body(endpoint.body).value,
        )
        self.finish_with_result(await self.result_of(endpoint, call))


def parsed_path(
    endpoint: Endpoint, path: Sequence[str]
) -> tuple[tuple[UUID, ...], tuple[int, ...]]:
    """Return the UUIDs in the path, and the ids of events. Raises BadRequest if one is invalid."""
    named = list(zip(endpoint.id_names, path, strict=True))
    ids = tuple(parse_id(name, text) for name, text in named if name not in (EVENT_ID, *TEXT_IDS))
    return ids, tuple(parse_event_id(name, text) for name, text in named if name == EVENT_ID)
