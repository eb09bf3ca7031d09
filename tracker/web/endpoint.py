"""The rows of the endpoint table, which routes requests and makes the OpenAPI document."""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import UnionType
from typing import (
    Any,
    Final,
    NamedTuple,
    Protocol,
    TypedDict,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
)
from uuid import UUID

import msgspec

from tracker.access.principal import Principal
from tracker.web.call import AnswerWithHeaders, Call, Nothing
from tracker.web.export import MEDIA_TYPES, Export
from tracker.web.handler import Handler
from tracker.web.limits import MAX_BODY_BYTES, MAX_IGNORED_BODY_BYTES, MAX_UPLOAD_BYTES
from tracker.web.openapi_parts import BINARY, TEXT, OpenApiPart

EVENT_ID: Final = "event_id"
EXTERNAL_ID: Final = "external_id"
TRANSACTION_ID: Final = "transaction_id"
TEXT_IDS: Final = (EXTERNAL_ID, TRANSACTION_ID)
"""The path parameters for the id of an event, and for ids that clients chose. Others are UUIDs."""

_PARAMETER = re.compile(r"\{(\w+)\}")
_VERB = re.compile(r"^[a-z]+")


class MediaType(msgspec.Struct, frozen=True):
    """The media type of answers that are not JSON. `schema` describes one event of a stream."""

    name: str
    schema: OpenApiPart = msgspec.field(default_factory=lambda: BINARY)


Errors = Mapping[int, tuple[str, str]]
"""The meaning and an example message of errors, by status."""


class Personal(msgspec.Struct, frozen=True):
    """The access of a person who is signed in, whatever their role."""


class Public(msgspec.Struct, frozen=True):
    """The access of everybody, from a page of the console. `errors` are the unusual ones.

    With `limits_itself` the endpoint limits its requests, instead of the limit for each address.
    """

    errors: Errors
    limits_itself: bool = False


ScopelessAccess = Personal | Public
"""The access of requests that need no scope."""

RequiredAccess = str | Callable[[Any], str] | ScopelessAccess
"""The scope that a request needs, or its access without one.

If the body decides, it is a function of the body whose docstring names the scopes.
"""

Check = Callable[[Any, Any], Awaitable[None]]
"""A check of a body, with the services of the endpoint's room."""


class Upload(Protocol):
    """What takes a body that is too long for the memory."""

    def write(self, piece: bytes) -> Awaitable[None] | None:
        """Take the next piece. Raises nothing: the endpoint finds out what went wrong."""

    def abandon(self) -> None:
        """Forget what was taken: the rest is too long, or does not come."""


Receive = Callable[[Any, Principal, Sequence[UUID]], Awaitable[Upload]]
"""Makes an upload from the room's services, who sends it, and the ids in the path."""
Run = TypeVar("Run", bound=Callable[[Any], Awaitable[Any]])
"""The function of a public endpoint takes a PublicCall, any other a Call."""


class Endpoint(NamedTuple):
    """A method and path that a function answers. `Endpoints` makes it.

    - `path` has the names of ids in braces. They are UUIDs, except the two above.
    - `answer` has the possible types of the answer, or is the media type of `Content` or a stream.
    - `example` is a valid body; the account is added to it.
    - `check` raises BadRequest if a body breaks a rule that needs the services.
    - `export` has all rows of a list as CSV or NDJSON. Then query or body has the field `format`.
    - `operation_id` and `tag` replace the ones that OpenAPI gets from path and method.
    - `ends_with_client` cancels a slow endpoint, which only reads, if the client disconnects.
    - `body_bytes` is the limit of the body.
    - `is_file`: the answer is the export alone.
    - `receive` makes what takes a body of any type, up to `body_bytes`, in pieces.
    - `limited`: it respects the limit of members to tags, who get 403 from all others.
    - `versioned`: the answer's `revision` is its `ETag`, and changes respect `If-Match`.
    - `idempotent`: it keeps its answer (`Call.keep`) for repeats with the same `Idempotency-Key`.
    """

    room: str
    method: str
    path: str
    access: RequiredAccess
    run: Callable[[Any], Awaitable[Any]]
    summary: str
    query: type[msgspec.Struct]
    body: type[msgspec.Struct]
    answer: tuple[Any, ...] | MediaType
    example: dict[str, Any] | None
    check: Check | None
    export: Export | None
    operation_id: str | None
    tag: str | None
    body_bytes: int
    ends_with_client: bool = False
    is_file: bool = False
    receive: Receive | None = None
    limited: bool = False
    versioned: bool = False
    idempotent: bool = False

    def as_file(self, export: Export) -> "Endpoint":
        """Return the endpoint that answers this one's `export`, whatever `Accept` says."""
        example = self.example and {
            name: value for name, value in self.example.items() if name not in export.without
        }
        return self._replace(
            path=f"{self.path}/export",
            summary=export.summary,
            answer=MediaType(MEDIA_TYPES["csv"], TEXT),
            body=export.body or self.body,
            example=example,
            operation_id=self.operation_id and _VERB.sub("export", self.operation_id),
            is_file=True,
        )

    def scope_of(self, body: Any) -> str | None:
        """Return the scope that a request with this parsed body needs; None if it needs none."""
        if isinstance(self.access, ScopelessAccess):
            return None
        return self.access if isinstance(self.access, str) else self.access(body)

    @property
    def pattern(self) -> str:
        """Return the path as Tornado matches it, with a group for each id."""
        return _PARAMETER.sub("([^/]+)", self.path.replace(".", r"\."))

    @property
    def id_names(self) -> list[str]:
        return _PARAMETER.findall(self.path)


class _Traits(TypedDict, total=False):
    """Whether an endpoint is so, as in its row."""

    ends_with_client: bool
    limited: bool
    versioned: bool
    idempotent: bool


class Endpoints:
    """The endpoints of a module of `room`, a decorator for their functions.

    A function's annotations are the types of query, body and answer. The first paragraph of its
    docstring is the summary. An export adds an endpoint that answers it alone.
    """

    def __init__(self, room: str, tag: str | None = None) -> None:
        self._row = partial(Endpoint, room=room, tag=tag)
        self.rows: list[Endpoint] = []

    def __call__(
        self,
        method: str,
        path: str,
        access: RequiredAccess,
        *,
        summary: str = "",
        answer: MediaType | None = None,
        example: dict[str, Any] | None = None,
        check: Check | None = None,
        export: Export | None = None,
        operation_id: str | None = None,
        body_bytes: int = MAX_BODY_BYTES,
        **traits: Unpack[_Traits],
    ) -> Callable[[Run], Run]:
        def add(run: Run) -> Run:
            query, body, returned = _annotations(run)
            row = self._row(
                method=method,
                path=path,
                access=access,
                run=run,
                summary=summary or _first_paragraph(run),
                query=query,
                body=body,
                answer=answer or returned,
                example=example,
                check=check,
                export=export,
                operation_id=operation_id,
                body_bytes=MAX_IGNORED_BODY_BYTES if body is Nothing else body_bytes,
                **traits,
            )
            self.rows += [row] if export is None else [row, row.as_file(export)]
            return run

        return add

    def file(
        self,
        path: str,
        access: str,
        export: Export,
        query: type[msgspec.Struct],
        operation_id: str,
    ) -> None:
        """Declare a GET that answers an export alone."""
        declare = self("GET", path, access, export=export, operation_id=operation_id)
        declare(_no_page)
        self.rows[-2:] = [self.rows[-1]._replace(path=path, query=query)]

    def upload(
        self,
        path: str,
        access: str,
        receive: Receive,
        operation_id: str,
        body_bytes: int = MAX_UPLOAD_BYTES,
        **traits: Unpack[_Traits],
    ) -> Callable[[Run], Run]:
        """Declare a POST whose body is a file of any type."""
        declare = self("POST", path, access, operation_id=operation_id, **traits)

        def add(run: Run) -> Run:
            declare(run)
            row = self.rows[-1]
            self.rows[-1] = row._replace(receive=receive, body_bytes=body_bytes)
            return run

        return add


async def _no_page(_: Call[Any, Nothing, Nothing]) -> None:
    raise NotImplementedError


def _annotations(run: Callable[..., Any]) -> tuple[Any, Any, tuple[Any, ...]]:
    signature = inspect.signature(run)
    [call] = signature.parameters.values()
    _, query, body = get_args(call.annotation)
    returned = signature.return_annotation
    kinds = get_args(returned) if get_origin(returned) in (Union, UnionType) else (returned,)
    values = [
        get_args(kind)[0] if get_origin(kind) is AnswerWithHeaders else kind for kind in kinds
    ]
    return query, body, tuple(dict.fromkeys(values))


def _first_paragraph(run: Callable[..., Any]) -> str:
    paragraph, _, _ = (inspect.getdoc(run) or "").partition("\n\n")
    return " ".join(paragraph.split()).removesuffix(".")


class HandledEndpoint(NamedTuple):
    """A method and path that need no API key, answered by a handler of their own.

    - A name in braces stands for the rest of the path.
    - `answers` are OpenAPI's responses, by status; `parameters` and `body` are OpenAPI too.
    - A row with `in_production=False` exists in development only and is not in OpenAPI.
    """

    method: str
    path: str
    handler: type[Handler]
    operation_id: str
    tag: str
    summary: str
    answers: Mapping[int, OpenApiPart]
    parameters: tuple[OpenApiPart, ...] = ()
    body: OpenApiPart | None = None
    in_production: bool = True

    @property
    def pattern(self) -> str:
        return _PARAMETER.sub(".*", self.path.replace(".", r"\."))
