"""Showing, changing and archiving a short link over HTTP."""

from typing import Any

import pytest

from tests.factories import create_link
from tests.links.api.short_links import METHODS, NEW, create, send, stored
from tests.web.world import World
from tracker.ids import EXAMPLE_ID, new_id


async def test_a_link_is_shown_as_it_was_created(world: World) -> None:
    made = (await create(world.client, world.secret, accountId=str(world.account.id))).json()
    response = await send(world.client, world.secret, "GET", made["id"])
    assert (response.status, response.json()) == (200, made)
    assert (await send(world.client, world.secret, "GET", made["id"].upper())).json() == made


async def test_an_archived_link_is_shown_as_such(world: World) -> None:
    made = (await create(world.client, world.secret, accountId=str(world.account.id))).json()
    assert (await send(world.client, world.secret, "DELETE", made["id"])).status == 200
    response = await send(world.client, world.secret, "GET", made["id"])
    assert (response.status, response.json()) == (200, {**made, "archived": True})


@pytest.mark.parametrize(("method", "body"), METHODS[1:])
async def test_an_archived_link_cannot_be_changed(world: World, method: str, body: Any) -> None:
    gone = await create_link(world.services, world.account.id, "gone")
    await world.services.links.links.change(gone.id, {"archived": True})
    before = await stored(world.services, gone.id)
    response = await send(world.client, world.secret, method, gone.id, body)
    assert (response.status, response.error) == (404, "short link: not found")
    assert await stored(world.services, gone.id) == before


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ({"destination_url": NEW}, {"destination_url": NEW}),
        ({"internal_name": "  A new name "}, {"internal_name": "A new name"}),
        ({"active": False}, {"active": False}),
        ({"active": True}, {}),
        ({"tags": []}, {"tags": []}),
        (
            {"destination_url": NEW, "internal_name": "n", "active": False, "tags": []},
            {"destination_url": NEW, "internal_name": "n", "active": False, "tags": []},
        ),
        ({}, {}),
    ],
    ids=str,
)
async def test_only_the_fields_that_are_sent_change(
    world: World,
    sent: dict[str, Any],
    shown: dict[str, Any],
) -> None:
    tag = await world.services.links.tags.create(world.account.id, "tag")
    made = await create(
        world.client, world.secret, accountId=str(world.account.id), tags=[str(tag.id)]
    )
    link_id = made.json()["id"]
    response = await send(world.client, world.secret, "PATCH", link_id, sent)
    assert (response.status, response.json()) == (200, made.json() | shown)
    assert (await send(world.client, world.secret, "GET", link_id)).json() == response.json()


async def test_an_empty_change_does_not_touch_the_stored_link(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    before = await stored(world.services, link.id)
    assert (await send(world.client, world.secret, "PATCH", link.id, {})).status == 200
    assert await stored(world.services, link.id) == before


async def test_tags_are_replaced_without_repeats_in_the_order_sent(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    a, b = [
        str((await world.services.links.tags.create(world.account.id, name)).id) for name in "ab"
    ]
    for sent, kept in (([a], [a]), ([b, a, b], [b, a]), ([], []), ([b], [b])):
        response = await send(world.client, world.secret, "PATCH", link.id, {"tags": sent})
        assert [tag["id"] for tag in response.json()["tags"]] == kept


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"slug": "other"}, "slug: unknown field"),
        ({"domain_id": None}, "domain_id: unknown field"),
        ({"archived": True}, "archived: unknown field"),
        ({"version": 1}, "version: unknown field"),
        ({"$set": {"active": False}}, "$set: unknown field"),
        ({"destination_url": None}, "destination_url: must be text, got null"),
        ({"internal_name": None}, "internal_name: must be text, got null"),
        ({"active": None}, "active: must be true or false, got null"),
        ({"tags": None}, "tags: must be a list, got null"),
        ({"active": 1}, "active: must be true or false, got a whole number"),
        ({"active": "true"}, "active: must be true or false, got text"),
        ({"tags": [None]}, f"tags[0]: must be a UUID such as {EXAMPLE_ID}, got null"),
        ({"tags": [{"id": "x"}]}, f"tags[0]: must be a UUID such as {EXAMPLE_ID}, got an object"),
        ({"destination_url": "x"}, "destination_url: must be an absolute http or https URL"),
        ({"destination_url": "http://tracker.test/c/x"}, "destination_url: must not be a redirect"),
        ({"destination_url": "http://go.example/c/x"}, "destination_url: must not be a redirect"),
        ({"internal_name": ""}, "internal_name: 1 to 255 characters"),
        ({"internal_name": "a" * 256}, "internal_name: 1 to 255 characters"),
        ({"accountId": "x"}, "accountId: must be a UUID"),
        ([], "body: must be a JSON object"),
        ("active", "body: must be a JSON object"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_broken_rule_is_named_and_changes_nothing(
    world: World, body: Any, error: str
) -> None:
    await world.services.links.domains.create(world.account.id, "go.example")
    link = await create_link(world.services, world.account.id)
    before = await stored(world.services, link.id)
    sent = {"active": False, **body} if isinstance(body, dict) else body
    response = await send(world.client, world.secret, "PATCH", link.id, sent)
    assert response.status == 400
    assert response.error.startswith(error)
    assert await stored(world.services, link.id) == before


async def test_a_change_without_a_body_is_rejected(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    response = await send(world.client, world.secret, "PATCH", link.id)
    assert response.status == 400
    assert response.error.startswith("body: must be valid JSON")


async def test_a_change_may_name_the_own_account_only(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    for name in ("accountId", "account_id"):
        for account_id, status in (
            (world.account.id, 200),
            (world.other_account.id, 403),
            (new_id(), 403),
        ):
            body = {name: str(account_id), "internal_name": "changed"}
            assert (await send(world.client, world.secret, "PATCH", link.id, body)).status == status
            shown = await send(world.client, world.secret, "GET", f"{link.id}?{name}={account_id}")
            assert shown.status == status


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
        response = await send(world.client, world.secret, "PATCH", link.id, body)
        assert (response.status, response.error) == (status, error)
    assert (await stored(world.services, link.id))["active"]


async def test_deleting_stops_the_redirect_and_keeps_the_slug(world: World) -> None:
    link = await create_link(world.services, world.account.id, "abc")
    assert (await world.client.get("/c/abc")).status == 302
    response = await send(world.client, world.secret, "DELETE", link.id)
    assert (response.status, response.json()) == (200, {"success": True})
    assert (await world.client.get("/c/abc")).status == 404
    assert (await world.client.get("/api/click?s=abc")).status == 404
    again = await send(world.client, world.secret, "DELETE", link.id)
    assert (again.status, again.error) == (404, "short link: not found")
    taken = await create(world.client, world.secret, accountId=str(world.account.id), slug="abc")
    assert (taken.status, taken.error) == (400, "slug: already taken on this domain")
    assert (await stored(world.services, link.id))["archived"]
