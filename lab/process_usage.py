"""The processor time and the memory of processes, as Linux reports them."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from lab.harness import wait_until
from lab.processes import Process

MEGABYTE: Final = 1024 * 1024

MAX_GROWTH_BYTES: Final = 20 * MEGABYTE
"""The limit of the service's growth by a load or an attack."""

SETTLE_SECONDS: Final = 20.0
"""The time in which memory must be released."""

_LOOK_SECONDS: Final = 0.25
_TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process and of its running children."""
    return sum(map(_own_cpu_seconds, (pid, *_children(pid))))


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process and of its running children."""
    return sum(map(_own_resident_bytes, (pid, *_children(pid))))


def cpu_by_name(pids: Mapping[str, int]) -> dict[str, float]:
    return {name: cpu_seconds(pid) for name, pid in pids.items()}


class Memory(msgspec.Struct, frozen=True):
    """Resident bytes of several processes together."""

    before: int
    during: int
    after: int


class MemoryWatch:
    """A watch on the resident bytes of `processes` together, from now on."""

    def __init__(self, processes: Sequence[Process]) -> None:
        self._pids = [process.pid for process in processes]
        self._before = self._highest = self._now()

    async def run(self) -> None:
        while True:
            self._highest = max(self._highest, self._now())
            await asyncio.sleep(_LOOK_SECONDS)

    async def settled(self) -> Memory:
        await wait_until(self._is_released, SETTLE_SECONDS, _LOOK_SECONDS)
        return Memory(self._before, self._highest, self._now())

    async def _is_released(self) -> bool:
        return self._now() - self._before <= MAX_GROWTH_BYTES

    def _now(self) -> int:
        return sum(map(resident_bytes, self._pids))


def _own_cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def _own_resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
