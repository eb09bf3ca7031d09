"""Processes that answer nobody for a while."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.waiting import until


@contextmanager
def suspended(pid: int) -> Iterator[None]:
    """Suspend the process `pid` while the block runs."""
    os.kill(pid, signal.SIGSTOP)
    try:
        _wait_until_stopped(pid)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _wait_until_stopped(pid: int) -> None:
    """Wait until every thread has stopped, as Linux tells: until then some may answer."""
    until(lambda: all(state == "T" for state in _states(pid)))


def _states(pid: int) -> Iterator[str]:
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # a thread that has just ended
            # The name before it is in parentheses, and may have any character.
            yield stat.read_text().rpartition(")")[2].split()[0]
