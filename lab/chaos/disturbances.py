"""The disturbances of a run: which process is killed or stopped when, and for how long.

`schedule` is pure: a seed has one schedule. Each process keeps its address and its folder when it
is killed and started again.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from msgspec import structs

from config.settings import Settings
from lab.processes import Process, free_ports, service_process
from tracker.builtin.child import Program
from tracker.builtin.servers import mongod_program, mongodb_uri, redis_program, redis_url

ACTIONS: Final = ("kill", "stop")
TARGETS: Final = ("web", "drain", "redis", "mongod")
KINDS: Final = tuple(f"{action} {target}" for action in ACTIONS for target in TARGETS)

MAX_SECONDS: Final = 14.0
"""The longest disturbance: longer than any timeout of the service, and longer than a drain may be
silent before the others take over its entries."""

_MAX_SHARE: Final = 0.1
"""The limit of one disturbance, as a share of the whole time."""

_CALM_SHARE: Final = 0.05
"""The share of the time before the first disturbance."""


class Disturbance(NamedTuple):
    """A process killed and started again, or stopped and continued, after `seconds`.

    `at` is in seconds from the beginning; `process` names a process of the kind's target.
    """

    at: float
    kind: str
    process: str
    seconds: float

    @property
    def is_kill(self) -> bool:
        """Return whether the process is killed rather than stopped."""
        return self.kind.startswith("kill")


def schedule(seed: int, seconds: float, count: int, drains: int) -> list[Disturbance]:
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
        for number, kind in enumerate(islice(_kinds(random), count))
    ]


def drain_names(drains: int) -> list[str]:
    """Return the names of the drain processes."""
    return [f"drain {number}" for number in range(1, drains + 1)]


def _kinds(random: Random) -> Iterator[str]:
    while True:
        yield from random.sample(KINDS, len(KINDS))


def _process(random: Random, kind: str, drains: int) -> str:
    target = kind.partition(" ")[2]
    return random.choice(drain_names(drains)) if target == "drain" else target


class Processes:
    """The processes of the service and its stores: `redis`, `mongod`, `web`, `drain 1`, …

    `settings` are those of the service.
    """

    def __init__(self, folder: Path, drains: int, appendfsync: str) -> None:
        redis, mongod, web = free_ports(3)
        self.settings = Settings(
            host="127.0.0.1",
            port=web,
            base_url=f"http://127.0.0.1:{web}",
            redis_url=redis_url(redis),
            mongodb_uri=mongodb_uri(mongod),
            data_dir=str(folder / "service"),
            # Visitors have addresses, by which the audit distinguishes them.
            trusted_proxies="1",
            store_ip=True,
            # The receiver is on this machine.
            webhook_allow_private=True,
            log_level="warning",
        )
        self.stores = [
            Process(_redis(folder, appendfsync), redis),
            Process(mongod_program(folder)._replace(name="mongod"), mongod),
        ]
        # Drains log which entries they take over; the web process would log every request.
        talkative = structs.replace(self.settings, log_level="info")
        self.service = [
            service_process(folder, "web", "web", self.settings),
            *(service_process(folder, name, "drain", talkative) for name in drain_names(drains)),
        ]

    def __iter__(self) -> Iterator[Process]:
        return iter([*self.stores, *self.service])


class Disturber:
    """A disturber of processes, which follows a schedule.

    `done` counts disturbances by kind; `web_spans` are the times, by the monotonic clock, in which
    the web process was killed or stopped.
    """

    def __init__(self) -> None:
        self.done: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        self.web_spans: list[tuple[float, float]] = []

    async def run(self, processes: Processes, planned: Sequence[Disturbance]) -> None:
        """Carry out every planned disturbance."""
        began = time.monotonic()
        await asyncio.gather(
            *(
                self._run_all(process, began, [one for one in planned if one.process == name])
                for process in processes
                for name in [process.name]
            )
        )

    async def _run_all(self, process: Process, began: float, planned: list[Disturbance]) -> None:
        """Disturb one process, each time when it is due or as soon as the last one is over."""
        for one in planned:
            await asyncio.sleep(max(0.0, began + one.at - time.monotonic()))
            since = time.monotonic()
            await _disturb(process, one)
            self.done[one.kind] += 1
            if process.name == "web":
                self.web_spans.append((since, time.monotonic()))


async def _disturb(process: Process, disturbance: Disturbance) -> None:
    if disturbance.is_kill:
        await process.kill()
    else:
        process.stop()
    await asyncio.sleep(disturbance.seconds)
    if disturbance.is_kill:
        process.start()
    else:
        process.resume()


def _redis(folder: Path, appendfsync: str) -> Program:
    program = redis_program(folder)

    def command(port: int) -> list[str]:
        return [*program.command(port), "--appendfsync", appendfsync]

    return program._replace(name="redis", command=command)
