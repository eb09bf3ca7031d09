"""An import over HTTP: sent, checked, run, run again, changed, and undone."""

from datetime import UTC, datetime

from tests.imports.lines import a_link, done, imported, outcomes, uploaded
from tests.web.world import World
from tracker.imports.item import Loss, RefusedRow

ITEMS = (
    a_link("one", row=1, tags=("Spring", "Leaflet"), created_at=datetime(2020, 1, 2, tzinfo=UTC)),
    a_link("two", row=2, active=False, notes="a note"),
    RefusedRow(row=3, field="url", reason="missing", text=",,"),
    a_link("three", row=4, losses=(Loss("folder", "there are none"),), archived=True),
    a_link("bad", row=5, destination_url="ftp://example.com/"),
    a_link("ä", row=6),
)


async def test_a_file_is_checked_imported_imported_again_changed_and_undone(world: World) -> None:
    before = await world.stored()
    path = await uploaded(world, *ITEMS)
    checked = await done(world, path, "check")
    assert (checked["state"], checked["total"]) == ("checked", 6)
    assert checked["counts"] == {"create": 2, "refused": 3, "lossy": 1}
    expected = [
        ("one", "create", ""),
        ("two", "create", ""),
        ("", "refused", "url"),
        ("three", "lossy", "folder, archived"),
        ("bad", "refused", "destination_url"),
        ("ä", "refused", "path"),
    ]
    assert await outcomes(world, path) == expected
    assert (await world.stored())["links"] == before["links"]
    ran = await done(world, path, "run")
    assert (ran["state"], ran["position"], ran["counts"]) == ("done", 6, checked["counts"])
    assert await outcomes(world, path) == expected
    links = {row["slug"]: row for row in (await world.stored())["links"]}
    assert set(links) == {"one", "two", "three"}
    assert links["one"]["created_at"] == datetime(2020, 1, 2, tzinfo=UTC)
    assert len(links["one"]["tags"]) == 2
    assert (links["two"]["active"], links["two"]["notes"]) == (False, "a note")
    assert not links["three"]["archived"]  # it goes on working

    again = await imported(world, *ITEMS)
    assert again["counts"] == {"same": 3, "refused": 3}
    assert {row["slug"]: row for row in (await world.stored())["links"]} == links

    changed = await imported(world, a_link("one", destination_url="https://new.example/"))
    assert changed["counts"] == {"update": 1}
    [link] = [row for row in (await world.stored())["links"] if row["slug"] == "one"]
    assert link["destination_url"] == "https://new.example/"
