"""Creating many short links in one request: all of them or none, also in a race."""

import asyncio
from typing import Any
from uuid import UUID

import msgspec
import orjson
import pytest

from tests.factories import LANDING, create_link, make_new_link
from tests.links.api.short_links import BULK, PATH
from tests.links.processes import visited
from tests.stores.redis.own_redis import unavailable_redis
from tests.waiting import PATIENCE_SECONDS
from tests.web.client import Response
from tests.web.world import World
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.links import store
from tracker.links.link import NewLink, cached_link
from tracker.service.services import Services

GOOD = {"destination_url": LANDING}
ACCOUNT = new_id()


def new_links(*slugs: str | None) -> list[NewLink]:
    return [make_new_link(ACCOUNT, slug=slug) for slug in slugs]


async def bulk(world: World, links: Any) -> Response:
    return await world.api.post(BULK, accountId=str(world.account.id), links=links)


async def count(services: Services) -> int:
    return await services.stores.mongodb["links"].count_documents({})


async def test_up_to_a_hundred_links_are_created_in_the_order_sent(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    tag = await world.services.links.tags.create(world.account.id, "tag")
    links: list[dict[str, Any]] = [{"destination_url": f"{LANDING}/{n}"} for n in range(98)]
    links.append({**GOOD, "slug": "own", "internal_name": "n", "active": False})
    links.append({**GOOD, "slug": "own", "domain_id": str(domain.id), "tags": [str(tag.id)]})
    response = await bulk(world, links)
    assert response.status == 200
    assert list(response.json()) == ["rows"]
    rows = response.json()["rows"]
    assert [row["destination_url"] for row in rows] == [one["destination_url"] for one in links]
    assert len({row["slug"] for row in rows[:98]}) == 98
    assert all(len(row["slug"]) == 7 for row in rows[:98])
    assert (rows[98]["slug"], rows[98]["active"], rows[98]["internal_name"]) == ("own", False, "n")
    assert rows[99]["short_url"] == "http://go.example/c/own"
    assert rows[99]["tags"] == [{"id": str(tag.id), "name": "tag"}]
    assert await count(world.services) == 100
    assert (await world.client.get(f"/c/{rows[0]['slug']}")).status == 302
    assert (await world.client.get("/c/own")).status == 404
    shown = await world.api.get(f"{PATH}/{rows[99]['id']}")
    assert shown.json() == rows[99]


FOREIGN, OWN, MISSING = "FOREIGN", "OWN", str(UUID(int=404))


INVALID: list[tuple[Any, int, str]] = [
    ({}, 400, "links[2].destination_url: required"),
    ({"destination_url": "http://tracker.test/c/x"}, 400, "links[2].destination_url: must not"),
    ({**GOOD, "slug": "taken"}, 400, "links[2].slug: already taken on this domain"),
    ({**GOOD, "slug": "first"}, 400, "links[2].slug: repeated in this request"),
    ({**GOOD, "accountId": MISSING}, 400, "links[2].accountId: unknown field"),
    (None, 400, "links[2]: must be an object, got null"),
    ({**GOOD, "tags": [OWN, MISSING]}, 404, f"links[2].tags: not found: {MISSING}"),
    ({**GOOD, "tags": [MISSING, FOREIGN]}, 403, "links[2].tags: belongs to another account"),
    ({**GOOD, "domain_id": MISSING}, 404, f"links[2].domain_id: not found: {MISSING}"),
    ({**GOOD, "domain_id": FOREIGN}, 403, "links[2].domain_id: belongs to another account"),
]


async def test_if_one_link_is_invalid_none_is_stored_and_the_message_names_it(world: World) -> None:
    own = await world.services.links.tags.create(world.account.id, "own")
    tag = await world.services.links.tags.create(world.other_account.id, "foreign")
    domain = await world.services.links.domains.create(world.other_account.id, "go.example")
    await create_link(world.services, world.other_account.id, "taken")
    for last, status, error in INVALID:
        sent = orjson.dumps([GOOD, {**GOOD, "slug": "first"}, last]).decode()
        sent = sent.replace(f'"domain_id":"{FOREIGN}"', f'"domain_id":"{domain.id}"')
        links = orjson.loads(sent.replace(FOREIGN, str(tag.id)).replace(OWN, str(own.id)))
        response = await bulk(world, links)
        assert (response.status, response.error[: len(error)]) == (status, error)
    # What is another account's is reported before what is missing.
    links = [{**GOOD, "tags": [MISSING]}, {**GOOD, "domain_id": str(domain.id)}]
    response = await bulk(world, links)
    error = "links[1].domain_id: belongs to another account"
    assert (response.status, response.error) == (403, error)
    assert await count(world.services) == 1
    assert (await world.client.get("/c/first")).status == 404


async def test_a_request_needs_one_to_a_hundred_links(world: World) -> None:
    for links, rule in (([], "at least 1"), ([GOOD] * 101, "at most 100")):
        response = await bulk(world, links)
        assert (response.status, response.error) == (400, f"links: must be a list of {rule}")
    assert await count(world.services) == 0


async def test_a_random_slug_that_is_taken_is_replaced(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_link(services, ACCOUNT, "taken")
    coming = iter(["free", "taken", "other", "last"])
    monkeypatch.setattr(store, "new_slug", lambda: next(coming))
    made = await services.links.links.create_all(new_links(None, None))
    assert [link.slug for link in made] == ["other", "last"]
    assert await count(services) == 3
    monkeypatch.setattr(store, "new_slug", lambda: "taken")
    with pytest.raises(BadRequest, match=r"^links\[1\]\.slug: "):
        await services.links.links.create_all(new_links("own", None))
    assert await count(services) == 3


async def test_while_redis_is_unavailable_links_are_created_without_waiting_for_each(
    services: Services,
) -> None:
    cut_off = Services(msgspec.structs.replace(services.settings, redis_url=unavailable_redis()))
    async with asyncio.timeout(PATIENCE_SECONDS):
        made = await cut_off.links.links.create_all(
            new_links(*(f"s{number}" for number in range(100)))
        )
    assert await visited(cut_off, "s99") == cached_link(made[99])
    await cut_off.stop()
    await cut_off.close()


async def test_bulk_is_not_the_id_of_a_link(world: World) -> None:
    for response in (await world.api.get(BULK), await world.api.delete(BULK)):
        assert (response.status, response.headers["Allow"]) == (405, "POST, PATCH")
