"""Access to every endpoint of the table, with every kind of wrong key or id."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.web.client import Response
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


CASES: dict[Case, int] = {
    no_key: 401,
    bad_key: 401,
    revoked_key: 401,
    expired_key: 401,
    other_accounts_key: 403,
    missing_scope: 403,
    no_scope: 403,
}
ALL = [pytest.param(one, id=f"{one.method} {one.path}") for one in KEYED_ENDPOINTS]
WITH_ID = [param for param, one in zip(ALL, KEYED_ENDPOINTS, strict=True) if one.id_names]


@pytest.mark.parametrize("endpoint", ALL)
async def test_the_owner_has_access_with_all_scopes_or_the_one_needed(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    key = await world.key(world.account, scopes=request.scopes)
    response = await world.send(request, key)
    assert response.status == 200, response.body


@pytest.mark.parametrize("endpoint", ALL)
async def test_other_keys_have_no_access_and_change_nothing(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    before = await world.stored()
    for case, status in CASES.items():
        response = await case(world, request)
        assert (case, response.status) == (case, status), response.body
        assert response.error
        assert ("WWW-Authenticate" in response.headers) == (status == 401)
        assert await world.stored() == before


@pytest.mark.parametrize("endpoint", WITH_ID)
async def test_an_object_of_another_account_is_forbidden_and_unchanged(
    world: World, endpoint: Endpoint
) -> None:
    foreign = await world.request(endpoint, world.other_account)
    request = foreign._replace(account_id=world.account.id)
    before = await world.stored()
    response = await world.send(request, await world.key(world.account))
    assert (response.status, response.error.endswith("belongs to another account")) == (403, True)
    assert await world.stored() == before


@pytest.mark.parametrize("endpoint", WITH_ID)
async def test_an_id_that_does_not_exist_is_not_found(world: World, endpoint: Endpoint) -> None:
    request = await world.request(endpoint, world.account)
    before, key = await world.stored(), await world.key(world.account)
    for place in range(len(request.ids)):
        ids = [*request.ids[:place], unknown_id(request.ids[place]), *request.ids[place + 1 :]]
        response = await world.send(request._replace(ids=ids), key)
        assert (response.status, response.error.endswith(": not found")) == (404, True)
    assert await world.stored() == before


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("endpoint", ALL)
async def test_every_endpoint_accepts_the_own_account_in_either_spelling(
    world: World, endpoint: Endpoint, spelling: str
) -> None:
    request = await world.request(endpoint, world.account)
    key = await world.key(world.account)
    assert (await world.send_named(request, key, {spelling: world.account.id})).status == 200


@pytest.mark.parametrize("endpoint", ALL)
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


@pytest.mark.parametrize("endpoint", ALL)
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


@pytest.mark.parametrize("endpoint", ALL)
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
