"""The proofs as processes, and the processes that they start."""

import subprocess
import sys
from pathlib import Path

from lab.chaos.topology import kinds_of
from tests.paths import ROOT
from tests.system.service import environment
from tests.waiting import until

SECONDS = 12
TIMEOUT_SECONDS = 500
"""A little less than the suite's own timeout for a test."""


def command(name: str, folder: Path, arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", f"lab.{name}", *arguments.split()],
        cwd=ROOT,
        env=environment(TMPDIR=str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: "subprocess.Popen[str]", *, succeeds: bool = True) -> str:
    """Wait for the process to end; return its output."""
    with process:
        try:
            printed, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0 or not succeeds, printed + errors
    return printed


def figures(printed: str) -> dict[str, str]:
    """Return the figures of a result by their names."""
    return {line[:-12].strip(): line[-12:].strip() for line in printed.splitlines()}


def check_chaos(folder: Path, topology: str) -> None:
    """Disturb every process once, and check that nothing was lost or counted twice."""
    kinds = kinds_of(topology)
    options = f"--seconds {SECONDS} --kills {len(kinds)} --rate 80 --topology {topology}"
    printed = output(command("chaos", folder, options))
    shown = figures(printed)
    assert {kind: shown[kind] for kind in kinds} == dict.fromkeys(kinds, "1")
    assert "0" not in (shown["clicks answered"], shown["events answered"])
    assert list(folder.iterdir()) == []


def started_by(pid: int, number: int) -> set[int]:
    """Return the pids of so many processes that a process starts, once all of them run."""
    until(lambda: len(children(pid)) == number)
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
