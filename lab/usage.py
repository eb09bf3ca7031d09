"""The processor time and memory of processes, as the kernel reports them. Linux."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from lab.processes import Process

MEGABYTE: Final = 1024 * 1024

MAX_GROWTH_BYTES: Final = 20 * MEGABYTE
"""How much larger the service may be after a load or an attack than before."""

SETTLE_SECONDS: Final = 20.0
"""How long memory may take to be given back."""

_LOOK_SECONDS: Final = 0.25
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process and of its running children."""
    return sum(_own_cpu_seconds(one) for one in (pid, *_children(pid)))


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process and of its running children."""
    return sum(_own_resident_bytes(one) for one in (pid, *_children(pid)))


class Memory(msgspec.Struct, frozen=True):
    """Resident bytes of several processes together."""

    before: int
    during: int
    after: int


class MemoryWatch:
    """The resident bytes of `processes` together, sampled while the context is open."""

    def __init__(self, processes: Sequence[Process]) -> None:
        self._pids = [process.pid for process in processes]
        self._before = self._highest = 0

    async def __aenter__(self) -> Self:
        self._before = self._highest = self._now()
        self._looking = asyncio.get_running_loop().create_task(self._look())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._looking.cancel()
        await asyncio.wait([self._looking])

    async def settled(self) -> Memory:
        """Return the sizes once enough is given back, or after SETTLE_SECONDS."""
        for _ in range(int(SETTLE_SECONDS / _LOOK_SECONDS)):
            if self._now() - self._before <= MAX_GROWTH_BYTES:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        return Memory(self._before, self._highest, self._now())

    async def _look(self) -> None:
        while True:
            self._highest = max(self._highest, self._now())
            await asyncio.sleep(_LOOK_SECONDS)

    def _now(self) -> int:
        return sum(map(resident_bytes, self._pids))


def _own_cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _own_resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
