"""Processes of the service with parts of it."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tests.paths import ROOT
from tests.suspended import suspended
from tests.system.service import Service
from tests.waiting import PROCESS_PATIENCE_SECONDS

Answer = TypeVar("Answer")


def processes(service: Service) -> list[int]:
    """Return the pids of the workers, in the order in which they were started."""
    parent = service.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children if is_worker(pid)]


def is_worker(pid: str) -> bool:
    try:
        return b"run.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False  # it ended meanwhile


def ask_each(service: Service, ask: Callable[[], Answer]) -> list[Answer]:
    """Return what `ask` returns of each worker, while the other is suspended."""
    one, other = processes(service)
    answers = []
    for asleep in (other, one):
        with suspended(asleep):
            answers.append(ask())
    return answers


def check_both_ready(service: Service) -> list[int]:
    statuses = ask_each(service, lambda: service.get("/healthz").status)
    assert statuses == [200, 200]
    return processes(service)


@contextmanager
def drain(variables: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "run.py", "--role", "drain"], cwd=ROOT, env=dict(variables)
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PROCESS_PATIENCE_SECONDS)
