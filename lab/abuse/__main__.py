"""`python -m lab.abuse`: the sustained rate, attacks beside visitors, and the result."""

import argparse
import asyncio
import socket
import ssl
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from config.settings import Settings
from lab.abuse.attack import Target, build
from lab.abuse.attacker import ROWS, Row, Servers, attacker
from lab.abuse.result import MAX_SLOWDOWN, MAX_TRIES, Attacked, Result, line, table
from lab.client import Load, Outcome, Schedule
from lab.harness import add_rows, beside, on_own_stores, option_parser
from lab.many_values import VALUES
from lab.process_usage import MemoryWatch
from lab.processes import Process, free_ports, running
from lab.result import exit_code
from lab.stores import NotDrained, audit_load, open_stores
from lab.traffic import Closed, Paced, Visitors
from scripts.command import positive

VISITOR_ADDRESSES: Final = tuple(f"127.0.1.{number}" for number in range(1, 65))
"""The addresses of visitors."""

DRAIN_SECONDS: Final = 60.0


class Options(NamedTuple):
    """The attacks and the seconds of each; a `rate` of None is half of the sustained rate."""

    rows: Sequence[Row]
    seconds: float
    rate: float | None
    values: int

    @property
    def around_seconds(self) -> float:
        """The duration of the measurements before and after an attack, and of warming up."""
        return self.seconds / 2


class Abuse:
    """One run, in a folder of its own; `stores` says where the stores are."""

    def __init__(self, options: Options, folder: Path, stores: Settings, silent_dns: str) -> None:
        self._options = options
        self._settings = stores
        self._port, self._own_port = free_ports(2)
        self._servers = Servers(folder, stores, silent_dns, self._port, self._own_port)
        self._rate = options.rate or 0.0

    async def run(self) -> Result:
        shared = [self._servers.web, self._servers.drain]
        base_url = f"http://localhost:{self._port}"
        settings = msgspec.structs.replace(self._settings, base_url=base_url)
        world = await build(settings, self._options.values)
        self._visitors = Visitors(world.scene)
        async with running(shared), open_stores(self._settings) as self._stores:
            target = await world.target(settings, self._port, self._own_port)
            return await self._run(target, shared)

    async def _run(self, target: Target, shared: Sequence[Process]) -> Result:
        warm = Closed(time.perf_counter(), self._options.around_seconds)
        await self._load(self._port, warm)
        sustained = await self._measure_sustained_rate()
        self._rate = self._rate or sustained / 2
        print(f"{sustained:,.0f} requests/s sustained; visitors: {self._rate:,.0f}/s", flush=True)
        attacks: list[Attacked] = []
        for row in self._options.rows:
            for number in range(MAX_TRIES):
                attacks.append(await self._run_attack(row, target))
                print(line(attacks[-1]), flush=True)
                if number == 0 and attacks[-1].slowdown <= MAX_SLOWDOWN:
                    break
        return Result(
            rate=self._rate,
            attacks=attacks,
            audit=await audit_load(self._stores, self._settings, self._visitors, shared),
        )

    async def _measure_sustained_rate(self) -> float:
        """Return the requests a second that are answered and stored, until a burst is drained."""
        await self._stores.wait_until_drained(DRAIN_SECONDS)
        began = time.perf_counter()
        burst = await self._load(self._port, Closed(began, self._options.seconds))
        await self._stores.wait_until_drained(DRAIN_SECONDS)
        return burst.requests / (time.perf_counter() - began)

    async def _run_attack(self, row: Row, target: Target) -> Attacked:
        seconds, around = self._options.seconds, self._options.around_seconds
        async with self._servers.serving(row.serving) as served:

            async def phase(duration: float) -> Outcome:
                schedule = Paced(time.perf_counter(), duration, self._rate)
                return await self._load(served.process.port, schedule, served.tls)

            if served.process is not self._servers.web:  # a new one grows with its first requests
                await phase(around)
            before = await phase(around)
            memory = MemoryWatch([served.process, self._servers.drain])
            async with beside(memory.run()), attacker(row, seconds, target) as attack:
                with served.disturbed():
                    during, report = await asyncio.gather(phase(seconds), attack())
            after = await phase(around)
            return Attacked(
                name=row.name,
                title=row.title,
                visitors={"before": before, "during": during, "after": after},
                memory=await memory.settled(),
                drained=await self._seconds_until_drained(),
                report=report,
                may_keep=row.may_keep,
            )

    async def _seconds_until_drained(self) -> float | None:
        since = time.perf_counter()
        try:
            await self._stores.wait_until_drained(DRAIN_SECONDS)
        except NotDrained:
            return None
        return time.perf_counter() - since

    async def _load(
        self, port: int, schedule: Schedule, tls: ssl.SSLContext | None = None
    ) -> Outcome:
        load = Load(port, self._visitors, sources=VISITOR_ADDRESSES, tls=tls)
        return await load.run(schedule)


def main(arguments: Sequence[str] | None = None) -> int:
    parsed = _parser().parse_args(arguments)
    options = Options(**vars(parsed))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent_dns = f"127.0.0.1:{silent.getsockname()[1]}"
        result = on_own_stores(
            "abuse", lambda folder, stores: Abuse(options, folder, stores, silent_dns).run()
        )
    print(table(result))
    return exit_code(result.faults())


def _parser() -> argparse.ArgumentParser:
    names = "\n".join(f"  {row.name:12} {row.title}" for row in ROWS)
    parser = option_parser(
        "abuse",
        "Attack a private instance of the service as strangers and accounts would, while visitors "
        "click; print what visitors saw before, during and after each attack. Exit code 1 if "
        "visitors got an error or waited five times as long, if the memory grew by more than "
        "reports may have or 20 MB of it were not released, if anything was lost, or if an "
        "attacker got an answer that is not allowed.",
        f"attacks:\n{names}\n\nexample:\n  make abuse ARGS='--rows names,nested-json'",
    )
    add_rows(parser, ROWS, lambda row: {row.name})
    parser.add_argument(
        "--seconds",
        type=positive,
        default=8,
        help="seconds of each attack, with half as many before and after it [8]",
    )
    parser.add_argument(
        "--rate", type=positive, help="visitors' requests a second [half of the sustained rate]"
    )
    parser.add_argument(
        "--values",
        type=positive,
        default=VALUES,
        help="different values of a day in the attack of that name [200000]",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
