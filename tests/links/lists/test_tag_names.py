"""The names of tags that lists show are read seldom, and are those of now."""

import pytest

from tests.clock import Clock
from tests.links.processes import process
from tests.stores.mongodb.profiler import profiled
from tests.waiting import becomes
from tests.web.world import World
from tracker.ids import new_id
from tracker.stores.cache import trusted_memory


async def test_names_of_the_same_moment_are_one_query_and_then_none(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)
    tags = [await world.services.links.tags.create(world.account.id, one) for one in ("a", "b")]
    names, ids = {tag.id: tag.name for tag in tags}, [*(tag.id for tag in tags), new_id()]
    async with process(world.services.settings) as other:
        for queries in (1, 0):
            async with profiled(world.services.stores.mongodb.database) as rows:
                assert await other.links.tag_names.find(ids) == names
            assert len(rows) == queries
        clock.seconds += trusted_memory.TRUST_SECONDS
        async with profiled(world.services.stores.mongodb.database) as rows:
            assert await other.links.tag_names.find(ids) == names
        assert len(rows) == 1


async def test_a_process_that_hears_of_no_changes_reads_each_time(world: World) -> None:
    tag = await world.services.links.tags.create(world.account.id, "a")
    await world.services.links.tag_names.find([tag.id])
    await world.services.links.tags.rename(tag.id, "b")
    assert await world.services.links.tag_names.find([tag.id]) == {tag.id: "b"}


async def test_a_renamed_or_deleted_tag_is_seen_in_every_process(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)
    tag = await world.services.links.tags.create(world.account.id, "Spring")
    path = f"/api/tags/{tag.id}"
    async with process(world.services.settings) as other:
        assert await other.links.tag_names.find([tag.id]) == {tag.id: "Spring"}
        assert (await world.api.patch(path, name="Summer")).status == 200

        await becomes(lambda: other.links.tag_names.find([tag.id]), {tag.id: "Summer"})
        assert (await world.api.delete(path)).status == 200
        await becomes(lambda: other.links.tag_names.find([tag.id]), {})
