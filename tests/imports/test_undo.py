"""Undoing: what the import created goes, what somebody changed or opened since stays."""

import pytest

from tests.conversions import scene
from tests.factories import make_click
from tests.imports.lines import a_link, act, done, imported, rows, uploaded, work
from tests.web.world import World
from tracker.clock import now
from tracker.imports import undo
from tracker.stores.mongodb import paging


async def test_an_undone_import_leaves_nothing_behind(world: World) -> None:
    before = await world.stored()
    path = await uploaded(world, a_link("a", tags=("t",)), a_link("b", archived=True))
    await done(world, path, "check", "run")
    undone = await done(world, path, "undo")
    assert (undone["state"], undone["counts"]) == ("undone", {"removed": 2, "left": 0})
    after = await world.stored()
    for name in ("links", "tags", "imported_links", "job_files"):
        assert after.get(name, []) == before.get(name, []), name
    for state in ("active", "archived_active"):
        assert sum(count.get(state, 0) for count in after["link_counts"]) == 0
    assert (await world.client.get("/c/a")).status == 404
    assert {row["outcome"] for row in await rows(world, path)} == {"removed"}
    # Their names are free again.
    assert (await imported(world, a_link("a")))["counts"] == {"create": 1}
    assert (await world.client.get("/c/a")).status == 302


async def test_what_was_changed_or_opened_since_is_left_and_told(world: World) -> None:
    items = [a_link(name, tags=(name,)) for name in ("changed", "opened", "updated", "plain")]
    path = await uploaded(world, *items)
    await done(world, path, "check", "run")
    links = {row["slug"]: row["_id"] for row in (await world.stored())["links"]}
    await world.services.links.links.change(links["changed"], {"active": False})
    click = make_click(world.account.id, link_id=links["opened"].bytes, domain_name="")
    await scene.applied(world.services, [click])
    later = await imported(world, a_link("updated", notes="new", tags=("updated",)))
    assert later["counts"] == {"update": 1}
    undone = await done(world, path, "undo")
    assert undone["counts"] == {"removed": 2, "left": 2}
    told = {row["path"]: (row["outcome"], row["reason"]) for row in await rows(world, path)}
    assert told == {
        "changed": ("left", "changed since"),
        "opened": ("left", "opened since"),
        "updated": ("removed", ""),  # by an import, which is nobody
        "plain": ("removed", ""),
    }
    stored = await world.stored()
    assert {row["name"] for row in stored["tags"]} == {"changed", "opened"}
    assert len(stored["imported_links"]) == 2


async def test_an_undo_goes_on_after_a_crash(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "PIECE_DOCUMENTS", 2)
    path = await uploaded(world, *(a_link(f"s{number}") for number in range(5)))
    await done(world, path, "check", "run")
    assert (await act(world, path, "undo")).status == 200
    chunk = undo.Undo._chunk

    async def dying(self: undo.Undo, *given: object) -> None:
        await chunk(self, *given)  # type: ignore[arg-type]
        raise KeyError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(undo.Undo, "_chunk", dying)
        with pytest.raises(KeyError):
            await work(world.services)
    assert len((await world.stored())["links"]) == 3
    imports = world.services.stores.mongodb["imports"]
    await imports.update_one({}, {"$set": {"leased_until": now()}})
    await work(world.services)
    shown = (await world.api.get(path)).json()
    assert (shown["state"], shown["counts"]) == ("undone", {"removed": 5, "left": 0})
    assert (await world.stored())["links"] == []
