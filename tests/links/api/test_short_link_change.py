"""Showing, changing and archiving a short link over HTTP."""

from typing import Any

from tests.factories import create_link
from tests.links.api.short_links import NEW, create, send, stored
from tests.web.each import each_case
from tests.web.world import World
from tracker.ids import new_id


async def test_a_link_is_shown_as_it_was_created_and_archived(world: World) -> None:
    made = (await create(world)).json()
    response = await send(world, "GET", made["id"])
    assert (response.status, response.json()) == (200, made)
    assert (await send(world, "GET", made["id"].upper())).json() == made
    assert (await send(world, "DELETE", made["id"])).status == 200
    assert (await send(world, "GET", made["id"])).json() == {
        **made,
        "archived": True,
        "revision": made["revision"] + 1,
    }


async def test_only_the_fields_that_are_sent_change(world: World) -> None:
    tag = await world.services.links.tags.create(world.account.id, "tag")
    shown = (await create(world, tags=[str(tag.id)], slug="abc")).json()
    assert (await world.client.get("/c/abc")).status == 302
    changes: list[dict[str, Any]] = [
        {"destination_url": NEW},
        {"internal_name": "  A new name "},
        {"active": False},
        {"tags": []},
        {},
        {"destination_url": f"{NEW}/2", "internal_name": "n", "active": True},
    ]
    for sent in changes:
        response = await send(world, "PATCH", shown["id"], sent)
        shown |= sent
        shown["revision"] += bool(sent)
        shown["internal_name"] = shown["internal_name"].strip()
        assert (response.status, response.json()) == (200, shown)
        assert (await send(world, "GET", shown["id"])).json() == shown
    assert (await world.client.get("/c/abc")).headers["Location"].startswith(f"{NEW}/2?")


async def test_an_empty_change_does_not_touch_the_stored_link(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    before = await stored(world.services, link.id)
    assert (await send(world, "PATCH", link.id, {})).status == 200
    assert await stored(world.services, link.id) == before


async def test_tags_are_replaced_without_repeats_in_the_order_sent(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    a, b = [
        str((await world.services.links.tags.create(world.account.id, name)).id) for name in "ab"
    ]
    for sent, kept in (([a], [a]), ([b, a, b], [b, a]), ([], []), ([b], [b])):
        response = await send(world, "PATCH", link.id, {"tags": sent})
        assert [tag["id"] for tag in response.json()["tags"]] == kept


@each_case(
    "body, error",
    [
        ({"slug": "other"}, "slug: unknown field"),
        ({"archived": True}, "archived: unknown field"),
        ({"destination_url": None}, "destination_url: must be text, got null"),
        ({"active": None}, "active: must be true or false, got null"),
        ({"tags": None}, "tags: must be a list, got null"),
        ({"destination_url": "http://tracker.test/c/x"}, "destination_url: must not be a redirect"),
    ],
)
async def test_a_broken_rule_is_named_and_changes_nothing(
    world: World, body: dict[str, Any], error: str
) -> None:
    link = await create_link(world.services, world.account.id, None)
    before = await stored(world.services, link.id)
    response = await send(world, "PATCH", link.id, {"active": False, **body})
    assert response.status == 400
    assert response.error.startswith(error)
    assert await stored(world.services, link.id) == before


async def test_tags_have_to_exist_and_belong_to_the_account(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    own = str((await world.services.links.tags.create(world.account.id, "own")).id)
    foreign = str((await world.services.links.tags.create(world.other_account.id, "foreign")).id)
    missing = str(new_id())
    for tags, status, error in (
        ([own, missing], 404, f"tags: not found: {missing}"),
        ([missing, foreign], 403, "tags: belongs to another account"),
    ):
        body = {"tags": tags, "active": False}
        response = await send(world, "PATCH", link.id, body)
        assert (response.status, response.error) == (status, error)
    assert (await stored(world.services, link.id))["active"]


async def test_deleting_stops_the_redirect_and_keeps_the_slug(world: World) -> None:
    link = await create_link(world.services, world.account.id, "abc")
    assert (await world.client.get("/c/abc")).status == 302
    response = await send(world, "DELETE", link.id)
    assert (response.status, response.json()) == (200, {"success": True})
    assert (await world.client.get("/c/abc")).status == 404
    assert (await world.client.get("/api/click?s=abc")).status == 404
    again = await send(world, "DELETE", link.id)
    assert (again.status, again.error) == (404, "short link: not found")
    taken = await create(world, slug="abc")
    assert (taken.status, taken.error) == (400, "slug: already taken on this domain")
    assert (await stored(world.services, link.id))["archived"]
