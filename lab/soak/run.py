"""The whole of it, in order: start, load and look, let it settle, compare."""

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from config.settings import Settings
from lab.load import scene
from lab.load.client import Load
from lab.load.comparison import differences, lost
from lab.load.mixed import Mixed
from lab.load.outcome import percentile
from lab.load.schedule import Closed, Paced
from lab.load.service import service
from lab.load.stores import Stores
from lab.processes import free_ports, started
from lab.soak.result import MEGABYTE, Result
from lab.usage import resident_bytes

LINKS: Final = 1_000

TOP_SECONDS: Final = 5.0
"""At full speed in the beginning, to learn what half of it is."""

GROWN_FROM: Final = 100_000
"""Clicks after which the web process should not grow any more."""

DRAIN_SECONDS: Final = 300.0
_TELL_EVERY: Final = 30.0
_LOOK_EVERY: Final = 0.25
_AT_ONCE: Final = 10_000


class Options(NamedTuple):
    """`rate` None: half of what it answers at most."""

    seconds: int
    rate: int | None
    connections: int


class Soak:
    """One run, in a folder of its own; `stores` says where the stores are."""

    def __init__(self, options: Options, folder: Path, stores: Settings) -> None:
        self._options = options
        self._settings = stores
        [port] = free_ports(1)
        self._processes = [
            service(folder, stores, "web", port),
            service(folder, stores, "drain", port),
        ]
        self._loads: list[Load] = []
        self._size_before: int | None = None
        self._began = time.monotonic()

    async def run(self) -> Result:
        """Raises NotReady or NotDrained; every process is ended when it returns."""
        prepared = msgspec.structs.replace(self._settings, base_url="http://127.0.0.1")
        traffic = Mixed(await scene.prepare(prepared, LINKS))
        try:
            await started(self._processes)
            async with Stores(self._settings) as stores:
                return await self._run(traffic, stores)
        finally:
            for process in self._processes:
                process.end()

    async def _run(self, traffic: Mixed, stores: Stores) -> Result:
        watch = asyncio.get_running_loop().create_task(self._watch(traffic, stores))
        try:
            await self._load(traffic)
            size_after = resident_bytes(self._processes[0].pid)
            await stores.drained(DRAIN_SECONDS)
        finally:
            watch.cancel()
            await asyncio.wait([watch])
        return await self._compared(traffic, stores, size_after)

    async def _load(self, traffic: Mixed) -> None:
        options, rate = self._options, self._options.rate
        if rate is None:
            top = await self._new_load(traffic).run(Closed(time.perf_counter(), TOP_SECONDS))
            rate = max(1, int(top.rate / 2))
            print(f"{top.rate:,.0f} requests/s at full speed; goes on with {rate:,}", flush=True)
        paced = Paced(time.perf_counter(), options.seconds, rate)
        await self._new_load(traffic).run(paced)

    def _new_load(self, traffic: Mixed) -> Load:
        load = Load(self._processes[0].port, traffic, self._options.connections)
        self._loads.append(load)
        return load

    async def _watch(self, traffic: Mixed, stores: Stores) -> None:
        """Until cancelled."""
        pids = {one.name: one.pid for one in self._processes} | await stores.pids()
        tell_at = self._began + _TELL_EVERY
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if self._size_before is None and traffic.clicks >= GROWN_FROM:
                self._size_before = resident_bytes(pids["web"])
            for process in self._processes:
                process.restart_if_ended()
            if time.monotonic() >= tell_at:
                tell_at += _TELL_EVERY
                await self._tell(traffic, stores, pids)

    async def _tell(self, traffic: Mixed, stores: Stores, pids: dict[str, int]) -> None:
        answered = traffic.clicks + len(traffic.event_ids)
        stored = await stores.stored_about("clicks") + await stores.stored_about("events")
        sizes = ", ".join(f"{name} {_megabytes(pid)}" for name, pid in pids.items())
        recent = sorted(self._loads[-1].latencies[-_AT_ONCE:])
        print(
            f"{time.monotonic() - self._began:5.0f} s  {answered:,} requests, "
            f"{sum(sum(load.errors.values()) for load in self._loads):,} errors, "
            f"p99 {percentile(recent, 0.99) * 1000:.1f} ms, backlog {max(0, answered - stored):,}; "
            f"resident MB: {sizes}",
            flush=True,
        )

    async def _compared(self, traffic: Mixed, stores: Stores, size_after: int) -> Result:
        clicks, events = traffic.clicks, len(traffic.event_ids)
        missing = await lost(traffic, stores)
        stored = await stores.stored("clicks") + await stores.stored("events")
        errors = sum((load.errors for load in self._loads), start=Counter[str]())
        before = self._size_before
        return Result(
            requests=clicks + events,
            clicks=clicks,
            events=events,
            errors=dict(errors),
            lost=missing,
            unknown=stored - (clicks + events - missing),
            differences=await asyncio.to_thread(differences, self._settings),
            ended=[line for process in self._processes for line in process.ended_by_itself],
            growth=None if before is None else size_after - before,
        )


def _megabytes(pid: int) -> str:
    return f"{resident_bytes(pid) / MEGABYTE:.0f}"
