"""`make chaos` as a process, and the processes that it starts."""

import json
import subprocess
import sys
from pathlib import Path

from lab.chaos.disturbances import SERVICE_KINDS
from lab.chaos.topology import TOPOLOGIES
from tests.paths import ROOT
from tests.system.service import environment
from tests.waiting import until

SECONDS = 12
PROCESSES = 5
"""Redis, mongod, web and two drains."""

TIMEOUT_SECONDS = 500
"""A little less than the suite's own timeout for a test."""


def chaos(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "lab.chaos", *arguments],
        cwd=ROOT,
        env=environment(TMPDIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_run(folder: Path, topology: str) -> None:
    """Disturb every process once, and check that nothing was lost or counted twice."""
    kinds = (*SERVICE_KINDS, *TOPOLOGIES[topology].actions)
    arguments = (
        f"--seconds {SECONDS} --kills {len(kinds)} --rate 80 --drains 1 --json "
        f"--topology {topology}"
    )
    with chaos(folder, *arguments.split()) as process:
        try:
            printed, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            process.kill()
    result = json.loads(printed)
    assert result["faults"] == [], errors
    assert process.returncode == 0
    assert result["disturbances"] == dict.fromkeys(kinds, 1)
    assert result["figures"]["clicks answered"] > 0
    assert result["figures"]["events answered"] > 0
    assert list(folder.iterdir()) == []


def wait_until_all_started(pid: int) -> set[int]:
    """Return the pids of the stores and of the service's processes, once all of them run."""
    until(lambda: len(children(pid)) == PROCESSES)
    return children(pid)


def children(pid: int) -> set[int]:
    return {child for child, parent in parents().items() if parent == pid}


def parents() -> dict[int, int]:
    """Return the parent of each process that has not ended, by pid."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if state != "Z":
            found[int(path.parent.name)] = int(parent)
    return found
