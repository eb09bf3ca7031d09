"""`/api/keys`: create, list and revoke an account's API keys."""

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.access.api_keys import ApiKey
from tracker.access.audit import AuditAction
from tracker.access.principal import EVERY_SCOPE, ActorKind, Principal
from tracker.accounts.services import AccountCall, AccountServices
from tracker.errors import ErrorCode, Forbidden
from tracker.stores.mongodb.account_lock import run_in_turn
from tracker.stores.mongodb.transaction import MongoSession
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.resource import Resource, record_of
from tracker.web.schema import (
    AccountId,
    AccountPage,
    MakerExpiry,
    Page,
    Text,
    Timestamp,
    in_the_future,
    trimmed,
)

endpoint = Endpoints("accounts")

Scope = Literal[EVERY_SCOPE]  # type: ignore[valid-type]  # the table is the one list of scopes


class ActorRecord(msgspec.Struct, kw_only=True):
    """A person, an API key, or the operator."""

    kind: ActorKind
    id: Annotated[UUID | None, Meta(description="null for the operator")]
    name: str


class ParentKey(msgspec.Struct, kw_only=True):
    """The API key that created another."""

    id: UUID
    name: str
    revoked_at: Timestamp | None


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
    parent: Annotated[ParentKey | None, Meta(description="null if no key created it")]
    descendants: Annotated[
        list[UUID],
        Meta(description="valid keys that this key, or a descendant of it, has created"),
    ]


class CreatedApiKey(ApiKeyRecord, kw_only=True):
    """A new API key with its secret."""

    key: Annotated[str, Meta(description="shown once: it cannot be read again")]


class CreateApiKey(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The API key to create."""

    account_id: AccountId = field(name="accountId")
    name: Text
    scopes: (
        Annotated[list[Scope], Meta(min_length=1, description="at most your own; null: all")] | None
    ) = None
    expires_at: MakerExpiry | None = None

    def __post_init__(self) -> None:
        self.name = trimmed("name", self.name)
        if self.expires_at is not None:
            self.expires_at = in_the_future(self.expires_at)


class RevokeApiKey(msgspec.Struct, kw_only=True):
    """The keys to revoke."""

    descendants: Annotated[bool, Meta(description="true: also its valid descendants")] = False


async def _show(services: AccountServices, keys: Sequence[ApiKey]) -> list[ApiKeyRecord]:
    if not keys:
        return []
    api_keys = services.access.api_keys
    parents = await api_keys.find_all([one.parent_id for one in keys if one.parent_id])
    descendants = await api_keys.family.descendants(keys[0].account_id)
    return [
        record_of(
            ApiKeyRecord,
            key,
            created_by=key.created_by and record_of(ActorRecord, key.created_by),
            parent=parent and record_of(ParentKey, parent),
            descendants=descendants.get(key.id, []),
        )
        for key in keys
        for parent in [parents.get(key.parent_id) if key.parent_id else None]
    ]


KEYS: Resource[ApiKey, ApiKeyRecord] = Resource(
    "API key", lambda call: call.web.api_keys.find(call.ids[0]), _show
)


@endpoint("GET", "/api/keys", "keys:read")
async def list_own(call: AccountCall[AccountPage, Nothing]) -> Page[ApiKeyRecord]:
    """List API keys, newest first, including revoked ones."""
    return await KEYS.list_page(call, call.web.api_keys)


@endpoint(
    "POST", "/api/keys", "keys:write", example={"name": "reporting", "scopes": ["keys:write"]}
)
async def create(call: AccountCall[Nothing, CreateApiKey]) -> CreatedApiKey:
    """Create an API key. It has at most your scopes, expires no later than yours, and is shown
    only once.
    """
    body, keys = call.body, call.web.api_keys
    scopes = None if body.scopes is None else list(dict.fromkeys(body.scopes))

    async def work(session: MongoSession) -> tuple[ApiKey, str]:
        principal = await call.lock_authority("keys:write", session)
        _check_covered(principal, scopes, "scopes: you lack")
        expires_at = principal.expiry(body.expires_at)
        made = await keys.create_by(principal, body.name, scopes, expires_at, session)
        await call.audit("api_key.created", KEYS.audit_object(made[0]), session=session)
        return made

    key, secret = await run_in_turn(call.web.mongodb.database, call.account_id, work)
    shown = await KEYS.show(call, key)
    return record_of(CreatedApiKey, shown, key=secret)


@endpoint("DELETE", "/api/keys/{id}", "keys:write")
async def revoke(call: AccountCall[RevokeApiKey, Nothing]) -> ApiKeyRecord:
    """Revoke an API key at once and for good. A repeated call changes nothing."""
    key = await KEYS.find(call)

    async def approve(ended: Sequence[ApiKey], session: MongoSession) -> None:
        # Locked only if needed: many calls for one key would delay the caller's own revocation.
        principal = await call.lock_authority("keys:write", session) if ended else call.principal
        for one in (key, *ended):
            _check_covered(
                principal, one.scopes, f"API key: “{one.name}” has scopes that you lack:"
            )
        await call.audit_all(
            [AuditAction(action="api_key.revoked", target=KEYS.audit_object(one)) for one in ended],
            session,
        )

    revoked, _ = await call.web.api_keys.revoke(
        key.id, approve, with_descendants=call.query.descendants
    )
    return await KEYS.show(call, revoked)


def _check_covered(principal: Principal, scopes: list[str] | None, message: str) -> None:
    """Raises Forbidden if the scopes, None for all, are more than the principal's own."""
    if principal.covers(scopes):
        return
    lacking = [] if scopes is None else [one for one in scopes if not principal.covers([one])]
    missing = ", ".join(lacking) or "some of all"
    raise Forbidden(f"{message} {missing}", code=ErrorCode.MISSING_SCOPE)
