"""The processor time and memory of a process count those of its children."""

import os
import subprocess
import sys

from lab.process_usage import cpu_seconds, resident_bytes

SIZE_BYTES = 64 * 1024 * 1024
BUSY_SECONDS = 0.3
# Linux reports user and system time in whole ticks, and leaves out the rest of each.
UNREPORTED_SECONDS = 2 / os.sysconf("SC_CLK_TCK")
PARENT = f"""
import os, sys, time
if os.fork() == 0:
    kept = b"x" * {SIZE_BYTES}
    while time.process_time() < {BUSY_SECONDS}: pass
    print("ready", flush=True)
sys.stdin.read()
"""


def test_the_usage_of_children_counts_too() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert cpu_seconds(process.pid) >= BUSY_SECONDS - UNREPORTED_SECONDS
        assert resident_bytes(process.pid) >= SIZE_BYTES
