"""Limits of clicks over HTTP: what is left of them, and the list of links that are used up."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from tests.conversions import scene
from tests.factories import CHROME, LANDING, create_link
from tests.links.api.short_links import BULK, PATH, create, send
from tests.waiting import becomes
from tests.web.link_list import slugs
from tests.web.world import World
from tracker.stores.mongodb.reads import MongoReads


async def open_link(world: World, slug: str, times: int = 1) -> list[int]:
    """Return the statuses of so many visits of a person."""
    answers = [await world.client.get(f"/c/{slug}", User_Agent=CHROME) for _ in range(times)]
    assert {one.headers["Cache-Control"] for one in answers} == {"no-store"}
    return [one.status for one in answers]


async def test_a_link_and_its_files_show_what_is_left_of_its_limit(world: World) -> None:
    link = (await create(world, slug="two", max_clicks=2)).json()
    assert link["clicks_left"] == 2
    plain = (await create(world, slug="plain")).json()
    assert plain["clicks_left"] is None
    assert await open_link(world, "two", 3) == [302, 302, 404]
    assert await open_link(world, "plain") == [302]
    await scene.drained(world.services)
    account = f"accountId={world.account.id}"
    rows = (await world.api.get(f"{PATH}?{account}")).json()["rows"]
    assert {one["slug"]: one["clicks_left"] for one in rows} == {"two": 0, "plain": None}
    file = await world.api.get(f"{PATH}/export?{account}&format=ndjson")
    assert [one["clicks_left"] for one in map(orjson.loads, file.body.splitlines())] == [None, 0]
    for limit, left in ((7, 5), (1, 0), (None, None)):
        changed = (await send(world, "PATCH", link["id"], {"max_clicks": limit})).json()
        assert (changed["max_clicks"], changed["clicks_left"]) == (limit, left)
    links = [{"destination_url": LANDING, "max_clicks": 3}]
    answer = await world.api.post(BULK, accountId=str(world.account.id), links=links)
    assert [one["clicks_left"] for one in answer.json()["rows"]] == [3]


async def test_used_up_links_are_a_list(world: World) -> None:
    for slug in ("b", "A", "c"):
        await create_link(world.services, world.account.id, slug, max_clicks=1)
    await open_link(world, "b", 2)
    await open_link(world, "A")
    await becomes(lambda: slugs(world, "state=used_up"), ["A", "b"])
    for query, found in (
        ("state=used_up&sort=slug", ["A", "b"]),
        ("state=used_up&sort=oldest", ["b", "A"]),
        ("state=used_up&active=false", []),
        ("state=used_up&archived=true", []),
    ):
        assert await slugs(world, query) == found, query
    row = await world.services.stores.mongodb["links"].find_one({"slug": "A"})
    assert row is not None
    for fields, found in (
        ({"notes": "kept"}, ["A", "b"]),
        ({"max_clicks": 5}, ["b"]),
    ):
        await send(world, "PATCH", row["_id"], fields)
        assert await slugs(world, "state=used_up") == found


async def test_a_page_of_links_asks_for_used_clicks_once_and_only_if_one_has_a_limit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    aggregate = MongoReads.aggregate

    async def counted(
        self: MongoReads,
        collection: str,
        stages: Sequence[Mapping[str, Any]],
        *rest: Any,
        **more: Any,
    ) -> list[dict[str, Any]]:
        asked.append(collection)
        return await aggregate(self, collection, stages, *rest, **more)

    monkeypatch.setattr(MongoReads, "aggregate", counted)
    for limit, expected in ((None, 0), (5, 1)):
        for _ in range(3):
            await create_link(world.services, world.account.id, None, max_clicks=limit)
        asked.clear()
        await slugs(world)
        assert asked.count("rollups") == expected


async def test_rollups_of_an_unfinished_change_of_the_time_zone_count_once(world: World) -> None:
    """Release 1.0.0 counted in both zones meanwhile, and left the rollups of one unused."""
    link = (await create(world, slug="two", max_clicks=5)).json()
    assert await open_link(world, "two", 2) == [302, 302]
    await scene.drained(world.services)
    rollups = world.services.stores.mongodb["rollups"]
    [row] = await rollups.find({"_id.of": "link"}).to_list(None)
    await rollups.insert_one({**row, "_id": {**row["_id"], "of": "link Europe/Berlin"}})
    shown = await world.api.get(f"{PATH}/{link['id']}")
    assert shown.json()["clicks_left"] == 3
