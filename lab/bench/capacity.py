"""What a click costs each part of the service: processor time, bytes in Redis and in MongoDB.

`python -m lab.bench.capacity` prints the figures of docs/capacity.md, on stores of its own.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from config.settings import Settings
from lab.bench.measure import Bench, Options
from lab.bench.rows import chosen
from lab.client import Load
from lab.harness import on_own_stores, option_parser
from lab.processes import free_ports, running, unlimited_process
from lab.requests import clicks
from lab.scene import prepare_load
from lab.stores import Bytes, open_stores
from lab.traffic import Closed, Prepared
from scripts.command import positive

_WAITING_CLICKS, _WAITING_LINKS = 20_000, 500
_CONNECTIONS: Final = 64
_LOAD_SECONDS: Final = 60.0


class Cost(NamedTuple):
    """The processor microseconds of each landed click by process, and the bytes that it takes."""

    links: int
    cpu: dict[str, float]
    bytes: Bytes


async def _measure(folder: Path, settings: Settings, parsed: argparse.Namespace) -> list[Cost]:
    costs = []
    async with open_stores(settings) as stores:
        for row in chosen("c,k"):
            scenes = {row.links: await prepare_load(settings, row.links)}
            options = Options(parsed.seconds, _CONNECTIONS, use_wrk=False)
            bench = Bench(folder, settings, stores, scenes, options)
            began = datetime.now(UTC)
            measured = await bench.measure(row, parsed.rate)
            stored = await stores.bytes_of_clicks(began)
            costs.append(Cost(row.links, measured.landed_cpu, stored))
    return costs


async def _measure_waiting(folder: Path, settings: Settings) -> float:
    """Return the bytes of a click in Redis while no drain runs, with 64 visitors at once."""
    async with open_stores(settings) as stores:
        scene = await prepare_load(settings, _WAITING_LINKS)
        await stores.empty()
        [port] = free_ports(1)
        async with running([unlimited_process(folder, settings, "web", port)]):
            load = Load(port, Prepared(clicks(scene, _WAITING_LINKS), 302), _CONNECTIONS)
            now = time.perf_counter()
            outcome = await load.run(Closed(now, _LOAD_SECONDS, _WAITING_CLICKS))
            return await stores.journal_bytes() / outcome.requests


def _report(costs: Sequence[Cost], waiting: float) -> None:
    for links, cpu, of in costs:
        parts = ", ".join(f"{name} {used:.0f}" for name, used in cpu.items())
        print(f"{links:,} links: {sum(cpu.values()):.0f} us of processor time a click ({parts})")
        print(
            f"  bytes a click on the disk of MongoDB: {of.data:.0f}, indexes {of.indexes:.0f}; "
            f"in the oplog {of.oplog:.0f}; rollups {of.rollups:,} altogether\n"
            f"  bytes in Redis: {of.visitor:.0f} a visitor"
        )
    print(f"bytes of a click that waits in Redis: {waiting:.0f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code 0. Raises SystemExit if something cannot be measured."""
    parser = option_parser(
        "capacity",
        "Measure what a click costs each part of the service, on stores of its own.",
        "example:\n  make capacity ARGS='--rate 2000'",
    )
    parser.add_argument("--rate", type=positive, default=5000, help="clicks a second [5000]")
    parser.add_argument("--seconds", type=positive, default=20, help="seconds of each load [20]")
    parsed = parser.parse_args(arguments)

    async def measure(folder: Path, settings: Settings) -> tuple[list[Cost], float]:
        return await _measure(folder, settings, parsed), await _measure_waiting(folder, settings)

    _report(*on_own_stores("capacity", measure))
    return 0


if __name__ == "__main__":
    sys.exit(main())
