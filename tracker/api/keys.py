"""`/api/keys`: make, list and revoke an account's API keys."""

from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.access.api_keys import ApiKey
from tracker.access.audit import Target
from tracker.access.principal import EVERY_SCOPE, ActorKind, Principal
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.limits import MAX_VALID_KEYS
from tracker.api.resource import Resource, one_by_one, record_of
from tracker.api.schema import (
    AccountId,
    AccountPage,
    Expiry,
    Page,
    Text,
    Timestamp,
    in_the_future,
    trimmed,
)
from tracker.errors import BadRequest, ErrorCode, Forbidden

Scope = Literal[EVERY_SCOPE]  # type: ignore[valid-type]  # the table is the one list of scopes


class ActorRecord(msgspec.Struct, kw_only=True):
    """The one who did something."""

    kind: ActorKind
    id: Annotated[UUID | None, Meta(description="null for the operator")]
    name: str


class ApiKeyRecord(msgspec.Struct, kw_only=True):
    """An API key, without its secret."""

    id: UUID
    account_id: UUID
    name: str
    prefix: Annotated[str, Meta(description="the first characters of the key")]
    scopes: Annotated[list[str] | None, Meta(description="null: all")]
    created_at: Timestamp
    last_used_at: Annotated[Timestamp | None, Meta(description="to the minute")]
    expires_at: Timestamp | None
    revoked_at: Timestamp | None
    created_by: Annotated[ActorRecord | None, Meta(description="null for old keys")]


class CreatedApiKey(ApiKeyRecord, kw_only=True):
    """A new API key with its secret."""

    key: Annotated[str, Meta(description="shown once: it cannot be read again")]


class CreateApiKey(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The API key to make."""

    account_id: AccountId = field(name="accountId")
    name: Text
    scopes: (
        Annotated[list[Scope], Meta(min_length=1, description="at most one's own; null: all")]
        | None
    ) = None
    expires_at: Expiry | None = None

    def __post_init__(self) -> None:
        self.name = trimmed("name", self.name)
        if self.expires_at is not None:
            self.expires_at = in_the_future(self.expires_at)


KEYS: Resource[ApiKey, ApiKeyRecord] = Resource(
    "API key",
    lambda call: call.services.api_keys.find(call.ids[0]),
    one_by_one(lambda key: record_of(ApiKeyRecord, key, created_by=_creator(key))),
)


async def create(call: Call[Nothing, CreateApiKey]) -> CreatedApiKey:
    """Make an API key and return it with its secret.

    Raises Forbidden if it would have more scopes than the principal, BadRequest if the account has
    too many keys.
    """
    body, keys = call.body, call.services.api_keys
    scopes = None if body.scopes is None else list(dict.fromkeys(body.scopes))
    _check_grant(call.principal, scopes)
    if await keys.count_valid(call.account_id) >= MAX_VALID_KEYS:
        raise BadRequest(f"name: at most {MAX_VALID_KEYS} keys that are valid; revoke one first")
    key, secret = await keys.create(
        call.account_id, body.name, scopes, body.expires_at, call.principal.actor
    )
    await call.audit("api_key.created", _target(key))
    return record_of(CreatedApiKey, key, key=secret, created_by=_creator(key))


async def revoke(call: Call[Nothing, Nothing]) -> ApiKeyRecord:
    """Revoke an API key, which may be the key of this request, and return it.

    Raises NotFound or Forbidden if the account has no such key.
    """
    key = await KEYS.own(call)
    revoked, is_new = await call.services.api_keys.revoke(key.id)
    if is_new:
        await call.audit("api_key.revoked", _target(key))
    return await KEYS.show(call, revoked)


def _check_grant(principal: Principal, scopes: list[str] | None) -> None:
    """Raise Forbidden if the scopes, None for all, are more than the principal's own."""
    if principal.covers(scopes):
        return
    lacking = [] if scopes is None else [one for one in scopes if not principal.covers([one])]
    missing = ", ".join(lacking) or "some of all"
    raise Forbidden(f"scopes: you lack {missing}", code=ErrorCode.MISSING_SCOPE)


def _creator(key: ApiKey) -> ActorRecord | None:
    return None if key.created_by is None else record_of(ActorRecord, key.created_by)


def _target(key: ApiKey) -> Target:
    return Target(kind="api_key", id=key.id, name=key.name)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/keys",
        "keys:read",
        KEYS.lister(lambda services: services.api_keys),
        "List API keys, newest first, including revoked ones",
        Page[ApiKeyRecord],
        query=AccountPage,
    ),
    Endpoint(
        "POST",
        "/api/keys",
        "keys:write",
        create,
        "Make an API key, with no more scopes than one's own; it is in this answer only",
        CreatedApiKey,
        body=CreateApiKey,
        example={"name": "reporting", "scopes": ["keys:write"]},
    ),
    Endpoint(
        "DELETE",
        "/api/keys/{id}",
        "keys:write",
        revoke,
        "Revoke an API key at once and for good; a second call changes nothing",
        ApiKeyRecord,
    ),
)
