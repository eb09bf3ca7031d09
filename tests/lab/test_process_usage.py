"""The processor time and memory of processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from lab.process_usage import cpu_seconds, resident_bytes

SIZE_BYTES = 64 * 1024 * 1024
BUSY_SECONDS = 0.3
# Linux reports user and system time in whole ticks, and leaves out the rest of each.
UNREPORTED_SECONDS = 2 / os.sysconf("SC_CLK_TCK")
CHILD = f"""
import os, signal, time
if os.fork() == 0:
    kept = b"x" * {SIZE_BYTES}
    while time.process_time() < {BUSY_SECONDS}: pass
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
        assert cpu_seconds(pid) >= BUSY_SECONDS - UNREPORTED_SECONDS
        assert resident_bytes(pid) >= SIZE_BYTES
