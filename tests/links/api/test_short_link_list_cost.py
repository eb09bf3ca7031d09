"""A page of links takes three commands of the stores at most."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.clock import Clock
from tests.factories import create_link
from tests.stores.cache.listening import listening
from tests.stores.mongodb.profiler import profiled
from tests.web.link_list import listed
from tests.web.world import World
from tracker.links.counts.counts import OF_RECOUNTS
from tracker.stores.cache import trusted_memory

COUNTED: list[Mapping[str, Any]] = [
    {},
    {"page": 2},
    {"sort": "name"},
    {"archived": "true"},
    {"active": "false", "sort": "oldest"},
    {"selectedTags": "spring"},
]
"""Filters whose total is a kept count."""

OTHERS: list[Mapping[str, Any]] = [
    {"search": "s1"},
    {"search": "s1", "sort": "name"},
    {"search": "s1", "selectedTags": "spring"},
    {"search": "nothing"},
    {"slug": "s7"},
    {"utm_source": "letter"},
    {"sort": "name", "selectedTags": "spring"},
    {"active": "false", "selectedTags": "spring"},
    {"selectedTags": "spring,summer"},
    {"selectedTags": "spring,summer", "tagOperator": "AND", "sort": "slug"},
]
"""Filters whose matches are counted, or whose index the counts decide."""


async def asked(world: World, query: Mapping[str, Any]) -> int:
    """Return the number of commands that a page takes."""
    services = world.services
    await services.stores.redis.config_resetstat()
    async with profiled(services.stores.mongodb.database) as rows:
        response = await listed(world.client, world.secret, query)
        assert response.status == 200, response.body
    of_redis = await services.stores.redis.info("commandstats")
    return len(rows) + int(of_redis["cmdstat_evalsha"]["calls"])


async def make_links(world: World) -> Mapping[str, str]:
    """Make links of two tags; return the ids of the tags by their names."""
    create = world.services.links.tags.create
    tags = [await create(world.account.id, name) for name in ("spring", "summer")]
    for number in range(60):
        given: dict[str, Any] = {"tags": [tags[number % 2].id], "active": number % 3 > 0}
        await create_link(world.services, world.account.id, f"s{number}", **given)
    return {tag.name: str(tag.id) for tag in tags}


def query_of(
    world: World, filters: Mapping[str, Any], tag_ids: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return the query of filters, which name tags."""
    query = {"accountId": world.account.id, **filters}
    if "selectedTags" in query:
        names = query["selectedTags"].split(",")
        query["selectedTags"] = ",".join(tag_ids[name] for name in names)
    return query


@pytest.mark.parametrize("complete", [True, False])
async def test_a_page_takes_three_commands_at_most(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch, complete: bool
) -> None:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)
    tag_ids = await make_links(world)
    if not complete:  # as in an account of an earlier release
        counts = world.services.stores.mongodb["link_counts"]
        await counts.delete_many({"_id.part": OF_RECOUNTS})
    async with listening(world.services.changes):
        for filters in COUNTED:
            query = query_of(world, filters, tag_ids)
            # The first one reads the key and the names of tags too.
            await listed(world.client, world.secret, query)
            assert await asked(world, query) <= 2 + (not complete), filters


async def test_a_page_of_a_search_or_of_tags_by_name_takes_three_too(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)
    tag_ids = await make_links(world)
    async with listening(world.services.changes):
        for filters in OTHERS:
            query = query_of(world, filters, tag_ids)
            # The first one in ten seconds reads the counts that choose an index too.
            await listed(world.client, world.secret, query)
            assert await asked(world, query) <= 3, filters


async def test_no_link_is_read_if_the_counts_of_a_tag_say_that_none_is_listed(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)
    tag = await world.services.links.tags.create(world.account.id, "spring")
    await create_link(world.services, world.account.id, "s", tags=[tag.id])
    query = {"accountId": world.account.id, "selectedTags": tag.id, "active": "false"}
    async with listening(world.services.changes):
        await listed(world.client, world.secret, query)
        assert await asked(world, query) <= 2, "the key and the counts"
