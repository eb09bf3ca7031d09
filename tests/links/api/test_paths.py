"""The paths of links over HTTP, and the short URL."""

from typing import Any

import orjson

from tests.factories import LANDING
from tests.links.api.short_links import BULK, audited, create, send
from tests.links.names.on_domains import proven
from tests.web.each import each_case
from tests.web.world import World

SENT = ["/summer/sale/", "caf\u00e9", "cafe\u0301", " a%20b%3F ", "%2e", "caf%C3%A9"]
SHOWN = ["summer/sale", "caf\u00e9", "a%20b%3F", "."]


async def on(world: World, domain: Any, **fields: Any) -> Any:
    return await create(world, domain_id=str(domain.id), **fields)


async def test_paths_are_created_changed_and_kept_in_the_history(world: World) -> None:
    domain = await proven(world.services, world.account.id)
    link = (await on(world, domain, slug="spring", paths=SENT)).json()
    assert link["paths"] == SHOWN
    again = await send(world, "PATCH", link["id"], {"paths": link["paths"]})
    assert again.json()["paths"] == SHOWN
    changed = await send(world, "PATCH", link["id"], {"paths": ["b", "summer/sale"]})
    assert changed.json()["paths"] == ["b", "summer/sale"]
    [entry, *_] = await audited(world.services, world.account)
    assert list(entry.changes) == ["paths"]
    assert entry.changes["paths"].after == '["b","summer/sale"]'
    listed = await world.api.get(f"/api/short-links?accountId={world.account.id}&search=summer")
    assert [row["id"] for row in listed.json()["rows"]] == [link["id"]]


@each_case(
    "paths, rule",
    [
        ([""], "paths: 1 to 255 bytes"),
        (["/"], "paths: 1 to 255 bytes"),
        (["//a"], "paths: 1 to 255 bytes"),
        (["a//"], "paths: 1 to 255 bytes"),
        (["a?b"], "paths: 1 to 255 bytes"),
        (["a#b"], "paths: 1 to 255 bytes"),
        (["a%00"], "paths: 1 to 255 bytes"),
        (["%FF"], "paths: 1 to 255 bytes"),
        (["\u00e9" * 128], "paths: 1 to 255 bytes"),
        (["c/a"], "paths: c/a is the service's, as are /c/, /.well-known/"),
        (["%63/a"], "paths: c/a is the service's"),
        ([".well-known/x"], "paths: .well-known/x is the service's"),
        (["robots.txt/"], "paths: robots.txt is the service's"),
        (["api/event"], "paths: api/event is the service's"),
        ([str(number) for number in range(21)], "paths: at most 20"),
        ("a", "paths"),
        (None, "paths"),
    ],
)
async def test_a_path_that_breaks_a_rule_is_refused(world: World, paths: Any, rule: str) -> None:
    answer = await create(world, domain_id="0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a1c", paths=paths)
    assert (answer.status, rule in answer.error) == (400, True), answer.error


async def test_paths_need_a_custom_domain(world: World) -> None:
    both = "paths: need domain_id, a custom domain"
    assert both in (await create(world, paths=["a"])).error
    link = (await create(world)).json()
    assert both in (await send(world, "PATCH", link["id"], {"paths": ["a"]})).error
    assert (await send(world, "PATCH", link["id"], {"paths": []})).status == 200


async def test_of_links_created_together_the_refused_one_is_named(world: World) -> None:
    domain = await proven(world.services, world.account.id)
    of = {"destination_url": LANDING, "domain_id": str(domain.id)}
    links = [{**of, "slug": "a"}, {**of, "paths": ["b", "a"]}]
    answer = await world.api.post(BULK, accountId=str(world.account.id), links=links)
    assert answer.error == "links[1].paths: already taken on this domain"
    assert answer.headers["X-Error-Code"] == "already_taken"


async def test_the_short_url_is_the_shortest_that_the_domain_serves(world: World) -> None:
    services, domain = world.services, await proven(world.services, world.account.id)
    claimed = await services.links.domains.create(world.account.id, "claimed.example")
    urls = {
        "http://tracker.test/c/spring": await create(world, slug="spring"),
        "http://go.example/spring": await on(
            world, domain, slug="spring", paths=["longer/one", ".", "a/.."]
        ),
        "http://go.example/plain": await on(world, domain, slug="plain"),
        "http://go.example/%C3%A9": await on(world, domain, slug="abc", paths=["ab", "\u00e9"]),
        "http://go.example/a%20%3F/b": await on(
            world, domain, slug="abcdef", paths=["a%20%3F%2Fb"]
        ),
        "http://claimed.example/c/spring": await on(world, claimed, slug="spring", paths=["a"]),
    }
    shown = [answer.json()["short_url"] for answer in urls.values()]
    assert shown == list(urls)
    path = f"/api/short-links?accountId={world.account.id}"
    rows = (await world.api.get(path)).json()["rows"]
    assert [row["short_url"] for row in rows] == shown[::-1]
    exported = (await world.api.get(f"{path}&format=ndjson")).body.splitlines()
    assert [orjson.loads(row)["short_url"] for row in exported] == shown[::-1]
    for url in shown[1:5]:
        opened = url.removeprefix("http://go.example")
        answer = await world.client.request("HEAD", opened, {"Host": "go.example"})
        assert answer.status == 302


async def test_a_slug_that_is_a_path_is_not_available(world: World) -> None:
    domain = await proven(world.services, world.account.id)
    await on(world, domain, slug="Spring", paths=["May"])
    path = f"/api/short-links/available?accountId={world.account.id}&domain_id={domain.id}&slug="

    async def free(*slugs: str) -> list[bool]:
        return [(await world.api.get(path + slug)).json()["available"] for slug in slugs]

    assert await free("Spring", "May", "spring", "may", "new") == [False, False, True, True, True]
    switch = {"accountId": str(world.account.id), "case_sensitive": False}
    await world.api.patch(f"/api/domains/{domain.id}", **switch)
    assert await free("Spring", "May", "spring", "may", "new") == [False] * 4 + [True]
