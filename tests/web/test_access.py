"""Access to every endpoint of the table, with every kind of wrong key or id."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.dns.dns_server import DnsServer
from tests.web.client import Response
from tests.web.each import each, each_case
from tests.web.held import held
from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import SPELLINGS, Request, World, unknown_id
from tracker.access.principal import SCOPES
from tracker.clock import now
from tracker.ids import new_id
from tracker.web.endpoint import Endpoint

Case = Callable[[World, Request], Awaitable[Response]]


async def no_key(world: World, request: Request) -> Response:
    return await world.send(request, None)


async def bad_key(world: World, request: Request) -> Response:
    return await world.send(request, "trk_unknown")


async def revoked_key(world: World, request: Request) -> Response:
    key, secret = await world.services.access.api_keys.create(world.account.id, "revoked")
    await world.services.access.api_keys.revoke(key.id)
    return await world.send(request, secret)


async def expired_key(world: World, request: Request) -> Response:
    expired = await world.key(world.account, expires_at=now() - timedelta(milliseconds=1))
    return await world.send(request, expired)


async def other_accounts_key(world: World, request: Request) -> Response:
    return await world.send(request, await world.key(world.other_account))


async def missing_scope(world: World, request: Request) -> Response:
    every = [f"{resource}:{verb}" for resource in SCOPES for verb in ("read", "write")]
    others = [scope for scope in every if scope != request.scope]
    return await world.send(request, await world.key(world.account, scopes=others))


async def no_scope(world: World, request: Request) -> Response:
    return await world.send(request, await world.key(world.account, scopes=[]))


NO_KEY = "API key: send it as Authorization: Bearer <API_KEY>"

CASES: dict[Case, tuple[int, str]] = {
    no_key: (401, NO_KEY),
    bad_key: (401, "API key: unknown"),
    revoked_key: (401, "API key: revoked"),
    expired_key: (401, "API key: expired"),
    other_accounts_key: (403, ""),
    missing_scope: (403, "this API key lacks the scope {}"),
    no_scope: (403, "this API key lacks the scope {}"),
}
"""The status and the message, if it is the same everywhere; `{}` stands for the scope."""
WITH_ID = [one for one in KEYED_ENDPOINTS if one.id_names]


@each(KEYED_ENDPOINTS)
async def test_the_owner_has_access_with_all_scopes_or_the_one_needed(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    key = await world.key(world.account, scopes=request.scopes)
    response = await world.send(request, key)
    assert response.status == 200, response.body


@each(KEYED_ENDPOINTS)
async def test_other_keys_have_no_access_and_change_nothing(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    before = await world.stored()
    for case, (status, message) in CASES.items():
        response = await case(world, request)
        assert (case, response.status) == (case, status), response.body
        assert response.error == (message.format(request.scope) or response.error)
        assert response.headers.get("WWW-Authenticate") == ("Bearer" if status == 401 else None)
        assert await world.stored() == before


@each_case(
    "sent, error",
    [
        ("", NO_KEY),
        ("Bearer", NO_KEY),
        ("Bearer ", NO_KEY),
        ("SECRET", NO_KEY),
        ("Basic SECRET", NO_KEY),
        ("Bearer SECRET SECRET", NO_KEY),
        ("Bearer SECRET, Bearer SECRET", NO_KEY),
        ("Bearer trk_\u00e9", NO_KEY),
        (f"Bearer {'a' * 201}", NO_KEY),
        ("Bearer SECRETx", "API key: unknown"),
        ("Bearer {$ne:1}", "API key: unknown"),
    ],
)
async def test_a_malformed_or_unknown_key_is_unauthorized(
    world: World, sent: str, error: str
) -> None:
    response = await tags_with(world, sent)
    assert (response.status, response.error) == (401, error)
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("sent", ["Bearer SECRET", "bearer SECRET", "BEARER  SECRET"])
async def test_the_scheme_of_the_authorization_field_may_be_in_any_case(
    world: World, sent: str
) -> None:
    assert (await tags_with(world, sent)).status == 200


async def tags_with(world: World, authorization: str) -> Response:
    """Return the list of tags to a client that sends `authorization`, with the key for SECRET."""
    sent = authorization.replace("SECRET", world.secret)
    return await world.client.get(f"/api/tags?accountId={world.account.id}", Authorization=sent)


@each(WITH_ID)
async def test_an_object_of_another_account_is_forbidden_and_unchanged(
    world: World, names: DnsServer, endpoint: Endpoint
) -> None:
    asked = len(names.asked)
    foreign = await world.request(endpoint, world.other_account)
    request = foreign._replace(account_id=world.account.id)
    before = await world.stored()
    response = await world.send(request, await world.key(world.account))
    assert (response.status, response.error.endswith("belongs to another account")) == (403, True)
    assert await world.stored() == before
    assert len(names.asked) == asked


@each(WITH_ID)
async def test_an_id_that_does_not_exist_is_not_found(
    world: World, names: DnsServer, endpoint: Endpoint
) -> None:
    asked = len(names.asked)
    request = await world.request(endpoint, world.account)
    before, key = await world.stored(), await world.key(world.account)
    for place in range(len(request.ids)):
        ids = [*request.ids[:place], unknown_id(request.ids[place]), *request.ids[place + 1 :]]
        response = await world.send(request._replace(ids=ids), key)
        assert (response.status, response.error.endswith(": not found")) == (404, True)
    assert await world.stored() == before
    assert len(names.asked) == asked


@pytest.mark.parametrize("spelling", SPELLINGS)
@each(KEYED_ENDPOINTS)
async def test_every_endpoint_accepts_the_own_account_in_either_spelling(
    world: World, endpoint: Endpoint, spelling: str
) -> None:
    request = await world.request(endpoint, world.account)
    key = await world.key(world.account)
    assert (await world.send_named(request, key, {spelling: world.account.id})).status == 200


async def test_the_account_is_required_and_may_be_named_twice_and_in_upper_case(
    world: World,
) -> None:
    own = str(world.account.id)
    for query, status in (
        (f"accountId={own}&account_id={own}", 200),
        (f"accountId={own}&account_id={own.upper()}", 200),
        ("page=1", 400),
    ):
        response = await world.api.get(f"/api/short-links?{query}")
        assert response.status == status
    assert response.error == "accountId: required"


@each(KEYED_ENDPOINTS)
async def test_another_account_is_forbidden_in_either_spelling(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    before, key = await world.stored(), await world.key(world.account)
    for account_id in (world.other_account.id, new_id()):
        for spelling in SPELLINGS:
            response = await world.send_named(request, key, {spelling: account_id})
            assert response.status == 403
            assert response.error == "accountId: this API key has no access to the account"
    both = dict(zip(SPELLINGS, (world.account.id, world.other_account.id), strict=True))
    response = await world.send_named(request, key, both)
    assert response.status == 400
    assert response.error == "account_id: differs from accountId, which is another name for it"
    assert await world.stored() == before


@each(KEYED_ENDPOINTS)
async def test_the_key_is_checked_before_the_request_and_the_request_before_access(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    foreign = await world.key(world.other_account)
    for key, status in (("trk_unknown", 401), (foreign, 400)):
        response = await world.send_named(request, key, {"accountId": "x"})
        assert response.status == status


async def change_key(world: World, key_id: UUID, fields: Mapping[str, Any]) -> None:
    await world.services.stores.mongodb["api_keys"].update_one({"_id": key_id}, {"$set": fields})


async def revoke(world: World, key_id: UUID) -> None:
    await world.services.access.api_keys.revoke(key_id)


async def expire(world: World, key_id: UUID) -> None:
    await change_key(world, key_id, {"expires_at": now()})


async def narrow(world: World, key_id: UUID) -> None:
    await change_key(world, key_id, {"scopes": []})


ENDS: dict[Callable[[World, UUID], Awaitable[None]], int] = {revoke: 401, expire: 401, narrow: 403}


@each(KEYED_ENDPOINTS)
async def test_a_key_whose_access_ends_before_the_last_byte_changes_nothing(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    before, account_id = await world.stored(), world.account.id
    for end, status in ENDS.items():
        key, secret = await world.services.access.api_keys.create(account_id, "a key")
        keys = len(await world.services.access.api_keys.list(account_id))
        fields = {"Authorization": f"Bearer {secret}"}
        sent = held(world.client, endpoint.method, request.path, fields, request.body)
        async with sent as finish:
            await end(world, key.id)
            assert (end, (await finish()).status) == (end, status)
        assert await world.stored() == before
        assert len(await world.services.access.api_keys.list(account_id)) == keys
