"""Names of links on custom domains: slugs, other paths, case, and ids of the owner's."""

from typing import Any

from tests.factories import create_link
from tests.imports.lines import a_link, done, imported, outcomes, uploaded
from tests.web.world import World

HOST = "go.example"


async def a_domain(world: World, **fields: Any) -> None:
    domains = world.services.links.domains
    domain = await domains.create(world.account.id, HOST)
    await domains.verify(domain.id)
    await world.services.stores.mongodb["domains"].update_one(
        {"_id": domain.id}, {"$set": {"folds": False, **fields}}
    )


async def links(world: World) -> list[dict[str, Any]]:
    return await world.services.stores.mongodb["links"].find().sort("_id", 1).to_list(None)


async def test_what_is_no_slug_is_a_path_and_the_printed_one_is_never_dropped(
    world: World,
) -> None:
    await a_domain(world)
    items = (
        a_link("1", domain_name=HOST, path="été/50%", aliases=("sale", "summer sale")),
        a_link("2", domain_name=HOST, path="日本"),
        a_link("3", domain_name=HOST, path=""),
        a_link("4", domain_name=HOST, path="x" * 256),
    )
    path = await uploaded(world, *items)
    await done(world, path, "check", "run")
    assert [row[1:] for row in await outcomes(world, path)] == [
        ("create", ""),
        ("create", ""),
        ("refused", "path"),
        ("refused", "paths"),
    ]
    first, second = await links(world)
    assert (first["slug"], first["names"]) == ("sale", ["sale", "été/50%", "summer sale"])
    assert second["names"] == [second["slug"], "日本"]
    answer = await world.client.get("/%C3%A9t%C3%A9/50%25", Host=HOST)
    assert answer.headers["Location"].startswith("https://example.com/1?click_id=")
    again = await imported(world, *items)
    assert again["counts"] == {"same": 2, "refused": 2}


async def test_names_that_case_alone_tells_apart_conflict_where_it_does_not_count(
    world: World,
) -> None:
    await a_domain(world, folds=True, case_sensitive=False)
    items = [
        a_link(str(row), row=row, domain_name=HOST, path=name)
        for row, name in enumerate(("Sale", "sale", "ÉTÉ", "été"))
    ]
    path = await uploaded(world, *items)
    expected = [
        ("Sale", "create", ""),
        ("sale", "conflict", "path"),
        ("ÉTÉ", "create", ""),
        ("été", "conflict", "path"),
    ]
    for action in ("check", "run"):
        await done(world, path, action)
        assert await outcomes(world, path) == expected
    other = await uploaded(world, a_link("5", domain_name=HOST, path="SALE"), instance="2")
    await done(world, other, "check")
    assert await outcomes(world, other) == [("SALE", "conflict", "path")]


async def test_an_external_id_belongs_to_the_link_that_has_it(world: World) -> None:
    await create_link(world.services, world.account.id, "here", external_id="e1")
    items = (
        a_link("a", external_id="e1"),
        a_link("b", external_id="e2"),
        a_link("c", external_id="e2"),
    )
    path = await uploaded(world, *items)
    for action in ("check", "run"):
        await done(world, path, action)
        assert await outcomes(world, path) == [
            ("a", "conflict", "external_id"),
            ("b", "create", ""),
            ("c", "conflict", "external_id"),
        ]


async def test_another_path_or_id_at_the_source_is_told_and_left(world: World) -> None:
    await a_domain(world)
    await imported(world, a_link("a", domain_name=HOST, path="a/b", external_id="e1"))
    before = await links(world)
    for field, changed in (
        ("path", a_link("a", domain_name=HOST, path="a/c", external_id="e1")),
        ("path", a_link("a", domain_name=HOST, path="a/b", aliases=("x",), external_id="e1")),
        ("domain", a_link("a", path="a", external_id="e1")),
        ("external_id", a_link("a", domain_name=HOST, path="a/b", external_id="e2")),
    ):
        path = await uploaded(world, changed)
        await done(world, path, "check", "run")
        found = [(outcome, named) for _, outcome, named in await outcomes(world, path)]
        assert found == [("changed", field)] or (field, found) == ("domain", [("changed", "path")])
    assert await links(world) == before


async def test_an_undo_frees_every_name(world: World) -> None:
    await a_domain(world)
    item = a_link("a", domain_name=HOST, path="a/b", aliases=("c",))
    path = await uploaded(world, item)
    await done(world, path, "check", "run")
    assert (await world.client.get("/a/b", Host=HOST)).status == 302
    assert (await done(world, path, "undo"))["counts"] == {"removed": 1, "left": 0}
    assert (await world.client.get("/a/b", Host=HOST)).status == 404
    assert (await imported(world, item))["counts"] == {"create": 1}
    assert (await world.client.get("/a/b", Host=HOST)).status == 302
