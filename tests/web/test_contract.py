"""The rules that hold for every endpoint, each in a test named after it.

Others are in files of their own: keys and other accounts in `test_access`, lists in `test_lists`,
limits in `test_limits`, short links in `test_short_link*`, destinations in `tests/links`.
"""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest

from config.settings import Settings
from tests.factories import LANDING, create_event_config, create_link
from tests.web.client import Response
from tests.web.each import each
from tests.web.records import journaled_clicks
from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import World
from tracker.ids import new_id
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoint, MediaType

WITH_BODY = [one for one in KEYED_ENDPOINTS if one.body is not Nothing]
WITH_JSON = [one for one in KEYED_ENDPOINTS if not isinstance(one.answer, MediaType)]
WITH_ID = [one for one in KEYED_ENDPOINTS if one.id_names]


async def answered(world: World, endpoint: Endpoint) -> Response:
    """Return the answer that the owner gets for the endpoint's example."""
    request = await world.request(endpoint, world.account)
    return await world.send(request, await world.key(world.account))


def values(node: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value in an answer except objects, with its name or that of its list."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key != "payload_template":  # whose names are the customer's
                yield from values(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from values(value, name)
    else:
        yield name, node


# All endpoints


@each(KEYED_ENDPOINTS)
async def test_every_success_is_200_including_creations(world: World, endpoint: Endpoint) -> None:
    response = await answered(world, endpoint)
    assert response.status == 200
    own = endpoint.answer if isinstance(endpoint.answer, MediaType) else None
    expected = own.name if own else "application/json"
    charset = "; charset=utf-8" if own is None or endpoint.is_file else ""
    assert response.headers["Content-Type"] == expected + charset


@pytest.mark.parametrize(
    ("path", "fields", "error"),
    [
        ("/api/short-links", {"slug": "x", "destination_url": LANDING}, "slug: already taken"),
        ("/api/domains", {"domain_name": "go.example"}, "domain_name: already taken"),
        ("/api/tags", {"name": "Spring"}, "name: another tag of the account has it"),
    ],
)
async def test_a_slug_domain_or_tag_name_that_is_taken_is_400_and_named(
    world: World, path: str, fields: dict[str, str], error: str
) -> None:
    key = {"Authorization": f"Bearer {await world.key(world.account)}"}
    body = orjson.dumps({"accountId": str(world.account.id), **fields})
    assert (await world.client.post(path, body, **key)).status == 200
    response = await world.client.post(path, body, **key)
    assert response.status == 400
    assert response.error.startswith(error)


@each(WITH_BODY)
async def test_unknown_body_fields_are_400_naming_the_field(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    before, key = await world.stored(), await world.key(world.account)
    for name in ("slgu", "$set", "a.b", "", "__proto__", "id"):
        response = await world.send_named(request, key, {"accountId": world.account.id, name: 1})
        assert (response.status, response.error) == (400, f"{name}: unknown field")
    assert await world.stored() == before


@each(KEYED_ENDPOINTS)
async def test_unknown_parameters_are_400_naming_the_parameter(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    key = {"Authorization": f"Bearer {await world.key(world.account)}"}
    before = await world.stored()
    target = f"{request.path}{'&' if '?' in request.path else '?'}zzz=1"
    response = await world.client.request(endpoint.method, target, {**key}, request.body)
    assert response.status == 400
    assert response.error.startswith("zzz: unknown parameter; known are accountId")
    assert await world.stored() == before


async def test_unknown_fields_are_ignored_on_the_event_endpoint(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    body = orjson.dumps({"pbk": config.pbk, "slgu": 1, "accountId": "x", "$set": {}})
    assert (await world.client.post("/api/event", body)).status == 200
    assert (await world.client.get(f"/api/event?pbk={config.pbk}&slgu=1")).status == 200


@each(WITH_JSON)
async def test_ids_are_canonical_uuids_in_lower_case(world: World, endpoint: Endpoint) -> None:
    ids = [
        value
        for name, value in values((await answered(world, endpoint)).json())
        if name == "id" or (name.endswith("_id") and name not in ("event_id", "transaction_id"))
    ]
    assert all(one == str(UUID(one)) for one in ids if one is not None)


async def test_an_event_id_is_a_positive_integer_below_2_to_the_53rd_and_never_reused(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    ids = [
        (await world.client.get(f"/api/event?pbk={config.pbk}")).json()["eventId"] for _ in range(5)
    ]
    assert all(type(one) is int and 0 < one < 2**53 for one in ids)
    assert len(set(ids)) == 5


@each(WITH_JSON)
async def test_timestamps_are_iso_8601_utc_with_milliseconds_and_z(
    world: World, endpoint: Endpoint
) -> None:
    stamps = [
        value
        for name, value in values((await answered(world, endpoint)).json())
        if name.endswith("_at") and value is not None
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one) for one in stamps)


@each(KEYED_ENDPOINTS)
async def test_a_valid_request_id_is_returned_with_success_and_with_errors(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    for key in (await world.key(world.account), "trk_unknown"):
        sent = {"Authorization": f"Bearer {key}", "X_Request_Id": "known-id"}
        response = await world.client.request(endpoint.method, request.path, sent, request.body)
        assert response.headers.get_list("X-Request-Id") == ["known-id"]


NO_STRICT_OBJECT = [
    (b"", "body: must be valid JSON"),
    (b"{", "body: must be valid JSON"),
    (b"accountId=x", "body: must be valid JSON"),
    (b"[]", "body: must be a JSON object"),
    (b'"x"', "body: must be a JSON object"),
    (b'{"accountId":NaN}', "body: NaN is not a JSON number"),
    (b'{"accountId":-Infinity}', "body: -Infinity is not a JSON number"),
    (b'{"accountId":"x","accountId":"x"}', "body: the name 'accountId' is repeated"),
    (b'{"accountId":"\xff"}', "body: must be UTF-8"),
    (b'{"accountId":"\\u0000"}', "body: no null characters and no lone surrogates"),
    (b'{"accountId":"\\ud800"}', "body: no null characters and no lone surrogates"),
    (b'{"x":' * 40 + b"1" + b"}" * 40, "body: at most 32 levels deep"),
    (b"[" * 50_000, "body: at most 32 levels deep"),
]


@each(WITH_BODY)
async def test_a_body_that_is_not_a_strict_json_object_is_400_and_changes_nothing(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    before, key = await world.stored(), await world.key(world.account)
    sent: dict[str, str | bytes] = {"Authorization": f"Bearer {key}"}
    for body, error in NO_STRICT_OBJECT:
        response = await world.client.request(endpoint.method, request.path, sent, body)
        assert (response.status, response.error[: len(error)]) == (400, error)
    assert await world.stored() == before


@each(WITH_ID)
async def test_an_invalid_id_in_a_path_is_400(world: World, endpoint: Endpoint) -> None:
    request = await world.request(endpoint, world.account)
    sent: dict[str, str | bytes] = {"Authorization": f"Bearer {await world.key(world.account)}"}
    for text in ("x", "%ff", "%00", "%2e%2e", "0", "{id}", uuid4().hex, f"{uuid4()}%00"):
        path = re.sub(r"\{\w+\}", text, endpoint.path)
        response = await world.client.request(endpoint.method, path, sent, request.body)
        assert response.status == 400
        name = endpoint.id_names[0]
        rule = "must be a whole number" if name == "event_id" else "must be a UUID"
        assert response.error.startswith(f"{name}: {rule}")


# Keys and limits


def test_limits_are_100_a_minute_for_an_address_and_1000_an_hour_for_an_account() -> None:
    settings = Settings()
    assert settings.rate_limit_ip_per_minute == 100
    assert settings.rate_limit_account_per_hour == 1000


async def test_an_answer_shows_the_limits(world: World) -> None:
    key = {"Authorization": f"Bearer {await world.key(world.account)}"}
    response = await world.client.get(f"/api/tags?accountId={world.account.id}", **key)
    assert response.headers["X-RateLimit-Limit"] == "100"
    assert response.headers["X-RateLimit-Remaining"] == "99"
    assert response.headers["RateLimit-Policy"] == '"ip";q=100;w=60, "account";q=1000;w=3600'


async def test_the_order_of_checks_is_limit_key_limit_body_access_existence(
    world: World,
) -> None:
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


# Short links


async def test_macros_in_a_destination_are_filled_in_and_click_id_is_still_added(
    world: World,
) -> None:
    key = {"Authorization": f"Bearer {await world.key(world.account)}"}
    url = "https://shop.example/{slug}?c={click_id}&from={country}"
    fields = {"accountId": str(world.account.id), "destination_url": url, "slug": "abc"}
    made = await world.client.post("/api/short-links", orjson.dumps(fields), **key)
    assert made.json()["destination_url"] == url
    location = (await world.client.get("/c/abc")).headers["Location"]
    [click] = await journaled_clicks(world.services)
    click_id = UUID(bytes=click.id)
    assert location == (f"https://shop.example/abc?c={click_id}&from=unknown&click_id={click_id}")


async def test_deleting_archives_a_link_and_its_history_stays(world: World) -> None:
    key = {"Authorization": f"Bearer {await world.key(world.account)}"}
    link = await create_link(world.services, world.account.id, "abc")
    await world.services.stores.mongodb["clicks"].insert_one({"_id": new_id(), "link_id": link.id})
    path = f"/api/short-links/{link.id}"
    assert (await world.client.request("DELETE", path, {**key})).status == 200
    assert await world.services.stores.mongodb["links"].count_documents({"_id": link.id}) == 1
    assert await world.services.stores.mongodb["clicks"].count_documents({"link_id": link.id}) == 1


@pytest.mark.parametrize(
    ("slug", "status"),
    [("a", 200), ("A" * 64, 200), ("_-9", 200), ("A" * 65, 400), ("", 400), ("a.b", 400)],
)
async def test_a_slug_is_1_to_64_of_these_characters(world: World, slug: str, status: int) -> None:
    key = {"Authorization": f"Bearer {await world.key(world.account)}"}
    fields = {"accountId": str(world.account.id), "destination_url": LANDING, "slug": slug}
    made = await world.client.post("/api/short-links", orjson.dumps(fields), **key)
    assert made.status == status
    if status == 400:
        assert made.error == "slug: 1 to 64 of A-Z a-z 0-9 _ -"
