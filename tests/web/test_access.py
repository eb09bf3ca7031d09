"""How a key and its account are sent, and the order in which a request is checked."""

from typing import Any

import orjson

from tests.factories import create_link
from tests.web.each import each_case
from tests.web.world import World
from tracker.ids import new_id

NO_KEY = "API key: send it as Authorization: Bearer <API_KEY>"


@each_case(
    "sent, error",
    [
        ("bearer SECRET", None),
        ("BEARER  SECRET", None),
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
    world: World, sent: str, error: str | None
) -> None:
    sent = sent.replace("SECRET", world.secret)
    path = f"/api/tags?accountId={world.account.id}"
    response = await world.client.get(path, Authorization=sent)
    assert response.status == (401 if error else 200)
    assert error is None or response.error == error
    assert response.headers.get("WWW-Authenticate") == ("Bearer" if error else None)


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


async def test_the_order_of_checks_is_limit_key_limit_body_access_existence(world: World) -> None:
    # One request breaks every rule, which are then met one by one.
    services, client = world.services, world.client
    own, missing = await world.key(world.account), str(new_id())
    reading = await world.key(world.account, scopes=["links:read"])
    await services.stores.redis.set("rate_limit:ip:127.0.0.1", 1000, ex=60)
    await services.stores.redis.set(f"rate_limit:account:{world.account.id}", 1000, ex=60)

    async def status(key: str, link_id: str = missing, **fields: Any) -> tuple[int, str]:
        sent: dict[str, str | bytes] = {"Authorization": f"Bearer {key}"}
        body = orjson.dumps({"active": False, **fields})
        response = await client.request("PATCH", f"/api/short-links/{link_id}", sent, body)
        return response.status, response.error.partition(":")[0]

    assert await status("trk_unknown", active=1) == (429, "rate limit")
    await services.stores.redis.delete("rate_limit:ip:127.0.0.1")
    assert await status("trk_unknown", active=1) == (401, "API key")
    assert await status(reading, active=1) == (429, "rate limit")
    await services.stores.redis.delete(f"rate_limit:account:{world.account.id}")
    assert await status(reading, active=1) == (400, "active")
    assert (await status(reading))[0] == 403
    foreign = await create_link(services, world.other_account.id)
    assert await status(own, str(foreign.id)) == (403, "short link")
    assert await status(own) == (404, "short link")
