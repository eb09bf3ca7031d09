"""Listing short links: rows, pages and their order, bad queries, and whose links are shown."""

from uuid import UUID

from tests.factories import create_link
from tests.links.api.short_links import create, make_many
from tests.web.each import each_case
from tests.web.link_list import listed, slugs
from tests.web.world import World


async def test_a_made_link_is_listed_as_it_was_answered(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    tags = [await world.services.links.tags.create(world.account.id, name) for name in ("b", "a")]
    ids = [str(tag.id) for tag in tags]
    made = await create(world, domain_id=str(domain.id), tags=ids)
    rows = (await listed(world)).json()["rows"]
    assert rows == [made.json()]
    assert (rows[0]["domain_id"], rows[0]["domain_name"]) == (str(domain.id), "go.example")
    assert rows[0]["tags"] == [{"id": str(tag.id), "name": tag.name} for tag in tags]


async def test_pages_are_newest_first_and_the_totals_are_of_all_pages(world: World) -> None:
    await create_link(world.services, world.other_account.id, "not-ours")
    expected = await make_many(world.services, world.account, 26)
    for query, rows, (page, size, pages) in (
        ("", slice(25), (1, 25, 2)),
        ("page=2", slice(25, 26), (2, 25, 2)),
        ("page=3", slice(0), (3, 25, 2)),
        ("page=1000000000&pageSize=100", slice(0), (10**9, 100, 1)),
        ("pageSize=26", slice(26), (1, 26, 1)),
        ("pageSize=1&page=26", slice(25, 26), (26, 1, 26)),
    ):
        response = await listed(world, query)
        assert [row["slug"] for row in response.json()["rows"]] == expected[rows]
        pagination = {"page": page, "pageSize": size, "totalRows": 26, "totalPages": pages}
        assert response.json()["pagination"] == pagination


async def test_links_are_sorted_by_age_name_or_slug_with_their_ids_as_tie_break(
    world: World,
) -> None:
    for slug, name in (("b9", "Zoo"), ("B10", "ant 10"), ("a", "Ant 9"), ("C", "zoo")):
        await create_link(world.services, world.account.id, slug, internal_name=name)
    for sort, expected in (
        ("newest", ["C", "a", "B10", "b9"]),
        ("oldest", ["b9", "B10", "a", "C"]),
        ("name", ["a", "B10", "b9", "C"]),
        ("slug", ["a", "b9", "B10", "C"]),
    ):
        for page, rows in ((1, expected[:3]), (2, expected[3:])):
            query = {"sort": sort, "page": page, "pageSize": 3}
            assert await slugs(world, query) == rows


@each_case(
    "name, value, rule",
    [
        ("tagOperator", "XOR", "must be AND or OR"),
        ("sort", "id", "must be last_click or name or newest or oldest or slug"),
        ("active", "", "must be true or false, got text"),
        ("selectedTags", "x", "must be a UUID such as 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"),
        ("selectedTags", "[1]", "must be a UUID such as 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"),
        ("selectedTags", "[", "must be valid JSON (Expecting value, line 1 column 2)"),
        ("selectedTags", ",".join([str(UUID(int=404))] * 101), "at most 100"),
        ("search", "a" * 2049, "must be text of at most 2048 characters"),
    ],
)
async def test_a_bad_parameter_is_named_with_its_rule(
    world: World, name: str, value: str, rule: str
) -> None:
    response = await listed(world, {name: value})
    assert response.status == 400
    assert response.error == f"{name}: {rule}"


@each_case(
    "query, error",
    [
        ("page=1&page=2", "page: given more than once"),
        ("search=%ff", "parameters: must be UTF-8"),
        ("search=%ed%a0%80", "parameters: must be UTF-8"),
        ("search=a%00b", "parameters: no null characters"),
        ("&".join(f"x{number}=1" for number in range(201)), "parameters: at most 200"),
    ],
)
async def test_a_query_that_cannot_be_read_is_refused(world: World, query: str, error: str) -> None:
    response = await listed(world, query)
    assert (response.status, response.error) == (400, error)


@each_case(
    "name, meant",
    [
        ("selected_tags", "selectedTags"),
        ("selectedTags[a]", "selectedTags"),
        ("selectedTags[0][id]", "selectedTags"),
        ("tag_operator", "tagOperator"),
        ("Active", "active"),
        ("serch", "search"),
    ],
)
async def test_a_name_that_is_nearly_a_known_one_is_refused_not_ignored(
    world: World, name: str, meant: str
) -> None:
    response = await listed(world, {name: "x"})
    assert response.status == 400
    assert response.error == f"{name}: unknown parameter; did you mean {meant}?"


async def test_a_slug_finds_its_link_alone(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example.com")
    await create_link(world.services, world.account.id, "spring")
    await create_link(world.services, world.account.id, "SPRING")
    await create_link(world.services, world.account.id, "springs")
    await create_link(world.services, world.other_account.id, "sprung")
    there = await create_link(
        world.services,
        world.account.id,
        "spring",
        domain_id=domain.id,
        domain_name=domain.domain_name,
    )
    for sort in ("newest", "name"):
        query = f"slug=spring&sort={sort}&tagOperator=OR"
        assert await slugs(world, query) == ["spring", "spring"]
    assert await slugs(world, "slug=SPRING&sort=slug") == ["SPRING"]
    assert await slugs(world, "slug=sprung") == []
    await world.services.links.links.change(there.id, {"archived": True})
    assert await slugs(world, "slug=spring") == ["spring"]
    assert await slugs(world, "slug=spring&archived=true") == ["spring"]
    response = await listed(world, "slug=a.*")
    assert (response.status, response.error.partition(":")[0]) == (400, "slug")


async def test_a_tag_that_was_deleted_is_not_shown(world: World) -> None:
    tags = [
        await world.services.links.tags.create(world.account.id, name) for name in ("kept", "gone")
    ]
    await create_link(world.services, world.account.id, "abc", tags=[tag.id for tag in tags])
    await world.services.stores.mongodb["tags"].delete_one({"_id": tags[1].id})
    [row] = (await listed(world)).json()["rows"]
    assert row["tags"] == [{"id": str(tags[0].id), "name": "kept"}]
