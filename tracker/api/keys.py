"""`/api/keys`: list and revoke an account's API keys. The operator's script creates them."""

from functools import partial
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.access.api_keys import ApiKey
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.resource import Resource, one_by_one, record_of
from tracker.api.schema import AccountPage, Page, Timestamp


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


KEYS: Resource[ApiKey, ApiKeyRecord] = Resource(
    "API key",
    lambda call: call.services.api_keys.find(call.ids[0]),
    one_by_one(partial(record_of, ApiKeyRecord)),
)


async def revoke(call: Call[Nothing, Nothing]) -> ApiKeyRecord:
    """Revoke an API key, which may be the key of this request, and return it.

    Raises NotFound or Forbidden if the account has no such key.
    """
    key = await KEYS.own(call)
    return await KEYS.show(call, await call.services.api_keys.revoke(key.id))


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
        "DELETE",
        "/api/keys/{id}",
        "keys:write",
        revoke,
        "Revoke an API key at once and for good; a second call changes nothing",
        ApiKeyRecord,
    ),
)
