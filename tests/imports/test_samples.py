"""Samples of each source: imported, imported again, undone, and imported again when changed."""

from collections import Counter
from typing import Any

import pytest

from tests.imports.lines import PATH, done, rows
from tests.imports.reading import SAMPLES
from tests.ingest import ledger
from tests.web.world import World

CREATED = {
    "bitly.csv": 2,
    "chhoto.json": 2,
    "dub-default.csv": 1,
    "dub.csv": 3,
    "kutt-mysql.sql": 2,
    "kutt-postgres.sql": 2,
    "kutt-sqlite.sql": 2,
    "shlink-cli-visits.csv": 0,
    "shlink-export.csv": 1,
    "shlink-import.csv": 2,
    "shlink-visits.csv": 0,
    "sink.json": 4,
    "yourls.csv": 2,
    "yourls.sql": 2,
}
"""Links of each; its other rows are refused."""


async def imported(world: World, name: str, data: bytes) -> tuple[str, dict[str, Any]]:
    """Import a file; return the path of its import, and the counts."""
    source = name.partition(".")[0].partition("-")[0]
    answer = await world.api.post(PATH, accountId=str(world.account.id), source=source)
    path = f"{PATH}/{answer.json()['id']}"
    assert (await world.api.send("POST", f"{path}/file", data)).status == 200
    return path, (await done(world, path, "check", "run"))["counts"]


async def add_domains(world: World) -> None:
    for name in ("go.ex.test", "s.test"):
        await world.services.links.domains.create(world.account.id, name)


@pytest.mark.parametrize("name", sorted(one.name for one in SAMPLES.iterdir()))
async def test_a_sample_is_imported_once_follows_its_source_and_can_be_undone(
    world: World, name: str
) -> None:
    await add_domains(world)
    data, links = (SAMPLES / name).read_bytes(), CREATED[name]
    path, first = await imported(world, name, data)
    assert first.get("create", 0) + first.get("lossy", 0) == links
    _, again = await imported(world, name, data)
    assert Counter(again)["same"] == links and again.get("refused") == first.get("refused")
    assert again.get("visits", 0) == 0 and again.get("visits_known") == first.get("visits")
    await done(world, path, "undo")
    stored = await world.stored()
    assert not any(stored.get(kind) for kind in ("links", "clicks", "imported_links"))
    await imported(world, name, data)
    changed = data.replace(b"https://ex.test", b"https://new.ex.test")
    path, after = await imported(world, name, changed)
    assert Counter(after)["update"] == links
    told = {row["reason"] for row in await rows(world, path) if row["outcome"] == "update"}
    assert told == ({"changed at the source alone"} if links else set())


@pytest.mark.parametrize(
    ("name", "visits", "unknown", "bots"),
    [
        ("shlink-visits.csv", 2, 1, 1),
        ("shlink-cli-visits.csv", 2, 0, 2),
        ("yourls.sql", 2, 0, 1),
    ],
)
async def test_visits_of_samples_are_clicks_with_bots_by_their_agent_or_source(
    world: World, name: str, visits: int, unknown: int, bots: int
) -> None:
    await add_domains(world)
    if name.startswith("shlink"):
        await imported(world, "shlink-export.csv", (SAMPLES / "shlink-export.csv").read_bytes())
    _, counts = await imported(world, name, (SAMPLES / name).read_bytes())
    assert (counts["visits"], counts.get("visits_unknown", 0)) == (visits, unknown)
    clicks = (await world.stored())["clicks"]
    assert sum(bool(one["bot"]) for one in clicks) == bots
    await ledger.check(world.services)
