"""Access when creating short links: keys, accounts, domains and tags, and the order of checks."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from tests.factories import LANDING, create_link
from tests.links.api.short_links import PATH, create
from tests.web.world import World
from tracker.clock import now
from tracker.ids import new_id

NO_KEY = "API key: send it as Authorization: Bearer <API_KEY>"


ANOTHER_ACCOUNT = "accountId: this API key has no access to the account"


@pytest.mark.parametrize(
    ("authorization", "error"),
    [
        (None, NO_KEY),
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
        ("Bearer trk_unknown", "API key: unknown"),
        ("Bearer {$ne:1}", "API key: unknown"),
    ],
)
async def test_a_missing_malformed_or_unknown_key_is_unauthorized(
    world: World, authorization: str | None, error: str
) -> None:
    headers: dict[str, str | bytes] = (
        {}
        if authorization is None
        else {"Authorization": authorization.replace("SECRET", world.secret)}
    )
    body = orjson.dumps({"accountId": str(world.account.id), "destination_url": LANDING})
    response = await world.client.request("POST", PATH, headers, body)
    assert (response.status, response.error) == (401, error)
    assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER  "])
async def test_the_scheme_of_the_authorization_header_may_be_in_any_case(
    world: World, scheme: str
) -> None:
    body = orjson.dumps({"accountId": str(world.account.id), "destination_url": LANDING})
    response = await world.client.post(PATH, body, Authorization=f"{scheme}{world.secret}")
    assert response.status == 200


async def test_a_revoked_or_expired_key_is_unauthorized(world: World) -> None:
    revoked, first = await world.services.access.api_keys.create(world.account.id, "revoked")
    _, second = await world.services.access.api_keys.create(
        world.account.id, "expired", expires_at=now()
    )
    _, third = await world.services.access.api_keys.create(
        world.account.id, "lasting", expires_at=now() + timedelta(hours=1)
    )
    assert (await create(world.client, first, accountId=str(world.account.id))).status == 200
    await world.services.access.api_keys.revoke(revoked.id)
    responses = [
        await create(world.client, secret, accountId=str(world.account.id))
        for secret in (first, second)
    ]
    assert [response.error for response in responses] == ["API key: revoked", "API key: expired"]
    assert [response.status for response in responses] == [401, 401]
    assert all(response.headers["WWW-Authenticate"] == "Bearer" for response in responses)
    assert (await create(world.client, third, accountId=str(world.account.id))).status == 200


async def test_another_account_is_forbidden_whether_it_exists_or_not(world: World) -> None:
    for account_id in (world.other_account.id, new_id()):
        response = await create(world.client, world.secret, accountId=str(account_id))
        assert (response.status, response.error) == (403, ANOTHER_ACCOUNT)


@pytest.mark.parametrize(
    ("scopes", "status"),
    [
        (None, 200),
        (["links:write"], 200),
        (["links:*"], 200),
        (["tags:read", "links:write"], 200),
        (["links:read"], 403),
        (["domains:*", "reports:read"], 403),
        ([], 403),
    ],
)
async def test_a_key_needs_the_scope(world: World, scopes: list[str] | None, status: int) -> None:
    _, secret = await world.services.access.api_keys.create(world.account.id, "scoped", scopes)
    response = await create(world.client, secret, accountId=str(world.account.id))
    assert response.status == status
    if status == 403:
        assert response.error == "this API key lacks the scope links:write"


async def test_domains_and_tags_of_another_account_are_forbidden(world: World) -> None:
    domain = await world.services.links.domains.create(world.other_account.id, "go.example")
    tag = await world.services.links.tags.create(world.other_account.id, "foreign")
    for fields in ({"domain_id": str(domain.id)}, {"tags": [str(tag.id)]}):
        response = await create(
            world.client, world.secret, accountId=str(world.account.id), **fields
        )
        assert response.status == 403
        assert response.error == f"{next(iter(fields))}: belongs to another account"


async def test_domains_and_tags_that_do_not_exist_are_not_found(world: World) -> None:
    tag, missing = await world.services.links.tags.create(world.account.id, "own"), str(new_id())
    response = await create(
        world.client, world.secret, accountId=str(world.account.id), domain_id=missing
    )
    assert (response.status, response.error) == (404, f"domain_id: not found: {missing}")
    tags = [str(tag.id), missing]
    response = await create(world.client, world.secret, accountId=str(world.account.id), tags=tags)
    assert (response.status, response.error) == (404, f"tags: not found: {missing}")


async def test_the_order_of_checks_is_key_body_access_existence(world: World) -> None:
    foreign = await world.services.links.tags.create(world.other_account.id, "foreign")
    _, reading = await world.services.access.api_keys.create(
        world.account.id, "reading", ["links:read"]
    )
    await create_link(world.services, world.account.id, "taken")
    fields: dict[str, Any] = {
        "accountId": str(world.other_account.id),
        "slug": "?",
        "domain_id": str(new_id()),
        "tags": [str(foreign.id)],
    }

    async def status(key: str, **changed: Any) -> int:
        fields.update(changed)
        return (await create(world.client, key, **fields)).status

    assert await status("trk_unknown") == 401
    assert await status(world.secret) == 400
    assert await status(world.secret, slug="taken") == 403
    assert await status(reading, accountId=str(world.account.id)) == 403
    assert await status(world.secret) == 403
    assert await status(world.secret, tags=[]) == 404
    assert await status(world.secret, domain_id=None) == 400
