"""The rows of the endpoint table, which are answered and described in OpenAPI."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

import msgspec

from tracker.access.audit import Change, Deed, Target
from tracker.access.principal import Principal
from tracker.access.sessions import Session
from tracker.api.export import Export
from tracker.api.handler import Handler
from tracker.api.limits import MAX_BODY_BYTES, MAX_IGNORED_BODY_BYTES
from tracker.api.openapi.parts import BINARY, Described
from tracker.api.services import Services
from tracker.db.transaction import Session as Transaction
from tracker.errors import Forbidden, NotFound

Query = TypeVar("Query")
Body = TypeVar("Body")

EVENT_ID: Final = "event_id"
"""The name in a path that stands for the id of an event; any other stands for a UUID."""

_PARAMETER = re.compile(r"\{(\w+)\}")


class Nothing(msgspec.Struct):
    """The query or body of an endpoint that takes none."""


class Owned(Protocol):
    """An object that belongs to an account."""

    @property
    def account_id(self) -> UUID | None:
        """Return the account that may see and change the object; None if no account may."""


Resource = TypeVar("Resource", bound=Owned)


class Call(msgspec.Struct, Generic[Query, Body], frozen=True):
    """A request that passed every check before its endpoint.

    The principal is authenticated and has the scope, and the parameters are parsed. If the request
    names an account, it is the principal's. `address` is the client's, truncated, and `counted_as`
    the same as limits count it. `signed_in` is the session of a person, None with an API key. `ids`
    are the UUIDs in the path, in order, and `event_ids` the ids of events.
    """

    services: Services
    principal: Principal
    address: str
    counted_as: str
    signed_in: Session | None
    ids: tuple[UUID, ...]
    event_ids: tuple[int, ...]
    query: Query
    body: Body

    @property
    def account_id(self) -> UUID:
        """Return the account of the principal."""
        return self.principal.account_id

    @property
    def session(self) -> Session:
        """Return the session of the request, which an endpoint for people only always has."""
        assert self.signed_in is not None
        return self.signed_in

    def own(self, name: str, resource: Resource | None) -> Resource:
        """Return `resource`. Messages call it `name`.

        Raises NotFound if it is None, Forbidden if it belongs to another account.
        """
        if resource is None:
            raise NotFound(f"{name}: not found")
        if resource.account_id != self.account_id:
            raise Forbidden(f"{name}: belongs to another account")
        return resource

    async def hold(self, scope: str, session: Transaction) -> Principal:
        """Return the principal as it is now; it stays so until the transaction of `session` ends.

        For what may outlive the principal, after anything that takes long. Raises Forbidden if it
        no longer has `scope`.
        """
        return await self.services.authority.hold(self.principal, scope, session)

    async def audit(
        self,
        action: str,
        target: Target,
        changes: Mapping[str, Change] | None = None,
        session: Transaction | None = None,
    ) -> None:
        """Record in the account's audit log that the principal did `action` to `target`.

        The entry is stored in the transaction of `session`, if there is one.
        """
        await self.services.audit.record(
            self.account_id,
            self.principal.actor,
            action,
            target,
            changes,
            self.address,
            session,
        )

    async def audit_all(self, deeds: Sequence[Deed], session: Transaction | None = None) -> None:
        """Record in the account's audit log that the principal did all `deeds`.

        The entries are stored in the transaction of `session`, if there is one.
        """
        await self.services.audit.record_all(
            self.account_id, self.principal.actor, deeds, self.address, session
        )


class Answer(NamedTuple):
    """The value that an endpoint returns, together with headers of the answer."""

    value: Any
    headers: Mapping[str, str]


class MediaType(msgspec.Struct, frozen=True):
    """The media type of answers that are not JSON. `schema` is that of one event of a stream."""

    name: str
    schema: Described = msgspec.field(default_factory=lambda: BINARY)


class Endpoint(NamedTuple):
    """A method and path that need an API key, or the session of a person.

    - `path` has the names of ids in braces. They are UUIDs, except `{event_id}`.
    - `check` raises BadRequest if a body breaks a rule that needs the services.
    - `example` is a valid body; the account is added to it.
    - `scope` is None if the endpoint is for people only, whatever their role.
    - `operation_id` is OpenAPI's, where the method and path do not make a good one.
    - If the body decides what is done, `scope` is a function of the body whose docstring names the
      scopes, and `answer` is a tuple of the possible types.
    - `answer` is a MediaType if the endpoint returns `Content` and not a value for JSON.
    - `export` has all rows of a list, for requests for CSV or NDJSON. The query, or the body if
      there is one, then has the field `format`.
    - `ends_with_client` if it only reads, and takes long: it is cancelled if the client goes.
    """

    method: str
    path: str
    scope: str | Callable[[Any], str] | None
    run: Callable[[Any], Awaitable[Any]]
    summary: str
    answer: Any
    query: type[msgspec.Struct] = Nothing
    body: type[msgspec.Struct] = Nothing
    check: Callable[[Services, Any], Awaitable[None]] | None = None
    example: dict[str, Any] | None = None
    operation_id: str | None = None
    export: Export | None = None
    ends_with_client: bool = False

    def scope_of(self, body: Any) -> str | None:
        """Return the scope that a request with this parsed body needs; None: only a session."""
        return self.scope(body) if callable(self.scope) else self.scope

    @property
    def body_bytes(self) -> int:
        """Return the maximum length of a body, in bytes."""
        return MAX_IGNORED_BODY_BYTES if self.body is Nothing else MAX_BODY_BYTES

    @property
    def pattern(self) -> str:
        """Return the path as Tornado matches it, with a group for each id."""
        return _PARAMETER.sub("([^/]+)", self.path.replace(".", r"\."))

    @property
    def id_names(self) -> list[str]:
        """Return the names of the ids in the path, in order."""
        return _PARAMETER.findall(self.path)


class PublicEndpoint(NamedTuple):
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
    answers: Mapping[int, Described]
    parameters: tuple[Described, ...] = ()
    body: Described | None = None
    in_production: bool = True

    @property
    def pattern(self) -> str:
        """Return the path as Tornado matches it."""
        return _PARAMETER.sub(".*", self.path.replace(".", r"\."))
