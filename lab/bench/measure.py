"""One measurement of a row: its processes are started, warmed up, loaded, sampled and ended."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from config.settings import Settings
from lab import requests
from lab.bench import wrk
from lab.bench.link_changes import measure_changes
from lab.bench.rows import Row, log_of, processes_of
from lab.client import CONNECTIONS, NOT_SENT, Load, Outcome
from lab.harness import CannotMeasure
from lab.log_pipe import LogPipe
from lab.process_usage import cpu_by_name, resident_bytes
from lab.processes import Process, running
from lab.scene import Deciding, Scene
from lab.stores import Stores
from lab.traffic import Closed, Paced, Prepared

PREPARED_REQUESTS: Final = 5_000
WARM_UP_REQUESTS: Final = 2_000
WARM_UP_SECONDS: Final = 20.0
DRAIN_SECONDS: Final = 30.0

PACED_CONNECTIONS: Final = 256
"""Connections of wrk when it holds a rate. At 12,000 requests a second one of them is free for the
next request even if answers take 20 ms. More connections cost wrk more."""

SETTLE_SECONDS: Final = 2.0
"""The time from the end of the load until the stored documents are counted again."""


class Landed(msgspec.Struct, kw_only=True):
    """Numbers of documents: accepted, stored when the load ended, stored SETTLE_SECONDS later.

    `cpu_seconds` is until then, by process, the stores among them.
    """

    accepted: int
    at_end: int
    settled: int
    cpu_seconds: dict[str, float]


class Measured(msgspec.Struct, kw_only=True):
    """One round of a row, by process, with the one that answers first.

    - `cpu_seconds`: during the load; of Redis too if the row appends
    - `memory`: resident bytes at the end of the load; of the stores too if the row records
    """

    outcome: Outcome
    cpu_seconds: dict[str, float]
    memory: dict[str, int]
    landed: Landed | None

    @property
    def landed_rate(self) -> float:
        """Return the documents stored a second during the load, or the requests if none are."""
        if self.landed is None:
            return self.outcome.rate
        return self.landed.at_end / self.outcome.seconds

    @property
    def landed_cpu(self) -> dict[str, float]:
        """Return the processor microseconds for each document that landed, by process."""
        if self.landed is None:
            return {}
        number = max(1, self.landed.settled)
        return {name: 1e6 * used / number for name, used in self.landed.cpu_seconds.items()}


class Options(NamedTuple):
    """The options of each load; `use_wrk` replaces our own client by wrk."""

    seconds: int
    use_wrk: bool


class Bench:
    """A benchmark on one set of stores, for one row at a time."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        stores: Stores,
        scenes: Mapping[tuple[int, str, Deciding], Scene],
        options: Options,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._stores = stores
        self._scenes = scenes
        self._options = options

    async def measure(
        self, row: Row, pace: float | None = None, seconds: int | None = None
    ) -> Measured:
        """Measure a row at full speed, or at `pace` requests a second; for `seconds`, if given."""
        await self._stores.empty()
        await self._stores.flush(row.appendfsync)
        scene = self._scenes[row.scene]
        processes = processes_of(row, self._folder, self._settings, scene)
        async with _logs_read(row, processes), running(processes):
            port = processes[0].port
            prepared = await self._prepare_requests(row, port, scene)
            warm_up = max(WARM_UP_REQUESTS, row.links)
            await self._load(port, Prepared(prepared[::-1], row.status), warm_up)
            await self._stores.wait_until_drained(DRAIN_SECONDS)
            seconds = seconds or self._options.seconds
            load = self._run_load(processes, row, prepared, pace, seconds)
            measured = await self._measure_load(row, processes, load)
            await asyncio.gather(*(process.terminate() for process in processes))
        if measured.outcome.errors.keys() - {NOT_SENT}:
            raise CannotMeasure(f"row {row.key}: {measured.outcome.errors}")
        return measured

    async def _prepare_requests(self, row: Row, port: int, scene: Scene) -> list[bytes]:
        number = max(PREPARED_REQUESTS, row.links)
        if row.requests == "events by key":
            return requests.events_by_key(scene, number)
        if row.requests == "events by click":
            clicks = Prepared(requests.clicks(scene.places, number), 302, keep_ids=True)
            await self._load(port, clicks, number)
            await self._stores.wait_until_drained(DRAIN_SECONDS)
            return requests.events_by_click(clicks.click_ids)
        if row.requests == "pages":
            return requests.page_clicks(scene.places)
        if row.requests == "links":
            return requests.listing(scene)
        return requests.clicks(scene.places, number)

    async def _load(self, port: int, traffic: Prepared, count: int) -> None:
        """Send requests that are not measured."""
        load = Load(port, traffic)
        try:
            outcome = await load.run(Closed(time.perf_counter(), WARM_UP_SECONDS, count))
        except (OSError, TimeoutError) as error:
            raise CannotMeasure(f"port {port} cannot be reached: {error}") from None
        if outcome.errors or not outcome.requests:
            raise CannotMeasure(f"port {port}: {outcome.requests:,} answers, and {outcome.errors}")

    async def _measure_load(
        self, row: Row, processes: Sequence[Process], load: Awaitable[Outcome]
    ) -> Measured:
        stored = await self._count_stored(row)
        stores = await self._stores.pids()
        appended_to = {"redis": stores["redis"]} if row.appends else {}
        before = _cpu_seconds(processes, stores)
        outcome = await load
        after = _cpu_seconds(processes, appended_to)
        landed = None
        if row.stored is not None:
            at_end = await self._count_stored(row)
            await asyncio.sleep(SETTLE_SECONDS)
            landed = Landed(
                accepted=outcome.requests,
                at_end=at_end - stored,
                settled=await self._count_stored(row) - stored,
                cpu_seconds=_difference(_cpu_seconds(processes, stores), before),
            )
        used = _difference(after, before)
        pids = {one.name: one.pid for one in processes} | (stores if row.stored else {})
        memory = {name: resident_bytes(pid) for name, pid in pids.items()}
        return Measured(outcome=outcome, cpu_seconds=used, memory=memory, landed=landed)

    async def _count_stored(self, row: Row) -> int:
        # Not counted one by one, which would add a microsecond of MongoDB to each click.
        return 0 if row.stored is None else await self._stores.stored(row.stored)

    async def _run_load(
        self,
        processes: Sequence[Process],
        row: Row,
        prepared: list[bytes],
        pace: float | None,
        seconds: int,
    ) -> Outcome:
        port = processes[0].port
        if row.requests == "changes":
            scene = self._scenes[row.scene]
            return await measure_changes(port, processes[1].port, scene, seconds)
        if self._options.use_wrk:
            connections = CONNECTIONS if pace is None else PACED_CONNECTIONS
            return await wrk.run(self._folder, port, prepared, connections, seconds, pace)
        load = Load(port, Prepared(prepared, row.status))
        now = time.perf_counter()
        if pace is None:
            return await load.run(Closed(now, seconds))
        return await load.run(Paced(now, seconds, pace))


@asynccontextmanager
async def _logs_read(row: Row, processes: Sequence[Process]) -> AsyncIterator[None]:
    paths = [path for process in processes if (path := log_of(row, process))]
    with ExitStack() as stack:
        logs = [stack.enter_context(closing(LogPipe(path))) for path in paths]
        yield
        if logs and row.access_log and not logs[0].read_bytes:
            raise CannotMeasure(f"row {row.key}: nothing was logged")


def _cpu_seconds(processes: Sequence[Process], stores: Mapping[str, int]) -> dict[str, float]:
    return cpu_by_name({process.name: process.pid for process in processes} | dict(stores))


def _difference(after: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    return {name: seconds - before[name] for name, seconds in after.items()}
