"""What a process has used, as the kernel tells it: processor time and memory. Linux."""

import os
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Of a process and of its children that run: user and system time."""
    return sum(_own_cpu_seconds(one) for one in (pid, *_children(pid)))


def resident_bytes(pid: int) -> int:
    """Of a process and of its children that run."""
    return sum(_own_resident_bytes(one) for one in (pid, *_children(pid)))


def _own_cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _own_resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
