"""Several workers, really forked: replaced when they end, stopped together."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.paths import ROOT
from tests.waiting import PROCESS_PATIENCE_SECONDS
from tracker.service.supervisor import MAX_PAUSE_SECONDS, pause_seconds

HOURS = "10000"


class Running:
    """A supervisor, and the lines that it and its workers print."""

    def __init__(
        self, *behaviours: str, stop_seconds: str = HOURS, first_pause: str = "0.01"
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.forking", stop_seconds, first_pause, *behaviours],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        assert self.next().startswith("parent ")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.strip())
        self._lines.put("")

    def next(self) -> str:
        return self._lines.get(timeout=PROCESS_PATIENCE_SECONDS)

    def wait_for(self, number: int, word: str) -> int:
        """Return the pid of the next worker of that number that prints `word`."""
        while not (line := self.next()).startswith(f"{number} {word} "):
            assert line, "all have ended"
        return int(line.split()[2])

    def pids(self, count: int) -> dict[int, int]:
        """Return the pids of all workers by number, once they are ready."""
        pids: dict[int, int] = {}
        while len(pids) < count:
            number, word, pid = self.next().split()
            assert word == "ready"
            pids[int(number)] = int(pid)
        return pids

    def rest(self) -> list[str]:
        """Return the remaining lines, once all processes have ended."""
        return [*iter(self.next, "")]

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal to the supervisor; return its exit code."""
        self.process.send_signal(by)
        return self.process.wait(PROCESS_PATIENCE_SECONDS)

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reading.join(PROCESS_PATIENCE_SECONDS)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


Run = Callable[..., Running]


@pytest.fixture
def run() -> Iterator[Run]:
    started: list[Running] = []

    def start(*behaviours: str, **changed: Any) -> Running:
        started.append(Running(*behaviours, **changed))
        return started[-1]

    yield start
    for running in started:
        running.end()


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_each_worker_runs_in_its_own_process_until_a_signal_stops_all(
    run: Run, by: signal.Signals
) -> None:
    running = run("waits", "waits", "waits")
    pids = running.pids(3)
    parent = running.process.pid
    assert set(pids) == {0, 1, 2}
    assert len({parent, *pids.values()}) == 4
    assert running.stop(by) == 0
    stopped = [f"{number} stopped {pid}" for number, pid in pids.items()]
    assert sorted(running.rest()) == sorted([f"{parent} stopping", *stopped])
    assert running.errors() == ""


def test_a_single_worker_is_not_forked(run: Run) -> None:
    running = run("waits")
    assert running.pids(1) == {0: running.process.pid}
    assert running.stop() == 0


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_ends_is_replaced_and_leaves_no_zombie(run: Run, by: signal.Signals) -> None:
    running = run("waits", "waits")
    pids = running.pids(2)
    for _ in range(3):
        os.kill(pids[1], by)
        replaced, pids[1] = pids[1], running.wait_for(1, "again")
        with pytest.raises(ProcessLookupError):
            os.kill(replaced, 0)
    assert running.stop() == 0
    assert f"0 stopped {pids[0]}" in running.rest()


@pytest.mark.parametrize(
    ("behaviour", "code", "logged"),
    [("cannot", 3, "could not start"), ("raises", 1, "ValueError: by a bug")],
)
def test_a_worker_that_cannot_start_stops_all_with_its_code(
    run: Run, behaviour: str, code: int, logged: str
) -> None:
    running = run("waits", behaviour)
    assert running.process.wait(PROCESS_PATIENCE_SECONDS) == code
    running.rest()
    assert logged in running.errors()


def test_a_replacement_that_cannot_start_is_tried_again_while_the_others_run(run: Run) -> None:
    running = run("waits", "cannot_again")
    pids = running.pids(2)
    os.kill(pids[1], signal.SIGKILL)
    assert running.wait_for(1, "cannot") != running.wait_for(1, "cannot")
    os.kill(pids[0], 0)
    assert running.stop() == 0


def test_a_stop_does_not_wait_for_the_pause_of_a_worker_that_keeps_dying(run: Run) -> None:
    running = run("waits", "dies", first_pause=HOURS)
    running.wait_for(1, "dies")
    running.wait_for(1, "dies")
    assert running.stop() == 0
    assert not any("dies" in line for line in running.rest())


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [
        (0, 0.0),
        (1, 0.5),
        (2, 1.0),
        (3, 2.0),
        (6, 16.0),
        (7, MAX_PAUSE_SECONDS),
        (9_999, MAX_PAUSE_SECONDS),
    ],
)
def test_the_pause_doubles_up_to_a_limit(failures: int, seconds: float) -> None:
    assert pause_seconds(failures) == seconds


@pytest.mark.parametrize(("behaviour", "code"), [("fails_at_the_end", 3), ("never_ready", 0)])
def test_an_error_while_stopping_is_returned_unless_the_worker_was_never_ready(
    run: Run, behaviour: str, code: int
) -> None:
    running = run("waits", behaviour)
    running.pids(2)
    assert running.stop() == code


def test_a_worker_that_does_not_stop_is_killed(run: Run) -> None:
    running = run("ignores", "waits", stop_seconds="0.3")
    pids = running.pids(2)
    assert running.stop() == 1
    assert f"1 stopped {pids[1]}" in running.rest()
    assert f"[{pids[0]}]" in running.errors()


def test_a_stop_while_workers_are_being_started_stops_them_too(run: Run) -> None:
    running = run("stops_all", *["waits"] * 7)
    assert running.process.wait(PROCESS_PATIENCE_SECONDS) == 0
    running.rest()


def test_many_signals_stop_once(run: Run) -> None:
    running = run("waits", "waits")
    workers = running.pids(2).values()
    for pid in workers:  # so that the stop is not over before the last signal has come
        os.kill(pid, signal.SIGSTOP)
    for _ in range(100):
        running.process.send_signal(signal.SIGTERM)
        running.process.send_signal(signal.SIGINT)
    for pid in workers:
        os.kill(pid, signal.SIGCONT)
    assert running.process.wait(PROCESS_PATIENCE_SECONDS) == 0
    assert sum("stopping" in line for line in running.rest()) == 1


def test_workers_end_when_the_supervisor_is_killed(run: Run) -> None:
    running = run("waits", "waits")
    pids = running.pids(2)
    running.process.kill()
    stopped = sorted(running.rest())
    assert stopped == [f"{number} stopped {pid}" for number, pid in sorted(pids.items())]


def test_sighup_is_passed_on_to_all_workers(run: Run) -> None:
    running = run("waits", "waits")
    pids = running.pids(2)
    running.process.send_signal(signal.SIGHUP)
    printed = {running.next(), running.next()}
    assert printed == {f"{number} hangup {pid}" for number, pid in pids.items()}
    assert running.stop() == 0
