"""Runs: what is decided of links that exist, kills in the middle, pauses and limits."""

import asyncio
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from tests.factories import create_link
from tests.imports.lines import (
    PATH,
    a_link,
    act,
    done,
    file_of,
    imported,
    outcomes,
    rows,
    stored_import,
    uploaded,
    work,
)
from tests.links.names import on_domains
from tests.web.world import World
from tracker.clock import now
from tracker.errors import BadRequest, Unavailable
from tracker.imports import store, worker
from tracker.imports.item import SourcePassword
from tracker.imports.plan import Planner
from tracker.imports.rows import ImportRows
from tracker.jobs.worker import MAX_ATTEMPTS


async def slugs(world: World) -> list[str]:
    found = world.services.stores.mongodb["links"].find().sort("slug", 1)
    return [row["slug"] async for row in found]


async def test_a_name_belongs_to_the_link_that_has_it(world: World) -> None:
    await create_link(world.services, world.other_account.id, "taken")
    items = (a_link("taken"), a_link("a", row=7), a_link("b", path="a"), a_link("a", path="c"))
    path = await uploaded(world, *items)
    await done(world, path, "check")
    expected = [
        ("taken", "conflict", "path"),
        ("a", "create", ""),
        ("a", "conflict", "path"),
        ("c", "conflict", "id"),
    ]
    assert await outcomes(world, path) == expected
    assert [row["reason"] for row in await rows(world, path, "&outcome=conflict")] == [
        "taken by another link",
        "taken by row 7",
        "taken by row 7",
    ]
    ran = await done(world, path, "run")
    assert ran["counts"] == {"create": 1, "conflict": 3}
    assert await outcomes(world, path) == expected


async def test_paths_and_external_ids_are_conflicts_in_the_dry_run_too(world: World) -> None:
    domain = await on_domains.proven(world.services, world.account.id, "go.example")
    await on_domains.on(world.services, domain, "holder", "summer/sale")
    await create_link(world.services, world.account.id, "mine", external_id="e1")
    items = [
        *(a_link(path, domain_name="go.example", path=path) for path in ("summer/sale", "holder")),
        a_link("late", domain_name="go.example", aliases=("x", "summer/sale")),
        a_link("ext", external_id="e1"),
        a_link("one", row=5, external_id="e2"),
        a_link("two", external_id="e2"),
    ]
    path = await uploaded(world, *items)
    await done(world, path, "check")
    expected = [("create" if one.id == "one" else "conflict") for one in items]
    fields = ["path", "path", "path", "external_id", "", "external_id"]
    found = [
        (item.path, outcome, field)
        for item, outcome, field in zip(items, expected, fields, strict=True)
    ]
    assert await outcomes(world, path) == found
    assert (await done(world, path, "run"))["counts"] == {"create": 1, "conflict": 5}
    assert await outcomes(world, path) == found


async def test_names_that_only_case_tells_apart_are_one_where_it_does_not_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "ITEMS_PER_CHUNK", 2)
    domain = await on_domains.proven(world.services, world.account.id, "go.example")
    await on_domains.on(world.services, domain, "Holder")
    answer = await world.api.send("PATCH", f"/api/domains/{domain.id}", b'{"case_sensitive":false}')
    assert answer.status == 200, answer.body
    paths = ("HOLDER", "abc", "Straße", "ABC", "STRASSE")
    path = await uploaded(world, *(a_link(one, domain_name="go.example") for one in paths))
    checked = await done(world, path, "check")
    assert checked["counts"] == {"create": 2, "conflict": 3}
    assert (await done(world, path, "run"))["counts"] == checked["counts"]


async def test_a_changed_link_that_wants_what_another_has_is_a_conflict(world: World) -> None:
    domain = await on_domains.proven(world.services, world.account.id, "go.example")
    await on_domains.on(world.services, domain, "holder", "summer")
    own = {"domain_name": "go.example", "external_id": "e1"}
    await imported(world, a_link("a", **own, aliases=("b/b",)))
    wanted = a_link("a", **own, aliases=("b/b", "summer"))
    assert (await imported(world, wanted))["counts"] == {"conflict": 1}
    kept = a_link("a", **own, aliases=("b/b", "d/d"))
    assert (await imported(world, kept))["counts"] == {"update": 1}
    twice = [a_link("a", **own), a_link("a", **own, notes="n")]
    assert (await imported(world, *twice))["counts"] == {"update": 1, "conflict": 1}


async def test_a_shorter_file_leaves_no_rows_of_the_one_before(world: World) -> None:
    path = await uploaded(world, a_link("a"), a_link("b"), a_link("c"))
    await done(world, path, "check")
    await world.api.send("POST", f"{path}/file", file_of(a_link("c")))
    await done(world, path, "check", "run")
    assert await outcomes(world, path) == [("c", "create", "")]


async def test_a_run_that_failed_is_done_with_a_corrected_file(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "ITEMS_PER_CHUNK", 1)
    path = await uploaded(world, *map(a_link, "abcd"))
    await done(world, path, "check")
    advance = store.Imports.advance

    async def failing(self: Any, held: Any, *given: Any, **named: Any) -> None:
        if given and given[0].get("position") == 3:
            raise BadRequest("a: bug")
        await advance(self, held, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(store.Imports, "advance", failing)
        assert (await done(world, path, "run"))["state"] == "failed"
    corrected = [a_link("b"), a_link("c", notes="corrected"), a_link("d")]
    await world.api.send("POST", f"{path}/file", file_of(*corrected))
    ran = await done(world, path, "check", "run")
    assert (ran["state"], ran["counts"]) == ("done", {"same": 1, "update": 1, "create": 1})


async def test_an_import_waits_for_redis(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    path = await uploaded(world, a_link("a"))
    await done(world, path, "check")

    async def away(*_: Any) -> None:
        raise Unavailable("redis: away")

    with monkeypatch.context() as patched:
        patched.setattr(worker.Worker, "_store", away)
        assert (await done(world, path, "run"))["state"] == "running"
    assert (await stored_import(world, path)).attempts == 0
    imports = world.services.stores.mongodb["imports"]
    await imports.update_one({}, {"$set": {"leased_until": now()}})
    assert (await done(world, path))["state"] == "running"
    await work(world.services)
    assert (await done(world, path))["state"] == "done"


async def test_a_link_that_was_changed_here_is_left_as_it_is(world: World) -> None:
    await imported(world, a_link("a"), a_link("b"))
    rows_of_links = world.services.stores.mongodb["links"]
    link = await rows_of_links.find_one({"slug": "a"})
    assert link is not None
    await world.services.links.links.change(link["_id"], {"notes": "mine"})
    before = await world.stored()
    for new in ("https://example.com/a", "https://new.example/"):
        again = await imported(world, a_link("a", destination_url=new), a_link("b"))
        assert again["counts"] == {"changed": 1, "same": 1}
    assert (await world.stored())["links"] == before["links"]


async def test_a_link_with_another_path_at_its_source_is_told_and_left(world: World) -> None:
    await imported(world, a_link("a"))
    path = await uploaded(world, a_link("a", path="b"))
    await done(world, path, "check", "run")
    assert await outcomes(world, path) == [("b", "changed", "path")]
    assert await slugs(world) == ["a"]


async def test_the_same_links_of_another_installation_are_others(world: World) -> None:
    await imported(world, a_link("a"))
    other = await imported(world, a_link("a", path="b"), instance="second")
    assert other["counts"] == {"create": 1}


async def test_links_go_to_the_chosen_domain_or_the_one_of_that_name(world: World) -> None:
    domains = world.services.links.domains
    own = await domains.create(world.account.id, "go.example")
    items = [a_link(f"{n}", domain_name=name) for n, name in enumerate(("go.example", "b", "c"))]
    chosen = [{"name": "b", "domain_id": None}]
    path = await uploaded(world, *items, a_link("d"), domains=chosen)
    checked = await done(world, path, "check", "run")
    assert checked["domain_names"] == ["", "b", "c", "go.example"]
    assert await outcomes(world, path) == [
        ("0", "create", ""),
        ("1", "create", ""),
        ("2", "refused", "domain"),
        ("d", "create", ""),
    ]
    links = world.services.stores.mongodb["links"]
    assert {row["slug"]: row["domain_id"] async for row in links.find()} == {
        "0": own.id,
        "1": None,
        "d": None,
    }
    foreign = await domains.create(world.other_account.id, "other.example")
    add = {"accountId": str(world.account.id), "source": "lines"}
    refused = [{"name": "b", "domain_id": str(foreign.id)}]
    answer = await world.api.post(PATH, **add, domains=refused)
    assert (answer.status, answer.error[:8]) == (400, "domains:")


async def test_a_password_that_does_not_come_along_leaves_the_link_inactive(world: World) -> None:
    password = SourcePassword("plain", "open sesame")
    path = await uploaded(world, a_link("a", password=SourcePassword("unknown")))
    await done(world, path, "check", "run")
    assert await outcomes(world, path) == [("a", "lossy", "password")]
    [link] = (await world.stored())["links"]
    assert link["active"] is False
    await imported(world, a_link("b", password=password))
    stored = await world.stored()
    assert "open sesame" not in str({**stored, "job_files": []})


async def test_an_import_that_is_killed_in_the_middle_is_carried_on_by_another_process(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "ITEMS_PER_CHUNK", 3)
    names = [f"s{number}" for number in range(10)]
    path = await uploaded(world, *(a_link(name, tags=("t",)) for name in names))
    await done(world, path, "check")
    assert (await act(world, path, "run")).status == 200
    imports, advance = world.services.stores.mongodb["imports"], store.Imports.advance
    # Each process dies at another write: in the transaction of a chunk, or after it.
    for writes in (1, 2, 3, 4):
        left = writes

        async def dying(self: Any, *given: Any, **named: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise AutoReconnect("killed")
            await advance(self, *given, **named)

        with monkeypatch.context() as patched, pytest.raises(AutoReconnect):
            patched.setattr(store.Imports, "advance", dying)
            await work(world.services)
        await imports.update_one({}, {"$set": {"leased_until": now()}})
    await work(world.services)
    ran = (await world.api.get(path)).json()
    assert (ran["state"], ran["position"]) == ("done", 10)
    assert ran["counts"] == {"create": 10}
    assert await slugs(world) == names
    assert len(await world.services.stores.mongodb["imported_links"].find().to_list(None)) == 10
    assert len((await world.stored())["tags"]) == 1


async def test_a_holder_whose_lease_was_taken_over_stores_nothing_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await uploaded(world, a_link("a"))
    await done(world, path, "check")
    assert (await act(world, path, "run")).status == 200
    plan = Planner.plan

    async def slow(self: Any, items: Any) -> Any:
        planned = await plan(self, items)
        monkeypatch.setattr(Planner, "plan", plan)
        imports = world.services.stores.mongodb["imports"]
        await imports.update_one({}, {"$set": {"leased_until": now()}})
        assert await work(world.services)
        return planned

    monkeypatch.setattr(Planner, "plan", slow)
    assert await work(world.services)
    ran = (await world.api.get(path)).json()
    assert (ran["state"], ran["counts"]) == ("done", {"create": 1})


async def test_a_run_is_paused_and_cancelled_between_two_chunks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "ITEMS_PER_CHUNK", 2)
    path = await uploaded(world, *(a_link(f"s{number}") for number in range(6)))
    await done(world, path, "check")
    put = ImportRows.put
    actions = iter(["pause", "", "cancel"])

    async def put_and_act(self: Any, *given: Any, **named: Any) -> None:
        await put(self, *given, **named)
        if len(given) < 3 and (action := next(actions, None)):
            assert (await act(world, path, action)).status == 200

    monkeypatch.setattr(ImportRows, "put", put_and_act)
    paused = await done(world, path, "run")
    assert paused["state"] == "paused"
    assert await slugs(world) == ["s0", "s1"]
    cancelled = await done(world, path, "resume")
    assert cancelled["state"] == "cancelled"
    assert await slugs(world) == ["s0", "s1", "s2", "s3"]
    assert (await world.stored())["job_files"] == []


async def test_a_process_that_stops_leaves_the_rest_to_the_next_one_at_once(world: World) -> None:
    path = await uploaded(world, a_link("a"))
    assert (await act(world, path, "check")).status == 200
    stop = asyncio.Event()
    stop.set()
    assert await world.services.imports.worker.work_on_one(stop)
    assert (await world.api.get(path)).json()["state"] == "checking"
    assert await work(world.services)
    assert (await world.api.get(path)).json()["state"] == "checked"


async def test_a_file_that_is_no_longer_stored_fails_the_import(world: World) -> None:
    path = await uploaded(world, a_link("a"))
    await world.services.stores.mongodb["job_files"].delete_many({})
    failed = await done(world, path, "check")
    assert (failed["state"], failed["error"]) == (
        "failed",
        "file: is no longer stored; send it again",
    )


async def test_an_import_that_fails_again_and_again_is_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await uploaded(world, a_link("a"))
    assert (await act(world, path, "check")).status == 200

    async def broken(*_: Any) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(Planner, "plan", broken)
    imports = world.services.stores.mongodb["imports"]
    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(KeyError):
            await work(world.services)
        await imports.update_one({}, {"$set": {"leased_until": now()}})
    await work(world.services)
    assert (await world.api.get(path)).json()["state"] == "failed"


async def test_an_account_has_one_import_at_work_and_few_in_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await uploaded(world, a_link("a")), await uploaded(world, a_link("b"))
    assert (await act(world, first, "check")).status == 200
    answer = await act(world, second, "check")
    assert (answer.status, answer.error) == (
        400,
        "state: another import of the account is at work; wait until it ends",
    )
    monkeypatch.setattr(store.Imports, "most", 2)
    answer = await world.api.post(PATH, accountId=str(world.account.id), source="lines")
    assert answer.error == "imports: at most 2; delete one"
    assert (await world.api.delete(first)).error == (
        "state: the import is at work; cancel it first"
    )
    assert (await world.api.delete(second)).status == 200


async def test_rows_are_a_file_ready_to_correct(world: World) -> None:
    path = await uploaded(world, a_link("a"), a_link("b", row=2, destination_url="/none"))
    await done(world, path, "check")
    answer = await world.api.get(f"{path}/rows/export?outcome=refused")
    head, line = answer.body.decode().splitlines()
    assert head.startswith("row,outcome,field,reason,domain,path,destination_url,internal_name")
    assert line.startswith(
        "2,refused,destination_url,must be an absolute http or https URL,,b,/none,"
    )
