"""The disturbances of a run: which process is killed or stopped when, and for how long."""

import asyncio
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from random import Random
from typing import Final, NamedTuple

from lab.chaos.redis_servers import cut, empty
from lab.chaos.topology import DRAINS, Processes
from lab.harness import wait_until
from lab.processes import NotReady

MAX_SECONDS: Final = 14.0
"""The longest disturbance: longer than any timeout of the service, and longer than a drain may be
silent before the others take over its entries."""

_LAG_SECONDS: Final = 3.0
"""How long the replicas of Redis lag before their primary is killed."""

_SPOOL_SECONDS: Final = 30.0
"""How long the spool may take to be empty, to take records, and to be there again."""

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
    `at` is in seconds from the beginning; `process` names a process of the service, or a store.
    """

    at: float
    kind: str
    process: str
    seconds: float

    @property
    def action(self) -> str:
        return self.kind.partition(" ")[0]

    @property
    def killed(self) -> str:
        """Return the name of the process or store that is not to be disturbed by others."""
        return "redis" if self.action == "remove" else self.process


def schedule(seed: int, seconds: float, count: int, kinds: Sequence[str]) -> list[Disturbance]:
    """Return `count` disturbances in order of time, about as many of each kind; always the same."""
    random = Random(seed)  # noqa: S311
    share = seconds * (1 - _CALM_SHARE) / max(1, count)
    longest = min(MAX_SECONDS, seconds * _MAX_SHARE)
    return [
        Disturbance(
            at=seconds * _CALM_SHARE + share * (number + random.random()),
            kind=kind,
            process=_process(random, kind),
            seconds=longest * random.random() ** 2,
        )
        for number, kind in enumerate(islice(_in_turn(random, kinds), count))
    ]


def _in_turn(random: Random, kinds: Sequence[str]) -> Iterator[str]:
    while True:
        yield from random.sample(kinds, len(kinds))


def _process(random: Random, kind: str) -> str:
    target = kind.partition(" ")[2]
    if target == "spool":  # of the web process, which must live to notice
        return "web"
    return random.choice(DRAINS) if target == "drain" else target


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
async def _closing(port: int) -> AsyncIterator[None]:
    """Accept connections on `port` and close them at once, as a balancer without a backend does."""

    def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", port):
        yield


async def _disturb(processes: Processes, disturbance: Disturbance) -> None:
    name, seconds, redis = disturbance.process, disturbance.seconds, processes.redis
    process = await processes.named(name)
    match disturbance.action:
        case "demote":
            await asyncio.to_thread((redis if name == "redis" else processes.mongod).demote)
        case "cut":
            await asyncio.to_thread(cut, process.port)
        case "empty":
            await asyncio.to_thread(empty, process.port)
        case "lag":
            replicas = await asyncio.to_thread(redis.replicas, process)
            for one in replicas:
                one.stop()
            await asyncio.sleep(_LAG_SECONDS)
            await process.kill()
            for one in replicas:
                one.resume()
            await asyncio.sleep(seconds)
            process.start()
        case "away" | "kill" as how:
            others = redis.replicas if how == "away" else lambda _: []
            servers = [process, *await asyncio.to_thread(others, process)]
            for one in servers:
                await one.kill()
            await asyncio.sleep(seconds)
            for one in servers:
                one.start()
        case "close":
            await process.kill()
            async with _closing(process.port):
                await asyncio.sleep(seconds)
            process.start()
        case "remove":
            await _remove_spool(processes, seconds)
        case _:
            process.stop()
            await asyncio.sleep(seconds)
            process.resume()


async def _remove_spool(processes: Processes, seconds: float) -> None:
    """Remove the spool of the web process twice while Redis is down.

    What a dead web process left is replayed first: nobody could write that again.
    """
    folder = processes.settings.data_path / "spool"

    async def is_filled() -> bool:
        return any(one.stat().st_size for one in folder.glob("*.sqlite-wal"))

    async def is_empty() -> bool:
        return not any(folder.glob("*"))

    async def wait(is_so: Callable[[], Awaitable[bool]], missing: str) -> None:
        if not await wait_until(is_so, _SPOOL_SECONDS):
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
