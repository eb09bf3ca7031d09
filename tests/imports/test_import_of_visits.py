"""Visits of an import over HTTP: with their links in any order, repeated, undone, and killed."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import CHROME, make_click
from tests.imports.lines import a_link, act, done, imported, rows, uploaded, work
from tests.ingest import ledger
from tests.web.world import World
from tracker.imports import worker
from tracker.imports.item import SourceItem, SourceVisit

FIRST = datetime(2026, 3, 1, tzinfo=UTC)


def a_visit(number: int, link_id: str = "one") -> SourceVisit:
    return SourceVisit(
        link_id=link_id, at=FIRST + timedelta(hours=number), number=number, user_agent=CHROME
    )


async def links_of(world: World) -> dict[str, dict[str, Any]]:
    return {row["slug"]: row for row in (await world.stored())["links"]}


async def openings(world: World) -> dict[str, int]:
    links = await links_of(world)
    return {slug: row.get("opening_clicks", 0) for slug, row in links.items()}


async def clicks(world: World) -> int:
    await ledger.check(world.services)
    return (await ledger.totals(world.services))["clicks"]


async def test_visits_may_come_before_their_links_and_are_counted_once(world: World) -> None:
    items: tuple[SourceItem, ...] = (
        *(a_visit(number) for number in range(5)),
        a_link("one", row=6, clicks=7),
        a_link("two", row=7, clicks=3),
        a_visit(9, "unknown"),
    )
    ran = await imported(world, *items)
    assert (ran["state"], ran["visits"], ran["visits_done"]) == ("done", 6, 6)
    assert ran["counts"] == {"create": 2, "visits": 5, "visits_unknown": 1}
    assert (await clicks(world), await openings(world)) == (5, {"one": 2, "two": 3})
    again = await imported(world, *items)
    assert again["counts"] == {"same": 2, "visits_known": 5, "visits_unknown": 1}
    assert (await clicks(world), await openings(world)) == (5, {"one": 2, "two": 3})


async def test_a_later_import_brings_new_visits_and_totals(world: World) -> None:
    await imported(world, a_link("one", clicks=7), *(a_visit(number) for number in range(5)))
    later = [a_visit(number) for number in range(8)]
    ran = await imported(world, a_link("one", clicks=11), *later)
    assert ran["counts"] == {"same": 1, "visits": 3, "visits_known": 5}
    assert (await clicks(world), await openings(world)) == (8, {"one": 3})


async def test_a_row_that_repeats_an_id_says_nothing_of_the_links_total(world: World) -> None:
    items = [a_link("one", clicks=7), a_link("one", row=2, clicks=1)]
    ran = await imported(world, *items)
    assert (ran["counts"], await openings(world)) == ({"create": 1, "conflict": 1}, {"one": 7})
    await imported(world, *items)
    assert await openings(world) == {"one": 7}


async def test_an_undo_takes_out_visits_links_and_what_they_had_before(world: World) -> None:
    items: list[SourceItem] = [
        a_link("one", clicks=7),
        a_link("two", clicks=3),
        *map(a_visit, range(5)),
    ]
    path = await uploaded(world, *items)
    await done(world, path, "check", "run")
    link = (await links_of(world))["two"]
    opened = make_click(world.account.id, link_id=link["_id"].bytes, domain_name="")
    await scene.applied(world.services, [opened])
    undone = await done(world, path, "undo")
    assert undone["counts"] == {"visits_removed": 5, "removed": 1, "left": 1}
    assert (await clicks(world), await openings(world)) == (1, {"two": 0})


async def test_an_undo_of_a_later_import_says_that_totals_of_older_links_stay(world: World) -> None:
    await imported(world, a_link("one", clicks=7))
    path = await uploaded(world, a_link("one", clicks=9))
    undone = await done(world, path, "check", "run", "undo")
    assert (undone["counts"], await openings(world)) == ({}, {"one": 9})
    [row] = await rows(world, path)
    assert row["reason"].endswith("its fields and total stay as set last")


async def test_a_live_limit_follows_imported_and_undone_visits_at_once(world: World) -> None:
    async def status() -> int:
        return (await world.client.get("/c/one", User_Agent=CHROME)).status

    await imported(world, a_link("one", max_clicks=4))
    assert await status() == 302
    await scene.drained(world.services)
    path = await uploaded(world, a_link("one", max_clicks=4), *map(a_visit, range(3)))
    await done(world, path, "check", "run")
    assert await status() == 404
    await done(world, path, "undo")
    assert [await status() for _ in range(4)] == [302, 302, 302, 404]


@pytest.mark.parametrize("state", ["running", "undoing"])
async def test_a_process_that_ends_between_chunks_of_visits_leaves_the_rest_to_another(
    world: World, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr(worker, "VISITS_PER_CHUNK", 2)
    monkeypatch.setattr("tracker.imports.visits.VISITS_PER_CHUNK", 2)
    path = await uploaded(world, a_link("one", clicks=9), *map(a_visit, range(9)))
    await done(world, path, "check")
    if state == "undoing":
        await done(world, path, "run")
    await act(world, path, "run" if state == "running" else "undo")
    visits = world.services.imports.worker._visits
    name = "store" if state == "running" else "undo"
    chunk, chunks = getattr(visits, name), 0

    async def killed_in_the_third(*arguments: Any) -> Any:
        nonlocal chunks
        chunks += 1
        if chunks == 3:
            raise asyncio.CancelledError
        found = await chunk(*arguments)
        await ledger.check(world.services)
        return found

    monkeypatch.setattr(visits, name, killed_in_the_third)
    with pytest.raises(asyncio.CancelledError):
        await work(world.services)
    left = {"leased_until": FIRST}
    await world.services.stores.mongodb["imports"].update_one({}, {"$set": left})
    assert await clicks(world) == (4 if state == "running" else 5)
    assert await work(world.services)
    expected = ("done", 9) if state == "running" else ("undone", 0)
    assert ((await world.api.get(path)).json()["state"], await clicks(world)) == expected
    assert chunks > 4
