"""Tags over HTTP: the POST that lists or creates, renaming, deleting and access."""

from typing import Any

import pytest

from tests.factories import create_link
from tests.web.world import World
from tracker.clock import iso, now
from tracker.errors import Unavailable
from tracker.links.lists.filter import LinkFilter
from tracker.links.store import Links
from tracker.links.tags import Tag, Tags

PATH = "/api/tags"


def shown(tag: Tag) -> dict[str, Any]:
    return {
        "id": str(tag.id),
        "account_id": str(tag.account_id),
        "name": tag.name,
        "created_at": iso(tag.created_at),
        "links": 0,
    }


async def test_a_post_with_a_name_creates_a_tag_and_without_one_lists_tags(world: World) -> None:
    before = now()
    response = await world.api.post(PATH, accountId=str(world.account.id), name="  Spring \u2713 ")
    assert response.status == 200
    tag = response.json()
    assert list(tag) == ["id", "account_id", "name", "created_at", "links"]
    assert (tag["account_id"], tag["name"]) == (str(world.account.id), "Spring \u2713")
    assert iso(before) <= tag["created_at"] <= iso(now())
    listed = await world.api.post(PATH, account_id=str(world.account.id))
    assert listed.status == 200
    assert listed.json() == {
        "rows": [tag],
        "pagination": {"page": 1, "pageSize": 25, "totalRows": 1, "totalPages": 1},
    }


async def test_a_tag_shows_how_many_links_have_it_without_archived_ones(world: World) -> None:
    rare, common, unused = [
        await world.services.links.tags.create(world.account.id, name)
        for name in ("rare", "common", "unused")
    ]
    for slug, tags in (("a", [rare, common]), ("b", [common]), ("c", []), ("gone", [rare])):
        link = await create_link(
            world.services, world.account.id, slug, tags=[tag.id for tag in tags]
        )
        if slug == "gone":
            await world.services.links.links.change(link.id, {"archived": True})
    for listed in (
        await world.api.get(f"{PATH}?accountId={world.account.id}"),
        await world.api.post(PATH, accountId=str(world.account.id)),
    ):
        counts = {row["id"]: row["links"] for row in listed.json()["rows"]}
        assert counts == {str(rare.id): 1, str(common.id): 2, str(unused.id): 0}
    renamed = await world.api.patch(f"{PATH}/{common.id}", name="frequent")
    assert renamed.json()["links"] == 2


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name: 1 to 190 characters"),
    ({"name": "a" * 191}, "name: 1 to 190 characters"),
    ({"name": "spring"}, "name: another tag of the account has it"),
]


async def test_a_broken_rule_is_named_with_its_field(world: World) -> None:
    await world.services.links.tags.create(world.account.id, "Spring")
    for fields, error in BROKEN:
        response = await world.api.post(PATH, **{"accountId": str(world.account.id), **fields})
        assert (response.status, response.error[: len(error)]) == (400, error)
    assert await world.services.stores.mongodb["tags"].count_documents({}) == 1


@pytest.mark.parametrize(
    ("scopes", "listing", "creating"), [(["tags:read"], 200, 403), (["tags:write"], 403, 200)]
)
async def test_creating_and_listing_by_post_need_different_scopes(
    world: World, scopes: list[str] | None, listing: int, creating: int
) -> None:
    api = await world.api_with(scopes)
    listed = await api.post(PATH, accountId=str(world.account.id))
    created = await api.post(PATH, accountId=str(world.account.id), name="a")
    assert (listed.status, created.status) == (listing, creating)
    refused = listed if listing == 403 else created
    missing = "tags:read" if refused is listed else "tags:write"
    assert refused.error == f"this API key lacks the scope {missing}"


async def test_a_tag_is_renamed(world: World) -> None:
    tag = await world.services.links.tags.create(world.account.id, "Spring")
    await world.services.links.tags.create(world.account.id, "Taken")
    response = await world.api.patch(f"{PATH}/{tag.id}", name=" SPRING ")
    assert response.json() == {**shown(tag), "name": "SPRING"}
    for name, error in (("taken", "name: another tag"), (" ", "name: 1 to 190 characters")):
        response = await world.api.patch(f"{PATH}/{tag.id}", name=name)
        assert response.status == 400
        assert response.error.startswith(error)
    response = await world.api.patch(f"{PATH}/{tag.id}")
    assert (response.status, response.error) == (400, "name: required")


async def test_a_deleted_tag_is_removed_from_all_links(world: World) -> None:
    gone, kept = [
        await world.services.links.tags.create(world.account.id, name) for name in ("gone", "kept")
    ]
    await create_link(world.services, world.account.id, "both", tags=[gone.id, kept.id])
    await create_link(world.services, world.account.id, "one", tags=[gone.id])
    response = await world.api.delete(f"{PATH}/{gone.id}")
    assert (response.status, response.json()) == (200, {"success": True})
    links, *_ = await world.services.links.lists.page(world.account.id, LinkFilter(), 1, 25)
    assert {link.slug: link.tags for link in links} == {"both": [kept.id], "one": []}
    assert await world.services.links.tags.find([gone.id, kept.id]) == {kept.id: kept}
    assert (await world.api.delete(f"{PATH}/{gone.id}")).status == 404


async def test_a_tag_can_be_deleted_again_after_a_crash(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise Unavailable("storage is unavailable; try again")

    tag = await world.services.links.tags.create(world.account.id, "Spring")
    await create_link(world.services, world.account.id, "one", tags=[tag.id])
    for store, method in ((Links, "untag"), (Tags, "delete")):
        with monkeypatch.context() as patched:
            patched.setattr(store, method, fail)
            assert (await world.api.delete(f"{PATH}/{tag.id}")).status == 503
        assert await world.services.links.tags.find([tag.id]) == {tag.id: tag}
    assert (await world.api.delete(f"{PATH}/{tag.id}")).status == 200
    links, *_ = await world.services.links.lists.page(world.account.id, LinkFilter(), 1, 25)
    assert links[0].tags == []


async def test_links_that_are_tagged_during_the_deletion_lose_the_tag_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tag = await world.services.links.tags.create(world.account.id, "Spring")
    delete = Tags.delete

    async def after_another(tags: Tags, tag_id: Any) -> None:
        await create_link(world.services, world.account.id, "late", tags=[tag.id])
        await delete(tags, tag_id)

    monkeypatch.setattr(Tags, "delete", after_another)
    assert (await world.api.delete(f"{PATH}/{tag.id}")).status == 200
    links, *_ = await world.services.links.lists.page(world.account.id, LinkFilter(), 1, 25)
    assert [(link.slug, link.tags) for link in links] == [("late", [])]
