"""Background loops have names of their own, and stop with their part of a process."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest

from config.settings import Settings
from tests.conversions import scene
from tests.factories import create_link, make_click, make_conversion
from tests.waiting import PATIENCE_SECONDS, becomes, eventually
from tracker.ids import new_id
from tracker.ingest import drain_counters
from tracker.loops import Loops
from tracker.service import background
from tracker.service.background import DRAINING, LOOPS, OF_DRAINS, PREPARING, PROCESS, SERVING, Loop
from tracker.service.services import Services
from tracker.stores.redis.keys import DRAIN_COUNTER_SUMS

Part = Callable[[Services], AbstractAsyncContextManager[None]]


class Recorded(Loops):
    """Loops that tell what was started, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def start(
        self,
        name: str,
        run: Callable[[], Awaitable[None]],
        until: asyncio.Event,
        max_failures: int | None = None,
    ) -> asyncio.Task[None]:
        assert name not in self.tasks
        self.tasks[name] = super().start(name, run, until, max_failures)
        return self.tasks[name]


def process(services: Services) -> AbstractAsyncContextManager[None]:
    return background.running(PROCESS, services, services.loops)


def names(*parts: tuple[Loop[Any], ...]) -> set[str]:
    return {row.name for rows in parts for row in rows}


def test_every_loop_has_a_name_of_its_own() -> None:
    assert len(names(LOOPS)) == len(LOOPS) > 20


@pytest.mark.parametrize("is_prepared", [True, False])
@pytest.mark.parametrize(
    ("part", "partitions", "serves", "expected"),
    [
        (process, 1, True, {"longest_turn", "memory", "copies"}),
        (background.preparing, 1, True, names(PREPARING)),
        (background.serving, 1, True, names(SERVING)),
        (background.draining, 1, True, names(OF_DRAINS)),
        (background.draining, 1, False, names(OF_DRAINS) - {"drain_helper"}),
        (background.draining, 4, True, names(OF_DRAINS) - {"drain_helper", "partitions"}),
    ],
)
async def test_the_loops_of_a_part_run_until_it_ends(
    settings: Settings,
    indexed: None,
    part: Part,
    partitions: int,
    serves: bool,
    expected: set[str],
    is_prepared: bool,
) -> None:
    services = Services(msgspec.structs.replace(settings, journal_partitions=partitions))
    services.serves = serves
    services.loops = loops = Recorded()
    if is_prepared:
        services.prepared.set()
    async with part(services):
        await asyncio.sleep(0)
        assert set(loops.tasks) == expected
        running = {name for name, task in loops.tasks.items() if not task.done()}
        assert running >= expected - names(PREPARING)
    await services.close()
    assert all(task.done() for task in loops.tasks.values())
    assert loops.down == []


@pytest.mark.parametrize(
    ("url", "following"),
    [
        ("redis://one:6379/0", set()),
        ("redis+sentinel://one,two,three/main", {"redis_primary"}),
        ("redis+cluster://one,two,three", {"redis_cluster", "redis_cluster_waiting"}),
    ],
)
async def test_only_sentinels_and_clusters_are_followed(
    settings: Settings, url: str, following: set[str]
) -> None:
    services = Services(msgspec.structs.replace(settings, redis_url=url))
    assert set(background.drain_loops(services)) == {
        "longest_turn",
        "memory",
        "copies",
        *names(OF_DRAINS),
        *following,
    }
    await services.close()


def test_what_a_drain_needs_is_given_up_after_failures_and_the_rest_never() -> None:
    given_up = {row.name for row in LOOPS if row.max_failures is not None}
    assert given_up == {"drain", "overdue", "webhooks", "fleet"} <= names(DRAINING)


@pytest.mark.usefixtures("long_memory")
async def test_a_process_that_serves_follows_the_changes_of_others(
    settings: Settings, services: Services
) -> None:
    link = await create_link(services, new_id(), "a")
    other = Services(settings)
    async with background.serving(other):
        await asyncio.wait_for(other.changes.subscribed.wait(), PATIENCE_SECONDS)
        cache = other.links.link_cache
        assert await cache.get("link:/a") is not None
        await services.links.links.change(link.id, {"active": False})
        await becomes(lambda: cache.get("link:/a"), await services.links.link_cache.get("link:/a"))
    await other.close()


async def test_a_process_that_drains_notifies_of_late_clicks_and_publishes_its_counts(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain_counters, "PUBLISH_EVERY_SECONDS", 0.01)
    events, redis = services.stores.mongodb["events"], services.stores.redis
    account_id = new_id()
    await scene.applied(services, [make_conversion(1, new_id().bytes, account_id=account_id.bytes)])
    await events.update_one({"_id": 1}, {"$currentDate": {"tell_at": True}})
    async with background.draining(services):
        await eventually(lambda: events.count_documents({"tell_at": None}))
        await services.journal.journal.append(make_click(account_id))
        await eventually(lambda: redis.exists(DRAIN_COUNTER_SUMS))
