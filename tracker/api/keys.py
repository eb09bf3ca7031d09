"""`/api/keys`: list and revoke an account's API keys. The operator's script makes them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.access.api_keys import ApiKey
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.schema import AccountPage, Page, Timestamp
from tracker.clock import iso


class ApiKeyRecord(msgspec.Struct, kw_only=True):
    """An API key, without its secret."""

    id: UUID
    account_id: UUID
    name: str
    prefix: Annotated[str, Meta(description="how the key begins")]
    scopes: Annotated[list[str] | None, Meta(description="null: all")]
    created_at: Timestamp
    last_used_at: Annotated[Timestamp | None, Meta(description="to the minute")]
    expires_at: Timestamp | None
    revoked_at: Timestamp | None


async def list_keys(call: Call[AccountPage, Nothing]) -> Page[ApiKeyRecord]:
    query = call.query
    keys, total = await call.services.api_keys.page(call.account_id, query.page, query.page_size)
    return query.page_of([_shown(key) for key in keys], total)


async def revoke(call: Call[Nothing, Nothing]) -> ApiKeyRecord:
    """Also the key of this request itself."""
    key = call.own("API key", await call.services.api_keys.find(call.ids[0]))
    return _shown(await call.services.api_keys.revoke(key.id))


def _shown(key: ApiKey) -> ApiKeyRecord:
    return ApiKeyRecord(
        id=key.id,
        account_id=key.account_id,
        name=key.name,
        prefix=key.prefix,
        scopes=key.scopes,
        created_at=iso(key.created_at),
        last_used_at=_iso(key.last_used_at),
        expires_at=_iso(key.expires_at),
        revoked_at=_iso(key.revoked_at),
    )


def _iso(at: datetime | None) -> str | None:
    return None if at is None else iso(at)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/keys",
        "keys:read",
        list_keys,
        "List API keys, newest first, the revoked ones too",
        Page[ApiKeyRecord],
        query=AccountPage,
    ),
    Endpoint(
        "DELETE",
        "/api/keys/{id}",
        "keys:write",
        revoke,
        "Revoke an API key at once and for good; one that is revoked keeps its time",
        ApiKeyRecord,
    ),
)
