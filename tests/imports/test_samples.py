"""Samples of each source, imported, imported again and undone."""

import pytest

from tests.imports.lines import PATH, done, rows
from tests.imports.reading import SAMPLES
from tests.web.world import World


@pytest.mark.parametrize("name", sorted(p.name for p in SAMPLES.iterdir()))
async def test_a_sample(world: World, name: str) -> None:
    source = name.partition(".")[0].partition("-")[0]
    for _again in range(2):
        answer = await world.api.post(PATH, accountId=str(world.account.id), source=source)
        assert answer.status == 200, answer.body
        path = f"{PATH}/{answer.json()['id']}"
        answer = await world.api.send("POST", f"{path}/file", (SAMPLES / name).read_bytes())
        assert answer.status == 200, answer.body
        print(await done(world, path, "check", "run"))
        for one in await rows(world, path):
            print({k: v for k, v in one.items() if v})
