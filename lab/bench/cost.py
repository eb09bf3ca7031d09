"""What a click costs each part of the service at a given rate: processor time and bytes."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from config.settings import Settings
from lab.bench.measure import Bench
from lab.bench.rows import Row
from lab.client import Load
from lab.processes import free_ports, loaded_process, running
from lab.requests import clicks
from lab.scene import Scene
from lab.stores import Bytes, Stores
from lab.traffic import Closed, Prepared

_WAITING_CLICKS: Final = 20_000
_LOAD_SECONDS: Final = 60.0


class RowCost(NamedTuple):
    """The processor microseconds of each landed click by process, and the bytes that it takes."""

    key: str
    links: int
    cpu: dict[str, float]
    bytes: Bytes


class Costs(NamedTuple):
    """The costs of the rows; `waiting` are the bytes of a click in Redis while no drain runs."""

    rows: list[RowCost]
    waiting: float


async def measure_cost(bench: Bench, stores: Stores, row: Row, rate: float) -> RowCost:
    began = datetime.now(UTC)
    measured = await bench.measure(row, rate)
    return RowCost(row.key, row.links, measured.landed_cpu, await stores.bytes_of_clicks(began))


async def measure_waiting(folder: Path, settings: Settings, stores: Stores, scene: Scene) -> float:
    """Return the bytes of a click in Redis while no drain runs, with 64 visitors at once."""
    await stores.empty()
    [port] = free_ports(1)
    async with running([loaded_process(folder, settings, "web", port)]):
        load = Load(port, Prepared(clicks(scene.places, _WAITING_CLICKS), 302))
        outcome = await load.run(Closed(time.perf_counter(), _LOAD_SECONDS, _WAITING_CLICKS))
        return await stores.journal_bytes() / outcome.requests


def cost_lines(costs: Costs) -> Sequence[str]:
    lines = []
    for key, links, cpu, of in costs.rows:
        parts = ", ".join(f"{name} {used:.0f}" for name, used in cpu.items())
        total = sum(cpu.values())
        lines += [
            f"{key}, {links:,} links: {total:.0f} us of processor time a click ({parts})",
            f"  bytes a click on the disk of MongoDB: {of.data:.0f}, indexes {of.indexes:.0f}; "
            f"in the oplog {of.oplog:.0f}; rollups {of.rollups:,} altogether",
            f"  bytes in Redis: {of.visitor:.0f} a visitor",
        ]
    return [*lines, f"bytes of a click that waits in Redis: {costs.waiting:.0f}"]
