"""Changing many short links in one request: all of them or none, with their audit entries."""

from typing import Any
from uuid import UUID

import orjson
import pytest

from tests.factories import create_link
from tests.links.api.short_links import BULK, archived, audited
from tests.links.processes import process, visited
from tests.waiting import becomes
from tests.web.client import Response
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.access.audit import Audit
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.errors import Unavailable
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.service.services import Services


async def change(api: KeyedClient, account: Account, ids: Any, **fields: Any) -> Response:
    body = {"accountId": str(account.id), "ids": [str(one) for one in ids], **fields}
    return await api.send("PATCH", BULK, orjson.dumps(body))


async def links_of(services: Services) -> list[dict[str, Any]]:
    return await services.stores.mongodb["links"].find().sort("_id", 1).to_list(None)


async def three_links(services: Services, account: Account) -> list[Link]:
    return [await create_link(services, account.id, slug) for slug in "abc"]


async def missing(services: Services) -> str:
    """Return those of a, b and c that visitors of a process do not find."""
    return "".join([slug for slug in "abc" if await visited(services, slug) is None])


@pytest.mark.usefixtures("long_memory")
async def test_every_process_sees_all_links_change(world: World) -> None:
    async with process(world.services.settings) as other:
        links = await three_links(world.services, world.account)
        assert await missing(other) == ""
        ids = [links[2].id, links[0].id, links[2].id]
        response = await change(world.api, world.account, ids, archived=True)
        assert response.status == 200
        assert list(response.json()) == ["rows"]
        rows = response.json()["rows"]
        assert [(row["slug"], row["archived"]) for row in rows] == [("c", True), ("a", True)]
        opened = [(await world.client.get(f"/c/{slug}")).status for slug in "abc"]
        assert opened == [404, 302, 404]
        await becomes(lambda: missing(other), "ac")
        assert (await change(world.api, world.account, ids, archived=False)).status == 200
        assert (await world.client.get("/c/a")).status == 302


async def test_tags_are_added_after_those_of_the_link_and_removed(world: World) -> None:
    old, both, new = [
        (await world.services.links.tags.create(world.account.id, name)).id
        for name in ("old", "both", "new")
    ]
    links = [
        await create_link(world.services, world.account.id, slug, tags=tags)
        for slug, tags in (("a", []), ("b", [old]), ("c", [both, old]))
    ]
    fields = {"add_tags": [str(both), str(new), str(both)], "remove_tags": [str(old)]}
    response = await change(
        world.api, world.account, [one.id for one in links], **fields, active=False
    )
    rows = response.json()["rows"]
    assert [[tag["name"] for tag in row["tags"]] for row in rows] == [["both", "new"]] * 3
    assert [row["active"] for row in rows] == [False] * 3
    entries = await audited(world.services, world.account)
    assert {entry.action for entry in entries} == {"short_link.changed"}
    assert {entry.target.id for entry in entries} == {one.id for one in links}
    assert {frozenset(entry.changes) for entry in entries} == {frozenset({"tags", "active"})}


async def test_a_link_that_is_already_so_is_not_stored_and_not_audited(world: World) -> None:
    gone, kept = (
        await archived(world.services, world.account, slug="gone"),
        await create_link(world.services, world.account.id, "kept"),
    )
    response = await change(world.api, world.account, [gone.id, kept.id], archived=True)
    assert [row["archived"] for row in response.json()["rows"]] == [True, True]
    [entry] = await audited(world.services, world.account)
    assert (entry.action, entry.target.id) == ("short_link.archived", kept.id)
    assert await world.services.links.links.find(gone.id) == gone
    after = await world.services.links.links.find(kept.id)
    assert after is not None
    assert after.version == kept.version + 1


FOREIGN, OWN, MISSING = "FOREIGN", "OWN", str(UUID(int=404))


BROKEN: list[tuple[dict[str, Any], int, str]] = [
    ({}, 400, "body: needs active, archived, add_tags, remove_tags or an option"),
    ({"add_tags": []}, 400, "body: needs active, archived, add_tags, remove_tags or an option"),
    ({"external_id": "one"}, 400, "external_id: unknown field"),
    ({"click_parameter": "s"}, 400, "click_parameter: 1 to 64"),
    ({"expired_url": "http://tracker.test/c/abc"}, 400, "expired_url: must not be a redirect"),
    ({"ids": [], "active": False}, 400, "ids: must be a list of at least 1"),
    ({"ids": [MISSING] * 501, "active": False}, 400, "ids: must be a list of at most 500"),
    ({"add_tags": [OWN], "remove_tags": [OWN]}, 400, "remove_tags: add_tags has one of them"),
    ({"ids": [OWN, MISSING], "active": False}, 404, f"ids: not found: {MISSING}"),
    ({"ids": [MISSING, FOREIGN], "active": False}, 403, "ids: belongs to another account"),
    ({"add_tags": [OWN, MISSING]}, 404, f"add_tags: not found: {MISSING}"),
    ({"remove_tags": [MISSING]}, 404, f"remove_tags: not found: {MISSING}"),
    ({"add_tags": [MISSING, FOREIGN]}, 403, "add_tags: belongs to another account"),
    ({"remove_tags": [FOREIGN]}, 403, "remove_tags: belongs to another account"),
]


async def test_a_broken_rule_is_named_and_changes_nothing(world: World) -> None:
    links = await three_links(world.services, world.account)
    foreign_link = await create_link(world.services, world.other_account.id, "foreign")
    own_tag = await world.services.links.tags.create(world.account.id, "own")
    foreign_tag = await world.services.links.tags.create(world.other_account.id, "foreign")
    before = await links_of(world.services)
    for fields, status, error in BROKEN:
        body = {"ids": [str(one.id) for one in links], **fields}
        own, foreign = (
            (links[0].id, foreign_link.id) if "ids" in fields else (own_tag.id, foreign_tag.id)
        )
        text = orjson.dumps(body).decode().replace(OWN, str(own)).replace(FOREIGN, str(foreign))
        sent = {"accountId": str(world.account.id), **orjson.loads(text)}
        response = await world.api.patch(BULK, **sent)
        assert (response.status, response.error[: len(error)]) == (status, error)
    assert await links_of(world.services) == before
    assert await audited(world.services, world.account) == []


async def test_each_link_that_can_be_is_changed_and_the_others_say_why(world: World) -> None:
    able, newer = [await create_link(world.services, world.account.id, slug) for slug in "ab"]
    gone = await archived(world.services, world.account, slug="gone")
    domain = await world.services.links.domains.create(world.account.id, "go.example.com")
    orphan = await archived(world.services, world.account, slug="orphan", domain=domain)
    await world.services.stores.mongodb["domains"].delete_one({"_id": domain.id})
    foreign = await create_link(world.services, world.other_account.id, "foreign")
    ids = [orphan.id, able.id, foreign.id, UUID(int=404), newer.id, gone.id]
    revisions = [orphan.revision, able.revision, 1, 1, newer.revision + 1, gone.revision]
    fields = {"active": False, "archived": False, "revisions": revisions}
    response = await change(world.api, world.account, ids, **fields, all_or_nothing=False)
    assert response.status == 200
    assert [row["slug"] for row in response.json()["rows"]] == ["a", "gone"]
    results = response.json()["results"]
    assert [UUID(one["id"]) for one in results] == ids
    assert [one.get("code") for one in results] == [
        *("bad_request", None, "forbidden", "not_found", "changed_meanwhile", None)
    ]
    assert results[0]["error"].startswith(f"domain_id: short link {orphan.id} cannot be restored")
    stored = {
        row["slug"]: (row["active"], row["archived"]) for row in await links_of(world.services)
    }
    assert stored == {
        "a": (False, False),
        "b": (True, False),
        "gone": (False, False),
        "orphan": (True, True),
        "foreign": (True, False),
    }
    entries = await audited(world.services, world.account)
    assert {entry.target.id for entry in entries} == {able.id, gone.id}


async def test_a_tag_that_is_not_there_is_the_fault_of_no_link(world: World) -> None:
    links = await three_links(world.services, world.account)
    fields = {"add_tags": [MISSING], "all_or_nothing": False}
    response = await change(world.api, world.account, [one.id for one in links], **fields)
    assert (response.status, response.error) == (404, f"add_tags: not found: {MISSING}")


async def test_options_are_set_in_all_links_and_in_their_history(world: World) -> None:
    links = await three_links(world.services, world.account)
    options = {
        "starts_at": "2026-01-31T09:30:00.000Z",
        "expires_at": "2099-01-31T09:30:00.000Z",
        "expired_url": "https://example.com/ended",
        "redirect_status": 307,
        "pass_query": False,
        "click_parameter": "subid",
        "no_referrer": True,
        "notes": "Spring",
    }
    response = await change(world.api, world.account, [one.id for one in links], **options)
    shown = [{name: row[name] for name in options} for row in response.json()["rows"]]
    assert shown == [options] * 3
    entries = await audited(world.services, world.account)
    assert [entry.changes.keys() for entry in entries] == [options.keys()] * 3
    nothing = {"starts_at": None, "expired_url": None, "notes": None}
    response = await change(world.api, world.account, [links[0].id], **nothing)
    [row] = response.json()["rows"]
    assert {name: row[name] for name in options} == {**options, **nothing}


async def test_one_link_that_cannot_change_leaves_all_as_they_were(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    lost = await archived(world.services, world.account, slug="lost", domain=domain)
    await world.services.links.domains.delete(domain.id)
    full = await create_link(
        world.services, world.account.id, "full", tags=[new_id() for _ in range(100)]
    )
    tag = await world.services.links.tags.create(world.account.id, "one more")
    other = await archived(world.services, world.account, slug="other")
    ends = await create_link(world.services, world.account.id, "ends", expires_at=now())
    before = await links_of(world.services)
    for fields, error in (
        ({"archived": False}, f"domain_id: short link {lost.id} cannot be restored"),
        ({"add_tags": [str(tag.id)]}, f"add_tags: at most 100 tags for each link: {full.id}"),
        (
            {"starts_at": "2099-01-31T09:30:00.000Z"},
            f"expires_at: must be after starts_at: short link {ends.id}",
        ),
    ):
        ids = [other.id, lost.id, full.id, ends.id]
        response = await change(world.api, world.account, ids, **fields)
        assert response.status == 400
        assert response.error.startswith(error)
        assert await links_of(world.services) == before
    assert await audited(world.services, world.account) == []


async def test_links_do_not_change_without_their_audit_entries(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise Unavailable("storage is unavailable; try again")

    links = await three_links(world.services, world.account)
    before = await links_of(world.services)
    monkeypatch.setattr(Audit, "record_all", fail)
    response = await change(world.api, world.account, [one.id for one in links], archived=True)
    assert response.status == 503
    assert await links_of(world.services) == before
