"""What an endpoint is: one row that answers requests, is checked, and is described in OpenAPI."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

import msgspec

from tracker.access.api_keys import ApiKey
from tracker.api.handler import BODY_BYTES, IGNORED_BYTES
from tracker.api.services import Services
from tracker.errors import Forbidden, NotFound

Query = TypeVar("Query")
Body = TypeVar("Body")


class Nothing(msgspec.Struct):
    """No parameters are taken."""


class Owned(Protocol):
    @property
    def account_id(self) -> UUID: ...


Resource = TypeVar("Resource", bound=Owned)


class Call(msgspec.Struct, Generic[Query, Body], frozen=True):
    """A request that may act: its key is valid, its parameters are checked, its account is the
    key's and the key has the scope. `ids` are those in the path, in order."""

    services: Services
    key: ApiKey
    ids: tuple[UUID, ...]
    query: Query
    body: Body

    @property
    def account_id(self) -> UUID:
        return self.key.account_id

    def own(self, what: str, resource: Resource | None) -> Resource:
        """`resource`. Raises NotFound if there is none, Forbidden if it is another account's."""
        if resource is None:
            raise NotFound(f"{what}: not found")
        if resource.account_id != self.key.account_id:
            raise Forbidden(f"{what}: belongs to another account")
        return resource


class Endpoint(NamedTuple):
    """`path` has the names of ids in braces. `check` refuses a body (400) by what only the services
    know. `example` is a body that works as it stands, but for the account. Where the body decides
    what is done, `scope` is a function of it, whose docstring names the scopes, and `answer` is a
    tuple of the types it may be."""

    method: str
    path: str
    scope: str | Callable[[Any], str]
    run: Callable[[Any], Awaitable[Any]]
    summary: str
    answer: Any
    query: type[msgspec.Struct] = Nothing
    body: type[msgspec.Struct] = Nothing
    check: Callable[[Services, Any], Awaitable[None]] | None = None
    example: dict[str, Any] | None = None

    def scope_of(self, body: Any) -> str:
        """The scope that a request with this parsed body needs."""
        return self.scope if isinstance(self.scope, str) else self.scope(body)

    @property
    def body_bytes(self) -> int:
        """The longest body that is taken."""
        return IGNORED_BYTES if self.body is Nothing else BODY_BYTES

    @property
    def pattern(self) -> str:
        """The path as Tornado matches it."""
        return re.sub(r"\{\w+\}", "([^/]+)", self.path)

    @property
    def id_names(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.path)
