"""The rules that hold for every endpoint, each in a test named after it.

What is shown elsewhere is not repeated here: keys and other accounts in `test_access`, limits in
`test_limits`, short links in `test_short_link*`, destinations in `tests/links`.
"""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest

from config.settings import Settings
from tests.api.client import Client, Response
from tests.api.records import journaled_clicks
from tests.api.world import World
from tests.factories import LANDING, create_event_config, create_link
from tracker.access.accounts import Account
from tracker.api.endpoint import Endpoint, Nothing
from tracker.api.routes import KEYED_ENDPOINTS
from tracker.api.schema import Paged
from tracker.ids import new_id
from tracker.service.services import Services

ALL = [pytest.param(one, id=f"{one.method} {one.path}") for one in KEYED_ENDPOINTS]
WITH_BODY = [
    param for param, one in zip(ALL, KEYED_ENDPOINTS, strict=True) if one.body is not Nothing
]
WITH_ID = [param for param, one in zip(ALL, KEYED_ENDPOINTS, strict=True) if one.id_names]
LISTS = {
    "short links": ("GET", "/api/short-links", "links"),
    "tags": ("GET", "/api/tags", "tags"),
    "tags by POST": ("POST", "/api/tags", "tags"),
    "domains": ("GET", "/api/domains", "domains"),
    "event configs": ("GET", "/api/event-configs", "event_configs"),
    "webhooks": ("GET", "/api/webhooks", "webhooks"),
    "keys": ("GET", "/api/keys", "api_keys"),
}
UNIQUE = {"slug", "key", "domain_name", "pbk", "sha256"}


@pytest.fixture
def world(services: Services, client: Client, account: Account, other_account: Account) -> World:
    return World(services, client, account, other_account)


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


@pytest.mark.parametrize("endpoint", ALL)
async def test_every_success_is_200_including_creations(world: World, endpoint: Endpoint) -> None:
    response = await answered(world, endpoint)
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/json; charset=utf-8"


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


@pytest.mark.parametrize("endpoint", WITH_BODY)
async def test_unknown_body_fields_are_400_naming_the_field(
    world: World, endpoint: Endpoint
) -> None:
    request = await world.request(endpoint, world.account)
    before, key = await world.stored(), await world.key(world.account)
    for name in ("slgu", "$set", "a.b", "", "__proto__", "id"):
        response = await world.send_named(request, key, {"accountId": world.account.id, name: 1})
        assert (response.status, response.error) == (400, f"{name}: unknown field")
    assert await world.stored() == before


async def test_unknown_fields_are_ignored_on_the_event_endpoint(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    body = orjson.dumps({"pbk": config.pbk, "slgu": 1, "accountId": "x", "$set": {}})
    assert (await world.client.post("/api/event", body)).status == 200
    assert (await world.client.get(f"/api/event?pbk={config.pbk}&slgu=1")).status == 200


@pytest.mark.parametrize("endpoint", ALL)
async def test_ids_are_canonical_uuids_in_lower_case(world: World, endpoint: Endpoint) -> None:
    ids = [
        value
        for name, value in values((await answered(world, endpoint)).json())
        if name == "id" or (name.endswith("_id") and name != "event_id")
    ]
    assert all(one == str(UUID(one)) for one in ids)


async def test_an_event_id_is_a_positive_integer_below_2_to_the_53rd_and_never_reused(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    ids = [
        (await world.client.get(f"/api/event?pbk={config.pbk}")).json()["eventId"] for _ in range(5)
    ]
    assert all(type(one) is int and 0 < one < 2**53 for one in ids)
    assert len(set(ids)) == 5


@pytest.mark.parametrize("endpoint", ALL)
async def test_timestamps_are_iso_8601_utc_with_milliseconds_and_z(
    world: World, endpoint: Endpoint
) -> None:
    stamps = [
        value
        for name, value in values((await answered(world, endpoint)).json())
        if name.endswith("_at") and value is not None
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one) for one in stamps)


@pytest.mark.parametrize("endpoint", ALL)
async def test_a_sane_request_id_is_returned_with_success_and_with_errors(
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
    (b"[" * 100_000, "body: at most 32 levels deep"),
]


@pytest.mark.parametrize("endpoint", WITH_BODY)
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


@pytest.mark.parametrize("endpoint", WITH_ID)
async def test_an_invalid_uuid_in_a_path_is_400(world: World, endpoint: Endpoint) -> None:
    request = await world.request(endpoint, world.account)
    sent: dict[str, str | bytes] = {"Authorization": f"Bearer {await world.key(world.account)}"}
    for text in ("x", "%ff", "%00", "%2e%2e", "0", "{id}", uuid4().hex):
        path = re.sub(r"\{\w+\}", text, endpoint.path)
        response = await world.client.request(endpoint.method, path, sent, request.body)
        assert response.status == 400
        assert response.error.startswith(f"{endpoint.id_names[0]}: must be a UUID")


async def listed(world: World, name: str, key: str, **fields: Any) -> Response:
    method, path, _ = LISTS[name]
    sent: dict[str, str | bytes] = {"Authorization": f"Bearer {key}"}
    fields = {"accountId": str(world.account.id), **fields}
    if method == "POST":
        return await world.client.request(method, path, sent, orjson.dumps(fields))
    query = "&".join(f"{field}={value}" for field, value in fields.items())
    return await world.client.request(method, f"{path}?{query}", sent)


async def many(world: World, name: str) -> list[str]:
    """Create 60 objects, half of them the other account's. Return the own ids, newest first."""
    _, path, collection = LISTS[name]
    rows = world.services.database[collection]
    create = next(one for one in KEYED_ENDPOINTS if one.path == f"{path}/{{id}}")
    await world.request(create, world.account)
    first = await rows.find_one({})
    assert first is not None
    copies = []
    for number in range(60):
        owner = (world.account, world.other_account)[number % 2]
        unique = dict.fromkeys(UNIQUE & set(first), f"{number}")
        copies.append({**first, "_id": new_id(), "account_id": owner.id, **unique})
    await rows.insert_many(copies)
    own = rows.find({"account_id": world.account.id}).sort("_id", -1)
    return [str(row["_id"]) async for row in own]


@pytest.mark.parametrize("name", LISTS)
async def test_lists_have_pages_of_25_newest_first_and_a_page_past_the_end_is_empty(
    world: World, name: str
) -> None:
    key = await world.key(world.account)
    ids = await many(world, name)
    total = len(ids)
    for fields, shown, page, size in (
        ({}, ids[:25], 1, 25),
        ({"page": 1}, ids[:25], 1, 25),
        ({"page": 2}, ids[25:50], 2, 25),
        ({"page": 3}, [], 3, 25),
        ({"page": 10**9}, [], 10**9, 25),
        ({"page": 7, "pageSize": 3}, ids[18:21], 7, 3),
        ({"pageSize": 100}, ids, 1, 100),
        ({"pageSize": 1}, ids[:1], 1, 1),
    ):
        answer = (await listed(world, name, key, **fields)).json()
        assert list(answer) == ["rows", "pagination"]
        assert [row["id"] for row in answer["rows"]] == shown
        assert answer["pagination"] == {
            "page": page,
            "pageSize": size,
            "totalRows": total,
            "totalPages": -(-total // size),
        }


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("field", ["page", "pageSize"])
async def test_an_invalid_page_is_400(world: World, name: str, field: str) -> None:
    key = await world.key(world.account)
    for value in (0, -1, 10**10, 2**63, 1.5, "x"):
        response = await listed(world, name, key, **{field: value})
        assert response.status == 400
        assert response.error.startswith(f"{field}: must be a whole number")


@pytest.mark.parametrize("name", LISTS)
async def test_an_account_sees_no_objects_of_others(world: World, name: str) -> None:
    await many(world, name)
    fresh = world._replace(account=await world.services.accounts.create("Fresh"))
    answer = (await listed(fresh, name, await fresh.key(fresh.account))).json()
    own = name == "keys"  # that of this very request
    assert len(answer["rows"]) == answer["pagination"]["totalRows"] == own
    assert answer["pagination"]["totalPages"] == own


# Keys and limits


def test_limits_are_100_a_minute_for_an_address_and_1000_an_hour_for_an_account() -> None:
    settings = Settings()
    assert settings.rate_limit_ip_per_minute == 100
    assert settings.rate_limit_account_per_hour == 1000


async def test_an_answer_shows_the_limits(world: World) -> None:
    response = await listed(world, "tags", await world.key(world.account))
    assert response.headers["X-RateLimit-Limit"] == "100"
    assert response.headers["X-RateLimit-Remaining"] == "99"
    assert response.headers["RateLimit-Policy"] == '"ip";q=100;w=60, "account";q=1000;w=3600'


async def test_the_order_of_checks_is_limit_key_limit_body_access_existence(
    world: World,
) -> None:
    """One request breaks every rule, which are then met one by one."""
    services, client = world.services, world.client
    own, missing = await world.key(world.account), str(new_id())
    reading = await world.key(world.account, scopes=["links:read"])
    await services.redis.set("rate_limit:ip:127.0.0.1", 1000, ex=60)
    await services.redis.set(f"rate_limit:account:{world.account.id}", 1000, ex=60)

    async def status(key: str, link_id: str = missing, **fields: Any) -> tuple[int, str]:
        sent: dict[str, str | bytes] = {"Authorization": f"Bearer {key}"}
        body = orjson.dumps({"active": False, **fields})
        response = await client.request("PATCH", f"/api/short-links/{link_id}", sent, body)
        return response.status, response.error.partition(":")[0]

    assert await status("trk_unknown", active=1) == (429, "rate limit")
    await services.redis.delete("rate_limit:ip:127.0.0.1")
    assert await status("trk_unknown", active=1) == (401, "API key")
    assert await status(reading, active=1) == (429, "rate limit")
    await services.redis.delete(f"rate_limit:account:{world.account.id}")
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
    await world.services.database["clicks"].insert_one({"_id": new_id(), "link_id": link.id})
    path = f"/api/short-links/{link.id}"
    assert (await world.client.request("DELETE", path, {**key})).status == 200
    assert await world.services.database["links"].count_documents({"_id": link.id}) == 1
    assert await world.services.database["clicks"].count_documents({"link_id": link.id}) == 1


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


def test_every_list_is_in_the_table() -> None:
    lists = {(method, path) for method, path, _ in LISTS.values()}
    paged = {
        (one.method, one.path)
        for one in KEYED_ENDPOINTS
        if any(issubclass(kind, Paged) for kind in (one.query, one.body))
    }
    # The pages of a report have sums, not objects: `test_reports` shows them. Deliveries are a
    # webhook's, not an account's: `test_deliveries` shows theirs.
    others = {("POST", "/api/reports"), ("GET", "/api/webhooks/{id}/deliveries")}
    assert paged - lists == others, "add these to LISTS"
