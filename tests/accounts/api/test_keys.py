"""API keys over HTTP: an account makes, lists and revokes its own."""

from datetime import timedelta
from typing import Any

import pytest

from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.access.principal import EVERY_SCOPE
from tracker.clock import iso, now

PATH = "/api/keys"
WRONG_SCOPE = f"scopes[0]: must be {' or '.join(sorted(EVERY_SCOPE))}"
UNKNOWN = {"last_used_at": None, "expires_at": None, "revoked_at": None}


async def test_a_listed_key_shows_everything_but_its_secret(world: World) -> None:
    expiry = now() + timedelta(days=1)
    key, other_secret = await world.services.access.api_keys.create(
        world.account.id, "reporting", ["reports:read", "links:*"], expiry
    )
    before = now()
    response = await world.api.get(f"{PATH}?accountId={world.account.id}")
    assert response.status == 200
    listed, own = response.json()["rows"]
    assert listed == {
        **UNKNOWN,
        "id": str(key.id),
        "account_id": str(world.account.id),
        "name": "reporting",
        "prefix": other_secret[:12],
        "scopes": ["reports:read", "links:*"],
        "created_at": iso(key.created_at),
        "expires_at": iso(expiry),
        "created_by": {"kind": "operator", "id": None, "name": "operator"},
        "parent": None,
        "descendants": [],
    }
    assert list(own) == [
        *("id", "account_id", "name", "prefix", "scopes"),
        *("created_at", "last_used_at", "expires_at", "revoked_at", "created_by"),
        *("parent", "descendants"),
    ]
    assert (own["scopes"], own["prefix"]) == (None, world.secret[:12])
    assert iso(before) <= own["last_used_at"] <= iso(now())
    for one in (world.secret, other_secret):
        assert one[12:].encode() not in response.body


async def test_a_revoked_key_stops_working_at_once_and_stays_listed(world: World) -> None:
    key, secret = await world.services.access.api_keys.create(world.account.id, "leaked")
    leaked = KeyedClient(world.client, secret)
    query = f"{PATH}?accountId={world.account.id}"
    assert (await leaked.get(query)).status == 200
    before = now()
    response = await world.api.delete(f"{PATH}/{key.id}")
    assert response.status == 200
    revoked = response.json()
    assert (revoked["id"], revoked["name"]) == (str(key.id), "leaked")
    assert iso(before) <= revoked["revoked_at"] <= iso(now())
    refused = await leaked.get(query)
    assert (refused.status, refused.error) == (401, "API key: revoked")
    assert (await world.api.get(query)).json()["rows"][0] == revoked


async def test_an_expired_key_can_still_be_revoked(world: World) -> None:
    key, _ = await world.services.access.api_keys.create(world.account.id, "old", expires_at=now())
    assert (await world.api.delete(f"{PATH}/{key.id}")).json()["revoked_at"] is not None


async def test_a_new_key_is_shown_once_and_works(world: World) -> None:
    expiry = iso(now() + timedelta(days=1))
    body = {"name": " ci ", "scopes": ["tags:read", "tags:read"], "expires_at": expiry}
    made = await world.api.post(PATH, account_id=str(world.account.id), **body)
    assert made.status == 200
    key = made.json()
    assert (key["name"], key["scopes"], key["expires_at"]) == ("ci", ["tags:read"], expiry)
    assert key["created_by"]["kind"] == "api_key"
    assert key["key"].startswith(key["prefix"])
    new = KeyedClient(world.client, key["key"])
    assert (await new.get(f"/api/tags?accountId={world.account.id}")).status == 200
    assert (await new.get(f"/api/domains?accountId={world.account.id}")).status == 403
    listed = (await world.api.get(f"{PATH}?accountId={world.account.id}")).body
    assert key["key"].encode() not in listed


@pytest.mark.parametrize(
    ("scopes", "granted", "status"),
    [
        (["keys:write", "links:read"], ["links:write"], 403),
        (["keys:*", "links:*"], ["links:write", "keys:write"], 200),
        (["keys:*"], None, 403),
        (None, None, 200),
    ],
)
async def test_a_key_makes_no_key_that_may_do_more(
    world: World, scopes: list[str] | None, granted: list[str] | None, status: int
) -> None:
    api = await world.api_with(scopes)
    made = await api.post(PATH, accountId=str(world.account.id), name="x", scopes=granted)
    assert made.status == status
    if status == 403:
        assert made.headers["X-Error-Code"] == "missing_scope"


@each_case(
    "fields, message",
    [
        ({"name": " "}, "name: 1 to 255 characters, no control characters"),
        ({"scopes": []}, "scopes: must be a list of at least 1"),
        ({"scopes": ["links"]}, WRONG_SCOPE),
        ({"scopes": ["links:read; drop"]}, WRONG_SCOPE),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at: must be in the future"),
        (
            {"expires_at": "0001-01-01T00:00:00+14:00"},
            "expires_at: must be in the years 1 to 9999 of UTC",
        ),
    ],
)
async def test_a_wrong_key_is_refused_by_field_and_rule(
    world: World, fields: dict[str, Any], message: str
) -> None:
    refused = await world.api.post(
        PATH, accountId=str(world.account.id), **({"name": "x"} | fields)
    )
    assert (refused.status, refused.error) == (400, message)
    assert await world.services.stores.mongodb["api_keys"].count_documents({}) == 1


async def test_valid_keys_are_limited_and_others_do_not_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.access.api_keys.MAX_VALID_KEYS", 2)
    await world.services.access.api_keys.create(
        world.account.id, "old", None, now() - timedelta(seconds=1)
    )
    made = await world.api.post(PATH, accountId=str(world.account.id), name="second")
    refused = await world.api.post(PATH, accountId=str(world.account.id), name="third")
    assert (made.status, refused.status) == (200, 400)
    await world.api.delete(f"{PATH}/{made.json()['id']}")
    assert (await world.api.post(PATH, accountId=str(world.account.id), name="third")).status == 200
