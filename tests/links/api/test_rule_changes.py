"""Earlier rules of a link, their return, and the end of a split, over HTTP."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.factories import LANDING, create_link, make_split
from tests.links.api.rules import LANDING_A, LANDING_B, rule, split
from tests.links.api.short_links import audited, create, send, stored
from tests.web.world import World
from tracker.clock import iso, now
from tracker.links.rules import versions

PARTS = ("destination_url", "rules", "split")


async def changed(world: World, link: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = await send(world, "PATCH", link["id"], fields)
    assert answer.status == 200, answer.error
    found: dict[str, Any] = answer.json()
    return found


async def history(world: World, link: dict[str, Any]) -> list[dict[str, Any]]:
    answer = await send(world, "GET", f"{link['id']}/rules/history")
    rows: list[dict[str, Any]] = answer.json()["rows"]
    return rows


async def restored(world: World, link: dict[str, Any], version: int) -> Any:
    return await send(world, "POST", f"{link['id']}/rules/restore", {"version": version})


async def ended(world: World, link: dict[str, Any], variant_id: str) -> Any:
    return await send(world, "POST", f"{link['id']}/split/end", {"variant_id": variant_id})


def deciding(link: dict[str, Any]) -> dict[str, Any]:
    return {name: link[name] for name in PARTS}


async def test_what_a_change_of_rules_or_splits_replaces_is_listed(world: World) -> None:
    started = now() - timedelta(milliseconds=1)
    bare = (await create(world)).json()
    first = await changed(world, bare, rules=[rule()])
    await changed(world, first, internal_name="Of no rule")
    await changed(world, first, rules=first["rules"])
    second = await changed(world, first, split=split(), destination_url=LANDING_B)
    await changed(world, second, rules=[], split=None)
    rows = await history(world, bare)
    assert [deciding(row) for row in rows] == [deciding(one) for one in (second, first, bare)]
    assert [row["version"] for row in rows] == sorted({row["version"] for row in rows})[::-1]
    assert all(iso(started) <= row["at"] <= iso(now()) for row in rows)
    assert {row["actor"]["kind"] for row in rows} == {"api_key"}


async def test_one_call_undoes_a_change_and_another_the_undo(world: World) -> None:
    before = (await create(world, rules=[rule(split=split())], split=split(c=1, d=2))).json()
    secret = (await stored(world.services, UUID(before["id"])))["split"]["secret"]
    after = await changed(world, before, rules=[], split=None, destination_url=LANDING_B)
    [replaced] = await history(world, before)
    undone = await restored(world, before, replaced["version"])
    assert deciding(undone.json()) == deciding(before)
    assert (await stored(world.services, UUID(before["id"])))["split"]["secret"] == secret
    redone = await restored(world, before, (await history(world, before))[0]["version"])
    assert deciding(redone.json()) == deciding(after)
    assert len(await history(world, before)) == 3
    entry, *_ = await audited(world.services, world.account)
    assert entry.action == "short_link.changed"
    assert list(entry.changes) == ["destination_url", "rules", "split"]


async def test_changes_at_once_are_all_listed_and_each_can_be_undone(world: World) -> None:
    link = (await create(world, rules=[rule("first")])).json()
    changes = [changed(world, link, rules=[rule(f"{number}")]) for number in range(4)]
    await asyncio.gather(*changes)
    rows = await history(world, link)
    now_shown = (await send(world, "GET", link["id"])).json()
    names = [row["rules"][0]["name"] for row in (now_shown, *rows)]
    assert sorted(names) == ["0", "1", "2", "3", "first"]
    assert names[-1] == "first"
    assert len({row["version"] for row in rows}) == 4
    known = {row["rules"][0]["id"] for row in (now_shown, *rows)}
    assert len(known) == 5
    for row in rows:
        assert (await restored(world, link, row["version"])).json()["rules"] == row["rules"]


async def test_only_the_last_versions_are_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "MAX_VERSIONS", 3)
    link = (await create(world)).json()
    for number in range(6):
        await changed(world, link, rules=[rule(str(number))])
    names = [row["rules"][0]["name"] for row in await history(world, link)]
    assert names == ["4", "3", "2"]


async def test_a_version_or_variant_that_the_link_has_not_is_not_found(world: World) -> None:
    link = (await create(world, split=split())).json()
    other = (await create(world, split=split())).json()
    await changed(world, other, split=None)
    [version] = [row["version"] for row in await history(world, other)]
    assert (await restored(world, link, version)).error == f"version: not found: {version}"
    gone = other["split"]["variants"][0]["id"]
    for lacking in (link, other):
        answer = await ended(world, lacking, gone)
        assert (answer.status, answer.error) == (404, f"variant_id: not found: {gone}")


async def test_neither_works_on_an_archived_link_whose_history_is_still_shown(
    world: World,
) -> None:
    link = (await create(world, split=split())).json()
    await changed(world, link, rules=[rule()])
    [row] = await history(world, link)
    await send(world, "DELETE", link["id"])
    assert (await restored(world, link, row["version"])).status == 404
    assert (await ended(world, link, link["split"]["variants"][0]["id"])).status == 404
    assert await history(world, link) == [row]


async def test_rules_that_a_permanent_redirect_cannot_have_are_not_restored(world: World) -> None:
    link = (await create(world, rules=[rule()])).json()
    await changed(world, link, rules=[], redirect_status=301)
    [row] = await history(world, link)
    answer = await restored(world, link, row["version"])
    assert answer.error == "redirect_status: 301 is permanent, so not with rules"


async def test_the_variant_that_ends_a_split_takes_its_place(world: World) -> None:
    link = (await create(world, rules=[rule("A"), rule("B", split=split())], split=split())).json()
    own, of_rule = (one["variants"][1] for one in (link["split"], link["rules"][1]["split"]))
    after = (await ended(world, link, own["id"])).json()
    assert (after["destination_url"], after["split"]) == (own["destination_url"], None)
    assert after["rules"] == link["rules"]
    last = (await ended(world, link, of_rule["id"])).json()
    assert last["rules"][1]["destination_url"] == of_rule["destination_url"]
    assert "split" not in last["rules"][1]
    assert [one["id"] for one in last["rules"]] == [one["id"] for one in link["rules"]]
    assert last["rules"][0]["destination_url"] == LANDING_A
    assert len(await history(world, link)) == 2


async def test_warnings_are_answered_by_changes_alone(world: World) -> None:
    bad = {"rules": [rule("A"), rule("B")]}
    link = (await create(world, **bad)).json()
    expected = [
        {"path": "rules[1]", "message": "is never reached: rules[0] holds whenever it does"}
    ]
    assert link["warnings"] == expected
    assert (await changed(world, link, internal_name="Other"))["warnings"] == expected
    assert "warnings" not in (await send(world, "GET", link["id"])).json()


async def test_a_deleted_link_leaves_neither_versions_nor_names(world: World) -> None:
    services = world.services
    link = await create_link(services, world.account.id, split=make_split())
    changed = await services.links.links.change(link.id, {"split": None})

    async def nothing(_: Any) -> None:
        pass

    await services.links.links.remove_all([changed], nothing)
    for name in ("choices", "rule_versions"):
        assert await services.stores.mongodb[name].count_documents({}) == 0


async def test_a_change_that_fails_stores_neither_version_nor_names(world: World) -> None:
    services = world.services
    link = await create_link(services, world.account.id, destination_url=LANDING)

    async def fail(*_: Any) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await services.links.links.change_all([link], lambda _: {"split": make_split()}, fail)
    for name in ("choices", "rule_versions"):
        assert await services.stores.mongodb[name].count_documents({}) == 0
    assert await services.links.links.find(link.id) == link
