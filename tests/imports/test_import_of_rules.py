"""Rules and splits that imports bring: where visitors go, what stays at a change, what is told."""

from typing import Any

from tests.imports.lines import a_link, act, done, imported, rows, uploaded, work
from tests.imports.reading import rule, split
from tests.links.names import on_domains
from tests.web.world import World
from tracker.imports.item import Loss, SourceLink

IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile/15E148 Safari/604.1"
APP, SALE = "https://ex.test/app", "https://ex.test/sale"
ALWAYS = {"time": {"zone": "UTC", "from": "2026-01-01T00:00"}}


def deciding(name: str = "a", *, app: str = APP, **fields: Any) -> SourceLink:
    given = {
        "rules": (rule("iOS", app, os=["iOS"]), rule("DE", SALE, country=["DE"])),
        "split": split(("https://ex.test/one", 1), ("https://ex.test/two", 1)),
    }
    return a_link(name, **{**given, **fields})


async def link(world: World) -> dict[str, Any]:
    [found] = (await world.stored())["links"]
    return dict(found)


def ids(stored: dict[str, Any]) -> list[Any]:
    parts = [*stored["rules"], *stored["split"]["variants"]]
    return [part["id"] for part in parts]


async def test_visitors_go_where_the_rules_of_the_source_send_them(world: World) -> None:
    assert (await imported(world, deciding()))["counts"] == {"create": 1}
    phone = await world.client.get("/c/a", User_Agent=IPHONE)
    assert str(phone.headers["Location"]).startswith(APP)
    assert phone.headers["Cache-Control"] == "no-store"
    drawn = await world.client.get("/c/a", User_Agent=IPHONE.replace("iPhone", "Pixel"))
    assert str(drawn.headers["Location"]).startswith(("https://ex.test/one", "https://ex.test/two"))


async def test_a_change_at_the_source_keeps_ids_and_who_draws_what(world: World) -> None:
    await imported(world, deciding())
    before = await link(world)
    assert (await imported(world, deciding()))["counts"] == {"same": 1}
    changed = deciding(app="https://ex.test/new")
    assert (await imported(world, changed))["counts"] == {"update": 1}
    after = await link(world)
    assert after["rules"][0]["destination_url"] == "https://ex.test/new"
    assert ids(after) == ids(before)
    assert after["split"]["secret"] == before["split"]["secret"]
    assert (await imported(world, deciding(rules=(), split=None)))["counts"] == {"update": 1}
    bare = await link(world)
    assert "rules" not in bare and "split" not in bare
    assert (await imported(world, deciding()))["counts"] == {"update": 1}
    assert (await link(world))["split"]["variants"][0]["name"] == "A"


async def test_what_is_left_out_is_told_of_new_and_of_known_links(world: World) -> None:
    await imported(world, a_link("old"))
    lost = Loss("geo", "left out (not a country): https://ex.test/uk if UK")
    items = [deciding("new", losses=(lost,)), deciding("old", losses=(lost,))]
    path = await uploaded(world, *items)
    await done(world, path, "check")
    told = f"geo: {lost.reason}"
    assert [(one["outcome"], one["reason"]) for one in await rows(world, path)] == [
        ("lossy", told),
        ("update", f"changed at the source alone; {told}"),
    ]


async def test_a_rule_that_leads_to_a_redirect_of_this_service_refuses_the_link(
    world: World,
) -> None:
    host = world.services.links.public_url.host
    path = await uploaded(world, deciding(app=f"http://{host}/c/b"))
    await done(world, path, "check")
    [row] = await rows(world, path)
    assert (row["outcome"], row["field"]) == ("refused", "rules[0].destination_url")


async def test_an_undo_leaves_no_rule_behind(world: World) -> None:
    before = await world.stored()
    path = await uploaded(world, deciding())
    await done(world, path, "check", "run")
    stored = await world.stored()
    assert {row["name"] for row in stored["choices"]} == {"iOS", "DE", "A", "B"}
    assert (await done(world, path, "undo"))["counts"] == {"removed": 1, "left": 0}
    after = await world.stored()
    for name in ("links", "choices", "rule_versions", "imported_links"):
        assert after.get(name, []) == before.get(name, []), name


async def test_the_cut_over_check_takes_any_destination_of_a_link_with_rules(
    world: World,
) -> None:
    domain = await on_domains.proven(world.services, world.account.id)
    own = {"domain_name": "go.example"}
    by_time = deciding("dated", rules=(rule("since", SALE, **ALWAYS),), **own)
    path = await uploaded(world, by_time, deciding("usual", **own))
    await done(world, path, "check", "run")
    assert await on_domains.leads_to(world.services, "dated") == SALE

    async def differing() -> list[str]:
        assert (await act(world, path, "cut-over-check")).status == 200
        assert await work(world.services)
        return [row["path"] for row in await rows(world, path, "&outcome=differing")]

    assert await differing() == []
    links = world.services.links.links
    dated = next(row for row in (await world.stored())["links"] if row["slug"] == "dated")
    assert dated["domain_id"] == domain.id
    elsewhere: dict[str, Any] = {"rules": [], "split": None}
    await links.change(dated["_id"], {**elsewhere, "destination_url": "https://elsewhere.test/"})
    assert await differing() == ["dated"]
