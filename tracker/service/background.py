"""The table of background loops, by the phase of a process in which they run.

A phase may begin after those above it, and ends before them. `tracker/loops` restarts each loop
after an error. The loops of a drain get an event that tells them to finish; the rest is cancelled.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from pymongo.errors import PyMongoError

from tracker.ingest.drain_number import DrainNumber
from tracker.ingest.notification import notify_overdue_loop
from tracker.ingest.services import DrainParts
from tracker.journal.overflow import keep_deciding
from tracker.links.site.unknown_paths import FLUSH_SECONDS
from tracker.loops import Loops, cancel_and_wait, repeat
from tracker.service.longest_turn import keep_measuring
from tracker.service.services import Services
from tracker.stores.redis.clients import follow, has_sentinels, keep_checking
from tracker.stores.redis.cluster import is_cluster

MAX_FAILURES: Final = 5
"""After so many errors in a row a loop that a drain needs is given up, and the process ends.
Another process may do better, and continuing without the loop would hide the failure."""

Parts = TypeVar("Parts")


class Loop(NamedTuple, Generic[Parts]):
    """A loop of a process that has `Parts`, if `when` is true of them.

    `run` gets the event that ends the loop. After `max_failures` errors in a row the process ends
    with code 1. Names are values of a metric's label.
    """

    name: str
    run: Callable[[Parts, asyncio.Event], Awaitable[None]]
    when: Callable[[Parts], bool] = lambda _: True
    max_failures: int | None = None


PROCESS: Final[tuple[Loop[Services], ...]] = (
    Loop("longest_turn", lambda _, __: keep_measuring()),
    Loop("memory", lambda s, _: s.journal.budget_meter.keep_measuring()),
    Loop("copies", lambda s, _: keep_checking(s.stores.redis)),
    Loop(
        "redis_primary",
        lambda s, _: follow(s.stores.redis),
        when=lambda s: has_sentinels(s.stores.redis),
    ),
    Loop(
        "redis_cluster",
        lambda s, _: follow(s.stores.redis),
        when=lambda s: is_cluster(s.stores.redis),
    ),
    Loop(
        "redis_cluster_waiting",
        lambda s, _: follow(s.stores.redis_blocking),
        when=lambda s: is_cluster(s.stores.redis_blocking),
    ),
)
"""In every process, until it closes its stores."""

DRAIN_NUMBER: Final[tuple[Loop[DrainNumber], ...]] = (
    Loop("lease", lambda number, _: number.repeat(number.renew)),
    # Apart from the lease, because ending a session waits for MongoDB.
    Loop("dead", lambda number, _: number.repeat(number.end_dead_sessions)),
)
"""In a process that drains, until its number is free again."""

PREPARING: Final[tuple[Loop[Services], ...]] = (Loop("prepare", lambda s, _: s.keep_preparing()),)
"""In every process, until MongoDB has its indexes."""

DRAINING: Final[tuple[Loop[DrainParts], ...]] = (
    Loop(
        "drain",
        lambda d, stop: (d.readers if d.has_partitions else d.consumer).run(stop),
        max_failures=MAX_FAILURES,
    ),
    Loop(
        "overdue",
        lambda d, stop: notify_overdue_loop(d.drain.notify_overdue, stop),
        max_failures=MAX_FAILURES,
    ),
    Loop("webhooks", lambda d, stop: d.sender.run(stop), max_failures=MAX_FAILURES),
    Loop("delivery_queue", lambda d, stop: d.queue_repair.run(stop)),
    Loop("fleet", lambda d, stop: d.counters.run(stop), max_failures=MAX_FAILURES),
    # Never given up: clicks are drained without them.
    Loop("joint_counts", lambda d, stop: d.joint_counts.run(stop)),
    Loop("overflow", lambda d, stop: d.overflow.run(stop)),
    Loop("last_clicks", lambda d, stop: d.drain.last_clicks.run(stop)),
    Loop("link_lists", lambda d, stop: d.link_lists.run(stop)),
    Loop("partitions", lambda d, stop: d.readers.run(stop), when=lambda d: not d.has_partitions),
    # MongoDB's client often waits for the event loop beside visitors, and a second batch uses that
    # time: of 26,000 clicks a second 87 % are stored two seconds after the last, and 64 % without
    # it. A drain in a process of its own gains nothing.
    Loop(
        "drain_helper",
        lambda d, stop: d.helper.run(stop),
        when=lambda d: d.serves and not d.has_partitions,
    ),
)
"""In a process that drains, once MongoDB has its indexes."""

IMPORTING: Final[tuple[Loop[Services], ...]] = (
    Loop("imports", lambda s, stop: s.imports.worker.run(stop)),
    Loop("alerts", lambda s, stop: s.alerts.telling.run(stop)),
    Loop("uploads", lambda s, stop: s.uploads.worker.run(stop)),
)
"""In a process that drains, once MongoDB has its indexes; a chunk is finished before it ends."""

SERVING: Final[tuple[Loop[Services], ...]] = (
    Loop("changes", lambda s, _: s.changes.listen()),
    Loop("changed_links", lambda s, _: s.links.link_cache.keep_restoring()),
    Loop("copy_filler", lambda s, _: s.copy_filler.run()),
    Loop("copy_eviction", lambda s, _: s.copy_eviction.run()),
    Loop("replay", lambda s, _: s.journal.journal.replay()),
    Loop(
        "overflow_choice",
        lambda s, _: keep_deciding(s.journal.journal.overflow, s.journal.backlog),
    ),
    Loop("live_streams", lambda s, _: s.live.live.tick()),
    Loop("open_answers", lambda s, _: s.access.open_answers.guard()),
    Loop("share_opens", lambda s, _: s.sharing.share_opens.keep_storing()),
    Loop("key_uses", lambda s, _: s.access.api_keys.uses.keep_storing()),
    Loop("unknown_paths", lambda s, _: repeat(FLUSH_SECONDS, s.links.unknown_paths.store)),
    Loop("refusals", lambda s, _: repeat(1.0, s.conversions.refusals.store)),
    Loop("repeats", lambda s, _: repeat(1.0, s.conversions.repeats.store)),
)
"""In a process that serves, until every append is durable."""

OF_DRAINS: Final[tuple[Loop[Any], ...]] = (*DRAIN_NUMBER, *PREPARING, *DRAINING, *IMPORTING)

LOOPS: Final[tuple[Loop[Any], ...]] = (*PROCESS, *OF_DRAINS, *SERVING)


def drain_loops(services: Services) -> list[str]:
    """Name the loops of drains that use the Redis of `services`."""
    return [row.name for row in PROCESS if row.when(services)] + [row.name for row in OF_DRAINS]


@contextlib.asynccontextmanager
async def running(
    rows: tuple[Loop[Parts], ...], parts: Parts, loops: Loops, until: asyncio.Event | None = None
) -> AsyncIterator[None]:
    """Run the loops of `rows`; cancel them on exit. One that returns before `until` has failed."""
    tasks = _start(rows, parts, loops, until or asyncio.Event())
    try:
        yield
    finally:
        await asyncio.gather(*map(cancel_and_wait, tasks))


@contextlib.asynccontextmanager
async def leased(number: DrainNumber, loops: Loops) -> AsyncIterator[DrainNumber]:
    """Keep the lease of a drain's number; free the number on exit."""
    try:
        async with running(DRAIN_NUMBER, number, loops):
            yield number
    finally:
        await number.release()


def preparing(services: Services) -> contextlib.AbstractAsyncContextManager[None]:
    """Prepare MongoDB in the background, unless it is prepared."""
    return running(PREPARING, services, services.loops, services.prepared)


@contextlib.asynccontextmanager
async def draining(services: Services) -> AsyncIterator[None]:
    """Drain and send to webhooks in this process; on exit, finish the batch in progress."""
    number = DrainNumber(services.stores.redis, services.stores.mongodb)
    async with leased(number, services.loops), preparing(services):
        parts, stop = services.ingest.parts(number, services.serves), asyncio.Event()
        tasks = _start(DRAINING, parts, services.loops, stop, services.prepared)
        tasks += _start(IMPORTING, services, services.loops, stop, services.prepared)
        try:
            yield
        finally:
            stop.set()
            if not services.prepared.is_set():
                for task in tasks:
                    task.cancel()
            await asyncio.wait(tasks)
            await parts.counters.publish()
            with contextlib.suppress(PyMongoError):
                await parts.drain.last_clicks.store()
            for consumer in (parts.consumer, parts.helper, parts.overflow):
                await consumer.deregister()


@contextlib.asynccontextmanager
async def serving(services: Services) -> AsyncIterator[None]:
    """Run the loops of serving, even without a store; on exit, make every append durable."""
    await services.conversions.event_ids.start()
    try:
        async with running(SERVING, services, services.loops):
            try:
                yield
            finally:
                await services.conversions.recorder.close()
    finally:
        await services.stop()


def _start(
    rows: tuple[Loop[Parts], ...],
    parts: Parts,
    loops: Loops,
    until: asyncio.Event,
    after: asyncio.Event | None = None,
) -> list[asyncio.Task[None]]:
    """Start the loops, each of which waits for `after` before it runs."""

    async def run(row: Loop[Parts]) -> None:
        if after is not None:
            await after.wait()
        await row.run(parts, until)

    return [
        loops.start(row.name, partial(run, row), until, row.max_failures)
        for row in rows
        if row.when(parts)
    ]
