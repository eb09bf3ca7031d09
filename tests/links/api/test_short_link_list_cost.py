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
    ({"page": 2}, 3),
    ({"sort": "last_click"}, 3),
    ({"active": "false", "sort": "oldest"}, 3),
    ({"selectedTags": "spring", "sort": "name"}, 3),
    # Their matches are counted.
    ({"search": "s1"}, 4),
    ({"search": "s1", "selectedTags": "spring", "sort": "name"}, 5),
    ({"slug": "s7"}, 4),
    ({"external_id": "7", "sort": "name"}, 4),
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


@pytest.mark.parametrize("complete", [True, False])
async def test_a_page_takes_three_to_five_commands(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch, complete: bool
) -> None:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)
    spring = await world.services.links.tags.create(world.account.id, "spring")
    for number in range(60):
        given: dict[str, Any] = {"tags": [spring.id], "active": number % 3 > 0}
        await create_link(world.services, world.account.id, f"s{number}", **given)
    if not complete:  # as in an account of an earlier release
        counts = world.services.stores.mongodb["link_counts"]
        await counts.delete_many({"_id.part": OF_RECOUNTS})
    async with listening(world.services.changes):
        for filters, commands in FILTERS:
            query = {"accountId": world.account.id, **filters}
            if "selectedTags" in filters:
                query["selectedTags"] = spring.id
            # The first one reads the key too.
            await listed(world, query)
            assert await asked(world, query) <= max(commands, 4 - complete), filters
