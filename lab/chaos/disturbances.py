"""The disturbances of a run: which process is killed or stopped when, and for how long.

`schedule` is pure: a seed has one schedule. Each process keeps its address and its folder when it
is killed and started again.
"""

import asyncio
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from msgspec import structs

from config.settings import Settings
from lab.chaos.topology import TOPOLOGIES, Topology
from lab.harness import wait_until
from lab.processes import NotReady, Process, free_ports, service_process

SERVICE_KINDS: Final = ("kill web", "kill drain", "stop web", "stop drain")
LAG_SECONDS: Final = 3.0
"""How long the replicas of Redis lag before their primary is killed."""

MAX_SECONDS: Final = 14.0
"""The longest disturbance: longer than any timeout of the service, and longer than a drain may be
silent before the others take over its entries."""

_SPOOL_SECONDS: Final = 30.0
"""How long the spool may take to be empty, to take records, and to be there again."""

_LOOK_SECONDS: Final = 0.02

_MAX_SHARE: Final = 0.1
"""The limit of one disturbance, as a share of the whole time."""

_CALM_SHARE: Final = 0.05
"""The share of the time before the first disturbance."""


class Disturbance(NamedTuple):
    """A process killed and started again, or stopped and continued, after `seconds`.

    A primary of Redis may also be demoted, have its connections cut, be killed after its replicas
    have lagged or together with them (away), have its port accept connections and close them, or
    have its copies deleted (empty).
    The folder of the spool may be removed (remove) while Redis is down.
    `at` is in seconds from the beginning; `process` names a process of the kind's target,
    or a store.
    """

    at: float
    kind: str
    process: str
    seconds: float

    @property
    def action(self) -> str:
        """Return what is done: the first word of the kind."""
        return self.kind.partition(" ")[0]

    @property
    def killed(self) -> str:
        """Return the name of the process or store that is not to be disturbed by others."""
        return "redis" if self.action == "remove" else self.process


def schedule(
    seed: int, seconds: float, count: int, drains: int, kinds: Sequence[str]
) -> list[Disturbance]:
    """Return `count` disturbances in order of time, about as many of each kind."""
    random = Random(seed)  # noqa: S311
    share = seconds * (1 - _CALM_SHARE) / max(1, count)
    longest = min(MAX_SECONDS, seconds * _MAX_SHARE)
    return [
        Disturbance(
            at=seconds * _CALM_SHARE + share * (number + random.random()),
            kind=kind,
            process=_process(random, kind, drains),
            seconds=longest * random.random() ** 2,
        )
        for number, kind in enumerate(islice(_in_turn(random, kinds), count))
    ]


def drain_names(drains: int) -> list[str]:
    return [f"drain {number}" for number in range(1, drains + 1)]


def _in_turn(random: Random, kinds: Sequence[str]) -> Iterator[str]:
    while True:
        yield from random.sample(kinds, len(kinds))


def _process(random: Random, kind: str, drains: int) -> str:
    target = kind.partition(" ")[2]
    if target == "spool":  # of the web process, which must live to notice
        return "web"
    return random.choice(drain_names(drains)) if target == "drain" else target


class Processes:
    """The processes of the service, `web`, `drain 1`, …, and its stores.

    `settings` are those of the service.
    """

    def __init__(self, folder: Path, drains: int, topology: str) -> None:
        [web] = free_ports(1)
        self.topology = Topology(TOPOLOGIES[topology], folder)
        self.stores = self.topology.processes
        self.settings = Settings(
            host="127.0.0.1",
            port=web,
            base_url=f"http://127.0.0.1:{web}",
            redis_url=self.topology.redis.url,
            mongodb_uri=self.topology.mongod.uri,
            journal_replicas=self.topology.redis.journal_replicas,
            journal_partitions=self.topology.redis.journal_partitions,
            data_dir=str(folder / "service"),
            # Visitors have addresses, by which the audit distinguishes them.
            trusted_proxies="1",
            store_ip=True,
            # The receiver is on this machine.
            webhook_allow_private=True,
            log_level="warning",
        )
        # Drains log which entries they take over; the web process would log every request.
        talkative = structs.replace(self.settings, log_level="info")
        self.service = [
            service_process(folder, "web", "web", self.settings),
            *(service_process(folder, name, "drain", talkative) for name in drain_names(drains)),
        ]

    @property
    def kinds(self) -> tuple[str, ...]:
        return (*SERVICE_KINDS, *self.topology.actions)

    async def named(self, name: str) -> Process:
        found = next((one for one in self.service if one.name == name), None)
        return found or await self.topology.primary(name)

    def __iter__(self) -> Iterator[Process]:
        return iter([*self.stores, *self.service])


class Disturber:
    """A disturber of processes, which follows a schedule; `done` counts by kind."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.done: Counter[str] = Counter(dict.fromkeys(kinds, 0))
        self._free: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(self, processes: Processes, planned: Sequence[Disturbance]) -> None:
        began = time.monotonic()
        await asyncio.gather(
            *(
                self._run_all(processes, began, [one for one in planned if one.process == name])
                for name in dict.fromkeys(one.process for one in planned)
            )
        )

    async def _run_all(
        self, processes: Processes, began: float, planned: list[Disturbance]
    ) -> None:
        """Disturb one process, each time when it is due or as soon as the last one is over."""
        for one in planned:
            await asyncio.sleep(max(0.0, began + one.at - time.monotonic()))
            async with self._free[one.killed]:
                await _disturb(processes, one)
            self.done[one.kind] += 1


@asynccontextmanager
async def closing(port: int) -> AsyncIterator[None]:
    """Accept connections on `port` and close them at once, as a balancer without a backend does."""

    def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", port):
        yield


async def _disturb(processes: Processes, disturbance: Disturbance) -> None:
    store, topology = disturbance.process, processes.topology
    match disturbance.action:
        case "demote":
            await topology.demote(store)
        case "cut":
            await topology.cut(await topology.primary(store))
        case "empty":
            await topology.empty(await topology.primary(store))
        case "lag":
            primary = await topology.primary(store)
            replicas = await topology.replicas(primary)
            for one in replicas:
                one.stop()
            await asyncio.sleep(LAG_SECONDS)
            await primary.kill()
            for one in replicas:
                one.resume()
            await asyncio.sleep(disturbance.seconds)
            primary.start()
        case "away":
            primary = await topology.primary(store)
            servers = [primary, *await topology.replicas(primary)]
            for one in servers:
                await one.kill()
            await asyncio.sleep(disturbance.seconds)
            for one in servers:
                one.start()
        case "close":
            process = await processes.named(store)
            await process.kill()
            async with closing(process.port):
                await asyncio.sleep(disturbance.seconds)
            process.start()
        case "remove":
            await _remove_spool(processes, disturbance.seconds)
        case "kill":
            process = await processes.named(store)
            await process.kill()
            await asyncio.sleep(disturbance.seconds)
            process.start()
        case _:
            process = await processes.named(store)
            process.stop()
            await asyncio.sleep(disturbance.seconds)
            process.resume()


async def _remove_spool(processes: Processes, seconds: float) -> None:
    """Remove the spool of the web process twice while Redis is down.

    What a dead web process left is replayed first: nobody could write that again. Raises NotReady.
    """
    folder = processes.settings.data_path / "spool"

    async def is_filled() -> bool:
        return any(one.stat().st_size for one in folder.glob("*.sqlite-wal"))

    async def is_empty() -> bool:
        return not any(folder.glob("*"))

    async def wait(is_so: Callable[[], Awaitable[bool]], missing: str) -> None:
        if not await wait_until(is_so, _SPOOL_SECONDS, _LOOK_SECONDS):
            raise NotReady(f"the spool {missing}")

    await (await processes.named("web")).ready()
    await wait(is_empty, "is not replayed")
    redis = await processes.named("redis")
    await redis.kill()
    for _ in range(2):
        await wait(is_filled, "takes nothing, or is not written again")
        # At once: the web process may be about to make a file in it.
        shutil.rmtree(folder.rename(folder.with_name("removed")))
    await wait(is_filled, "is not written again")
    await asyncio.sleep(seconds)
    redis.start()
