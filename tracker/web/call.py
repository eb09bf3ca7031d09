"""Calls: requests that passed every check before their endpoint, and their answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

import msgspec

from tracker.access.audit import AuditAction, AuditObject, FieldChange
from tracker.access.idempotency import Once
from tracker.access.principal import Author, Principal
from tracker.access.sessions import Session
from tracker.errors import Forbidden, NotFound
from tracker.limits.network import truncated
from tracker.stores.mongodb.transaction import MongoSession
from tracker.syntax.entity_tags import Precondition
from tracker.web.services import WebServices

Room = TypeVar("Room")
Query = TypeVar("Query")
Body = TypeVar("Body")
Value = TypeVar("Value")

ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


class Nothing(msgspec.Struct):
    """The query or body of an endpoint that takes none."""


class Owned(Protocol):
    """An object that belongs to an account."""

    @property
    def account_id(self) -> UUID | None:
        """Return the account that may see and change the object; None if no account may."""


Resource = TypeVar("Resource", bound=Owned)


class RequestClient(NamedTuple):
    """The sender of a request, for a click that it records.

    The address is whole: endpoints neither store nor log it.
    """

    address: str
    user_agent: str
    edge_country: str


class PublicCall(msgspec.Struct, Generic[Room, Query, Body], frozen=True, kw_only=True):
    """A request to a public endpoint that passed every check before it.

    `services` are the room's, `web` the frame's.
    """

    services: Room
    web: WebServices
    client: RequestClient
    query: Query
    body: Body

    @property
    def address(self) -> str:
        """Return the client's address, truncated, as it may be stored."""
        return truncated(self.client.address)

    @property
    def counted_as(self) -> str:
        return self.web.rate_limiter.counted_as(self.client.address)


class Call(PublicCall[Room, Query, Body], Generic[Room, Query, Body], frozen=True, kw_only=True):
    """A request with an API key or a session that passed every check before its endpoint.

    The principal has the scope, and is the named account's. `signed_in` is None with an API key.
    `ids` are the UUIDs in the path, in order, and `event_ids` the ids of events. `upload`
    is what the endpoint's `receive` has made, and has the whole body.
    """

    principal: Principal
    sent: frozenset[str]
    """The names of the fields in the body."""
    external_ids: tuple[str, ...]
    """The texts in the path."""
    signed_in: Session | None
    ids: tuple[UUID, ...]
    event_ids: tuple[int, ...]
    upload: Any = None
    if_match: str | None = None
    once: Once | None = None

    @property
    def precondition(self) -> Precondition:
        return Precondition.of(self.if_match)

    @property
    def account_id(self) -> UUID:
        return self.principal.account_id

    @property
    def author(self) -> Author:
        principal = self.principal
        return Author(self.account_id, principal.actor, self.address, principal.session_id)

    @property
    def session(self) -> Session:
        """Return the session, which requests to endpoints for people always have."""
        assert self.signed_in is not None
        return self.signed_in

    def check_owner(self, name: str, resource: Resource | None) -> Resource:
        """Return `resource`, called `name` in messages.

        Raises NotFound if it is None or outside the principal's limit, Forbidden if it belongs to
        another account.
        """
        if resource is None:
            raise NotFound(f"{name}: not found")
        if resource.account_id != self.account_id:
            raise Forbidden(f"{name}: belongs to another account")
        if not self.principal.may_see(resource):
            raise NotFound(f"{name}: not found")
        return resource

    async def keep(self, session: MongoSession, answer: Callable[[], Awaitable[Any]]) -> None:
        """Keep the answer under the request's Idempotency-Key, in the transaction of its effect.

        Without a key there is no answer to make.
        """
        if self.once is not None:
            await self.web.answers.keep(self.once, ENCODER.encode(await answer()), session)

    async def lock_authority(self, scope: str, session: MongoSession) -> Principal:
        """Return the present principal, which stays valid until the transaction ends.

        Call it before storing what may outlive the principal. Raises Forbidden if `scope` is lost.
        """
        return await self.web.authority.lock(self.author, scope, session)

    async def audit(
        self,
        action: str,
        target: AuditObject,
        changes: Mapping[str, FieldChange] | None = None,
        session: MongoSession | None = None,
    ) -> None:
        """Record the principal's `action` on `target` in the account's audit log."""
        await self.web.audit.record(self.author, action, target, changes, session)

    async def audit_all(
        self, actions: Sequence[AuditAction], session: MongoSession | None = None
    ) -> None:
        await self.web.audit.record_all(self.author, actions, session)


class AnswerWithHeaders(NamedTuple, Generic[Value]):
    """The value that an endpoint returns, together with headers of the answer."""

    value: Value
    headers: Mapping[str, str]
