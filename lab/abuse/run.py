"""One run: start, learn the sustained rate, attack after attack beside visitors, compare."""

import asyncio
import ssl
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from config.settings import Settings
from lab.abuse import world
from lab.abuse.attack import attacker
from lab.abuse.memory import MemoryWatch
from lab.abuse.result import SLOWER, TRIES, Attacked, Phases, Result, line
from lab.abuse.rows import Row
from lab.abuse.services import Servers
from lab.abuse.target import Target
from lab.abuse.visitors import SOURCES, Visitors
from lab.load.client import Load
from lab.load.comparison import differences, lost
from lab.load.outcome import Outcome
from lab.load.schedule import Closed, Paced, Schedule
from lab.load.stores import NotDrained, Stores
from lab.processes import Process, free_ports, started

WARM_SECONDS: Final = 4.0
TOP_SECONDS: Final = 8.0
AROUND_SECONDS: Final = 4.0
"""How long visitors are measured before an attack, and after it."""

DRAIN_SECONDS: Final = 60.0
_CONNECTIONS: Final = 64


class Options(NamedTuple):
    """`seconds` of each attack; `rate` None: half of what is sustained."""

    rows: Sequence[Row]
    seconds: float
    rate: float | None


class Abuse:
    """One run, in a folder of its own; `stores` says where the stores are."""

    def __init__(self, options: Options, folder: Path, stores: Settings, silent_dns: str) -> None:
        self._options = options
        self._settings = stores
        self._port, self._own_port = free_ports(2)
        self._servers = Servers(folder, stores, silent_dns, self._port, self._own_port)
        self._rate = options.rate or 0.0

    async def run(self) -> Result:
        """Return what came of it, with every process ended. Raises NotReady or NotDrained."""
        shared = [self._servers.web, self._servers.drain]
        base_url = f"http://localhost:{self._port}"
        settings = msgspec.structs.replace(self._settings, base_url=base_url)
        found = await world.build(settings)
        self._visitors = Visitors(found.scene)
        try:
            await started(shared)
            target = await found.target(settings, self._port, self._own_port)
            async with Stores(self._settings) as self._stores:
                return await self._run(target, shared)
        finally:
            for process in shared:
                process.end()

    async def _run(self, target: Target, shared: Sequence[Process]) -> Result:
        await self._load(self._port, Closed(time.perf_counter(), WARM_SECONDS))
        sustained = await self._sustained()
        self._rate = self._rate or sustained / 2
        print(f"{sustained:,.0f} requests/s sustained; visitors: {self._rate:,.0f}/s", flush=True)
        attacks: list[Attacked] = []
        for row in self._options.rows:
            for number in range(TRIES):
                attacks.append(await self._attacked(row, target))
                print(line(attacks[-1]), flush=True)
                if number == 0 and attacks[-1].slower <= SLOWER:
                    break
        return Result(
            rate=self._rate,
            attacks=attacks,
            requests=self._visitors.clicks + len(self._visitors.event_ids),
            lost=await lost(self._visitors, self._stores),
            differences=await asyncio.to_thread(differences, self._settings),
            ended=[ended for process in shared for ended in _ended(process)],
        )

    async def _sustained(self) -> float:
        """Return the requests a second that are answered and stored, over a burst and its end."""
        await self._stores.drained(DRAIN_SECONDS)
        began = time.perf_counter()
        burst = await self._load(self._port, Closed(began, TOP_SECONDS))
        await self._stores.drained(DRAIN_SECONDS)
        return burst.requests / (time.perf_counter() - began)

    async def _attacked(self, row: Row, target: Target) -> Attacked:
        async with self._servers.serving(row.serving) as served:

            async def phase(seconds: float) -> Outcome:
                schedule = Paced(time.perf_counter(), seconds, self._rate)
                return await self._load(served.process.port, schedule, served.tls)

            if served.process is not self._servers.web:  # a new one grows with its first requests
                await phase(WARM_SECONDS)
            before = await phase(AROUND_SECONDS)
            async with (
                MemoryWatch([served.process, self._servers.drain]) as memory,
                attacker(row, self._options.seconds, target) as attack,
            ):
                with served.disturbed():
                    during, report = await asyncio.gather(phase(self._options.seconds), attack())
            after = await phase(AROUND_SECONDS)
            return Attacked(
                name=row.name,
                title=row.title,
                visitors=Phases(before, during, after),
                memory=await memory.settled(),
                drained=await self._drained(),
                report=report,
            )

    async def _drained(self) -> float | None:
        since = time.perf_counter()
        try:
            await self._stores.drained(DRAIN_SECONDS)
        except NotDrained:
            return None
        return time.perf_counter() - since

    async def _load(
        self, port: int, schedule: Schedule, tls: ssl.SSLContext | None = None
    ) -> Outcome:
        return await Load(port, self._visitors, _CONNECTIONS, SOURCES, tls).run(schedule)


def _ended(process: Process) -> list[str]:
    """Return a line if the process has ended by itself."""
    process.restart_if_ended()
    return process.ended_by_itself
