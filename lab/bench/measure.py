"""One measurement of one row: processes started, warmed up, loaded, sampled and ended."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from config.settings import Settings
from lab import requests
from lab.bench import wrk
from lab.bench.rows import Row, processes_of
from lab.client import Load, Outcome
from lab.harness import CannotMeasure
from lab.processes import Process, cpu_seconds, running
from lab.scene import Scene
from lab.stores import Stores
from lab.traffic import Closed, Paced, Prepared

PREPARED_REQUESTS: Final = 5_000
WARM_UP_REQUESTS: Final = 2_000
WARM_UP_SECONDS: Final = 20.0
DRAIN_SECONDS: Final = 30.0

PACED_CONNECTIONS: Final = 256
"""Connections of wrk when it holds a rate: enough for one to be free when one of 12,000 requests
a second is due, even if answers take 20 ms. More connections cost wrk more."""

SETTLE_SECONDS: Final = 2.0
"""How long after the load the stored documents are counted."""


class Faulty(CannotMeasure):
    """A row that does not answer as it should, with one line that says how."""


class Landed(msgspec.Struct, kw_only=True):
    """Numbers of documents: accepted, stored when the load ended, stored SETTLE_SECONDS later."""

    accepted: int
    at_end: int
    settled: int


class Measured(msgspec.Struct, kw_only=True):
    """One round of a row; `cpu_seconds` is by process, with the one that answers first."""

    outcome: Outcome
    cpu_seconds: dict[str, float]
    landed: Landed | None


class Options(NamedTuple):
    """The options of each load; `use_wrk` replaces the client of our own by wrk."""

    seconds: int
    connections: int
    use_wrk: bool


class Bench:
    """A benchmark on one set of stores, for one row at a time."""

    def __init__(
        self, folder: Path, settings: Settings, stores: Stores, scene: Scene, options: Options
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._stores = stores
        self._scene = scene
        self._options = options

    async def measure(self, row: Row, pace: float | None = None) -> Measured:
        """Measure a row at full speed, or at `pace` requests a second.

        Raises CannotMeasure if its processes do not start, answer or drain as they should.
        """
        await self._stores.empty()
        await self._stores.flush(row.appendfsync)
        processes = processes_of(row.serving, self._folder, self._settings)
        async with running(processes):
            port = processes[0].port
            prepared = await self._prepared(row, port)
            await self._load(port, Prepared(prepared, row.status), WARM_UP_REQUESTS)
            await self._stores.drained(DRAIN_SECONDS)
            measured = await self._measured(row, processes, prepared, pace)
            await asyncio.gather(*(process.leave() for process in processes))
        if measured.outcome.errors:
            raise Faulty(f"row {row.key}: {measured.outcome.errors}")
        return measured

    async def _prepared(self, row: Row, port: int) -> list[bytes]:
        if row.asking == "events by key":
            return requests.events_by_key(self._scene, PREPARED_REQUESTS)
        if row.asking == "events by click":
            clicks = Prepared(requests.clicks(self._scene, PREPARED_REQUESTS), 302, keep_ids=True)
            await self._load(port, clicks, PREPARED_REQUESTS)
            await self._stores.drained(DRAIN_SECONDS)
            return requests.events_by_click(clicks.click_ids)
        if row.asking == "links":
            return requests.listing(self._scene)
        return requests.clicks(self._scene, PREPARED_REQUESTS)

    async def _load(self, port: int, traffic: Prepared, count: int) -> None:
        """Send requests that are not measured. Raises Faulty if they are not answered rightly."""
        load = Load(port, traffic, self._options.connections)
        try:
            outcome = await load.run(Closed(time.perf_counter(), WARM_UP_SECONDS, count))
        except (OSError, TimeoutError) as error:
            raise Faulty(f"port {port} cannot be reached: {error}") from None
        if outcome.errors or not outcome.requests:
            raise Faulty(f"port {port}: {outcome.requests:,} answers, and {outcome.errors}")

    async def _measured(
        self, row: Row, processes: Sequence[Process], prepared: list[bytes], pace: float | None
    ) -> Measured:
        stored = await self._stored(row)
        before = _cpu_seconds(processes)
        outcome = await self._loaded(processes[0].port, row, prepared, pace)
        after = _cpu_seconds(processes)
        landed = None
        if row.stored is not None:
            at_end = await self._stored(row)
            await asyncio.sleep(SETTLE_SECONDS)
            landed = Landed(
                accepted=outcome.requests,
                at_end=at_end - stored,
                settled=await self._stored(row) - stored,
            )
        used = {name: after[name] - before[name] for name in after}
        return Measured(outcome=outcome, cpu_seconds=used, landed=landed)

    async def _stored(self, row: Row) -> int:
        return 0 if row.stored is None else await self._stores.stored(row.stored)

    async def _loaded(
        self, port: int, row: Row, prepared: list[bytes], pace: float | None
    ) -> Outcome:
        options = self._options
        if options.use_wrk:
            connections = options.connections if pace is None else PACED_CONNECTIONS
            wanted = (prepared, connections, options.seconds, pace)
            return await wrk.run(self._folder, port, *wanted)
        load = Load(port, Prepared(prepared, row.status), options.connections)
        now = time.perf_counter()
        if pace is None:
            return await load.run(Closed(now, options.seconds))
        return await load.run(Paced(now, options.seconds, pace))


def _cpu_seconds(processes: Sequence[Process]) -> dict[str, float]:
    return {process.name: cpu_seconds(process.pid) for process in processes}
