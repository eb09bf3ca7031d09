"""One run: its stores and sizes, the service on them, and the processor time of its processes."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from config.settings import Settings
from lab.client import Load, Outcome
from lab.growth.figures import FAILED, Samples
from lab.growth.filling import Filling
from lab.harness import CannotMeasure
from lab.process_usage import cpu_by_name
from lab.processes import Process, free_ports, loaded_process, running
from lab.stores import Stores, open_stores
from lab.traffic import Closed, Paced, Prepared
from scripts.progress import ProgressLine
from tracker.stores.redis.keys import JOINT_COUNTS_LEASE

QUIET_DAYS: Final = 3
"""The days before a load: longer than visitors are remembered. Most links are not in use."""

REQUESTS: Final = 10_000
"""Those of a load at full speed."""

WARM_UP_REQUESTS: Final = 1_000
STEADY_SECONDS: Final = 4.0
"""The duration of a load at a steady rate."""

DRAIN_SECONDS: Final = 120.0
_LOAD_SECONDS: Final = 300.0
_LEASE_SECONDS: Final = 3_600.0
_REST_LOOK_SECONDS: Final = 2.0
_RESTING_PERCENT: Final = 5.0


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """The large sizes, and the number of measurements."""

    links: int
    accounts: int
    webhooks: int
    clicks: int
    rounds: int

    @property
    def few_links(self) -> int:
        return min(1_000, math.ceil(self.links / 100))

    @property
    def few_webhooks(self) -> int:
        return math.ceil(self.webhooks / 10)


class Run(NamedTuple):
    """What each direction is given; `filling` has the accounts with links that several use."""

    folder: Path
    stores: Settings
    filling: Filling
    sizes: Sizes
    samples: Samples
    line: ProgressLine

    def in_database(self, name: str) -> Settings:
        return msgspec.structs.replace(self.stores, mongodb_database=name)


class Cost(NamedTuple):
    """The processor microseconds of each request by process, and the load's outcome."""

    cpu: Mapping[str, float]
    outcome: Outcome

    @property
    def total(self) -> float:
        return sum(self.cpu.values())


class Service:
    """A web and a drain process, beside their stores."""

    def __init__(
        self, web: Process, drain: Process, stores: Stores, pids: Mapping[str, int]
    ) -> None:
        self.web = web
        self.drain = drain
        self.stores = stores
        self._pids = pids

    @property
    def port(self) -> int:
        return self.web.port

    def cpu_seconds(self) -> dict[str, float]:
        return cpu_by_name({"web": self.web.pid, "drain": self.drain.pid, **self._pids})

    async def restart_web(self) -> None:
        await self.web.terminate()
        self.web.start()
        await self.web.ready()

    async def load(
        self, requests: Sequence[bytes], status: int = 302, rate: float | None = None
    ) -> Cost:
        """Send requests at full speed, or `rate` a second, until all that they record is stored."""
        now, load = time.perf_counter(), Load(self.port, Prepared(requests, status))
        before = self.cpu_seconds()
        schedule = (
            Closed(now, _LOAD_SECONDS, len(requests))
            if rate is None
            else Paced(now, len(requests) / rate, rate)
        )
        outcome = await load.run(schedule)
        await self.stores.wait_until_drained(DRAIN_SECONDS)
        after = self.cpu_seconds()
        if outcome.errors:
            raise CannotMeasure(f"{outcome.requests:,} answers, and {outcome.errors}")
        cpu = {name: 1e6 * (after[name] - before[name]) / outcome.requests for name in after}
        return Cost(cpu, outcome)

    async def share_of_core(self, seconds: float) -> float:
        before, began = sum(self.cpu_seconds().values()), time.perf_counter()
        await asyncio.sleep(seconds)
        used = sum(self.cpu_seconds().values()) - before
        return 100 * used / (time.perf_counter() - began)

    async def rest(self, seconds: float) -> None:
        """Wait until the processes have done what a start leaves to do, at most `seconds`."""
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            if await self.share_of_core(_REST_LOOK_SECONDS) < _RESTING_PERCENT:
                return

    async def milliseconds(self, request: bytes, times: int, status: int = 200) -> float:
        """Return the median time of an answer; FAILED after any other status."""
        load = Load(self.port, Prepared([request], status), 1)
        outcome = await load.run(Closed(time.perf_counter(), _LOAD_SECONDS, times))
        return FAILED if outcome.errors or not outcome.requests else outcome.p50 * 1000


@asynccontextmanager
async def serving(
    run: Run, settings: Settings, *, days_later: int = 0, counts_ahead: bool = True
) -> AsyncIterator[Service]:
    """Run the service on the stores of `settings`.

    Before that so many days pass without traffic. Without `counts_ahead` no drain counts finished
    days: that work of its own would be taken for that of the traffic.
    """
    [port] = free_ports(1)
    web, drain = (loaded_process(run.folder, settings, role, port) for role in ("web", "drain"))
    async with open_stores(settings) as stores:
        if days_later:
            await stores.pass_days(days_later)
        if not counts_ahead:
            await stores.hold_lease(JOINT_COUNTS_LEASE, _LEASE_SECONDS)
        async with running([web, drain]):
            yield Service(web, drain, stores, await stores.pids())
            # A killed drain would keep its lease from the next one.
            await asyncio.gather(web.terminate(), drain.terminate())
