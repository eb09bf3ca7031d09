"""A page of links takes three to five commands of the stores."""

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

FILTERS: list[tuple[Mapping[str, Any], int]] = [
    # Their total is a kept count.
    ({}, 3),
    ({"page": 2}, 3),
    ({"sort": "name"}, 3),
    ({"archived": "true"}, 3),
    ({"active": "false", "sort": "oldest"}, 3),
    ({"selectedTags": "spring"}, 3),
    ({"selectedTags": "spring", "sort": "name", "active": "false"}, 3),
    # Their matches are counted.
    ({"search": "s1"}, 4),
    ({"search": "s1", "selectedTags": "spring", "sort": "name"}, 5),
    ({"slug": "s7"}, 4),
    ({"utm_source": "letter"}, 4),
    ({"selectedTags": "spring,summer", "tagOperator": "AND", "sort": "slug"}, 4),
]
"""Filters, and the commands that a page takes."""


async def asked(world: World, query: Mapping[str, Any]) -> int:
    """Return the number of commands that a page takes."""
    services = world.services
    await services.stores.redis.config_resetstat()
    async with profiled(services.stores.mongodb.database) as rows:
        response = await listed(world, query)
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
async def test_a_page_takes_three_to_five_commands(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch, complete: bool
) -> None:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)
    tag_ids = await make_links(world)
    if not complete:  # as in an account of an earlier release
        counts = world.services.stores.mongodb["link_counts"]
        await counts.delete_many({"_id.part": OF_RECOUNTS})
    async with listening(world.services.changes):
        for filters, commands in FILTERS:
            query = query_of(world, filters, tag_ids)
            # The first one reads the key too.
            await listed(world, query)
            assert await asked(world, query) <= max(commands, 4 - complete), filters
