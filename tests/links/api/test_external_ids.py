"""Links by the ids that they have elsewhere: unique, found, and put."""

import asyncio
from typing import Any
from urllib.parse import quote
from uuid import UUID

import orjson

from tests.factories import LANDING, create_link
from tests.links.api.short_links import BULK, NEW, archived, audited, create, send, stored
from tests.web.client import Response
from tests.web.link_list import listed, slugs
from tests.web.world import World
from tracker.errors import ErrorCode
from tracker.ids import new_id

TAKEN = "external_id: already taken in this account"


async def put(world: World, external_id: str, /, **fields: Any) -> Response:
    body = {"accountId": str(world.account.id), "destination_url": LANDING, **fields}
    path = f"/api/short-links/external/{quote(external_id, safe='')}"
    return await world.api.send("PUT", path, orjson.dumps(body))


async def test_an_id_is_of_one_link_of_an_account_archived_ones_included(world: World) -> None:
    first = (await create(world, external_id=" one ", slug="first")).json()
    assert first["external_id"] == "one"
    await create_link(world.services, world.other_account.id, None, external_id="one")
    other = (await create(world, external_id="ONE")).json()
    links = [{"destination_url": LANDING, "external_id": name} for name in ("two", "one")]
    bulk = {"accountId": str(world.account.id), "links": links}
    twice = [{**one, "external_id": "two"} for one in links]
    for is_archived in (False, True):
        for refused, error in (
            (await create(world, external_id="one"), TAKEN),
            (await world.api.post(BULK, **bulk), f"links[1].{TAKEN}"),
            (await world.api.post(BULK, **{**bulk, "links": twice}), f"links[1].{TAKEN}"),
            (await send(world, "PATCH", other["id"], {"external_id": "one"}), TAKEN),
            (await create(world, slug="first"), "slug: already taken on this domain"),
        ):
            assert (refused.status, refused.error) == (400, error)
            assert refused.headers["X-Error-Code"] == ErrorCode.ALREADY_TAKEN
        if not is_archived:
            await send(world, "DELETE", first["id"])
    assert await world.services.stores.mongodb["links"].count_documents({}) == 3
    again = await send(world, "PATCH", other["id"], {"external_id": "ONE", "notes": "kept"})
    assert again.status == 200
    cleared = (await send(world, "PATCH", other["id"], {"external_id": None})).json()
    assert cleared["external_id"] is None
    assert (await create(world, external_id="ONE")).status == 200


async def test_the_list_finds_exactly_this_id_in_any_order(world: World) -> None:
    for slug, external_id in (("a", "Ref 1"), ("b", "ref 1"), ("c", None)):
        await create_link(world.services, world.account.id, slug, external_id=external_id)
    await archived(world.services, world.account, slug="d", external_id="old")
    for sort in ("newest", "oldest", "name", "slug", "last_click"):
        for query, expected in (
            ({"external_id": "Ref 1"}, ["a"]),
            ({"external_id": "ref 1", "search": "example"}, ["b"]),
            ({"external_id": "Ref 1", "slug": "a"}, ["a"]),
            ({"external_id": "Ref 1", "slug": "b"}, []),
            ({"external_id": "Ref"}, []),
            ({"external_id": ""}, []),
            ({"external_id": "old"}, []),
            ({"external_id": "old", "archived": "true"}, ["d"]),
        ):
            assert await slugs(world, {**query, "sort": sort}) == expected
    found = (await listed(world, {"external_id": "Ref 1"})).json()
    assert found["pagination"]["totalRows"] == 1


async def test_a_put_creates_a_link_and_then_changes_what_the_body_has(world: World) -> None:
    tag = await world.services.links.tags.create(world.account.id, "tag")
    for external_id in ("a/b ä%", "restore", str(new_id())):
        fields = {"tags": [str(tag.id)], "notes": "printed", "redirect_status": 307}
        created = (await put(world, external_id, **fields)).json()
        assert (created["external_id"], created["notes"]) == (external_id, "printed")
        expected = {**created, "destination_url": NEW, "active": False, "notes": None}
        expected["revision"] += 1
        changes = {
            "active": False,
            "notes": None,
            "internal_name": None,
            "destination_url": NEW,
            "slug": created["slug"],
            "domain_id": None,
            "external_id": external_id,
        }
        changed = await put(world, external_id, **changes)
        assert (changed.status, changed.json()) == (200, expected)
        entries = await audited(world.services, world.account)
        assert [one.action for one in entries[:2]] == ["short_link.changed", "short_link.created"]
        assert entries[0].changes.keys() == {"destination_url", "active", "notes"}


async def test_a_put_with_the_password_that_a_link_has_changes_nothing(world: World) -> None:
    first = (await put(world, "one", password="of the sale")).json()
    row = await stored(world.services, UUID(first["id"]))
    again = (await put(world, "one", password="of the sale")).json()
    assert again == first
    assert await stored(world.services, UUID(first["id"])) == row
    await put(world, "one", password="another")
    changed = await stored(world.services, UUID(first["id"]))
    assert changed["password_hash"] != row["password_hash"]
    assert (await put(world, "one")).json()["has_password"] is True
    assert (await put(world, "one", password=None)).json()["has_password"] is False
    entries = await audited(world.services, world.account)
    shown = [(one.changes["password"].before, one.changes["password"].after) for one in entries[:2]]
    assert shown == [("set", None), ("set", "changed")]
    assert len(entries) == 3


async def test_a_put_that_cannot_be_done_names_the_field(world: World) -> None:
    await put(world, "one", slug="first")
    await put(world, "other", slug="other")
    gone = (await put(world, "gone")).json()
    await send(world, "DELETE", gone["id"])
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    for external_id, fields, error in (
        ("one", {"slug": "second"}, "slug: cannot be changed; short link"),
        ("one", {"domain_id": str(domain.id)}, "domain_id: cannot be changed; short link"),
        ("one", {"external_id": "two"}, "external_id: must be the one in the path"),
        ("new", {"external_id": None}, "external_id: must be the one in the path"),
        ("gone", {}, f"external_id: short link {gone['id']} is archived; restore it first"),
        ("new", {"slug": "first"}, "slug: already taken on this domain"),
        (" ", {}, "external_id: 1 to 255 characters"),
        ("\0", {}, "external_id: 1 to 255 characters"),
        ("e" * 256, {}, "external_id: 1 to 255 characters"),
        ("one", {"destination_url": "x"}, "destination_url: must be an absolute"),
    ):
        refused = await put(world, external_id, **fields)
        assert (refused.status, refused.error[: len(error)]) == (400, error)
    body = orjson.dumps({"accountId": str(world.account.id), "destination_url": LANDING})
    no_text = await world.api.send("PUT", "/api/short-links/external/%ff", body)
    assert (no_text.status, no_text.error[:11]) == (400, "external_id")
    assert await world.services.stores.mongodb["links"].count_documents({}) == 3


async def test_puts_at_once_make_one_link(world: World) -> None:
    answers = await asyncio.gather(*(put(world, "one", notes=str(n)) for n in range(8)))
    assert [one.status for one in answers] == [200] * 8
    [link_id] = {one.json()["id"] for one in answers}
    entries = await audited(world.services, world.account)
    assert [one.action for one in entries].count("short_link.created") == 1
    [row] = await world.services.stores.mongodb["links"].find().to_list(None)
    assert (str(row["_id"]), row["external_id"]) == (link_id, "one")


async def test_a_link_without_an_id_stores_none(world: World) -> None:
    for _ in range(2):
        link = await create_link(world.services, world.account.id, None)
        assert "external_id" not in await stored(world.services, link.id)
