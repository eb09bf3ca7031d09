"""The processor time and memory of processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from lab.processes import cpu_seconds, resident_bytes

SIZE = 64 * 1024 * 1024
BUSY = 0.3
# User and system time are each told in whole ticks, and what is over is not told.
UNTOLD = 2 / os.sysconf("SC_CLK_TCK")
CHILD = f"""
import os, signal, time
if os.fork() == 0:
    kept = b"x" * {SIZE}
    while time.process_time() < {BUSY}: pass
    print("ready", flush=True)
    signal.pause()
signal.pause()
"""


@contextmanager
def parent_of_a_busy_child() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            _await_line(process.stdout)
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _await_line(stream: IO[bytes] | None) -> None:
    assert stream is not None
    assert stream.readline() == b"ready\n"


def test_the_usage_of_children_counts_too() -> None:
    with parent_of_a_busy_child() as pid:
        assert cpu_seconds(pid) >= BUSY - UNTOLD
        assert resident_bytes(pid) >= SIZE


def test_this_process_uses_something() -> None:
    assert resident_bytes(os.getpid()) > 1_000_000
    assert cpu_seconds(os.getpid()) > 0
