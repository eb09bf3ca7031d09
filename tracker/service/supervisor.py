"""Several processes of one service on the same listening sockets: started, replaced, stopped.

The parent forks before anything that a fork would break (event loops, threads, clients), and then
only watches. A process that ends is replaced, sooner or later by how often it does; SIGTERM and
SIGINT stop all, SIGHUP is passed on. No process outlives the parent, however that ends. Linux only,
unless there is one process.
"""

import math
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple, NoReturn

import structlog

from tracker.builtin.child import end_with_parent

log = structlog.get_logger(__name__)

STOP_SECONDS: Final = 25.0
"""What has not ended so long after a signal to stop is killed."""

STEADY_SECONDS: Final = 10.0
"""A process that lived so long is replaced at once; the shorter lives of one number in a row make
each wait longer than the one before, beginning with none."""

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0

_IDLE: Final = 3600.0
_NOW: Final = 1
_BEFORE: Final = 2
"""Whether a process of a number is ready, or only one before it was; 0: none was."""

_STOP: Final[set[signal.Signals]] = {signal.SIGTERM, signal.SIGINT}
_WATCHED: Final[set[signal.Signals]] = {*_STOP, signal.SIGHUP, signal.SIGCHLD}


class Process(NamedTuple):
    """One of the processes, for its work. Numbers begin with 0; `again`: one of this number has
    been ready before. `ready` is to be called when it does what it is for."""

    number: int
    again: bool
    ready: Callable[[], None]


Work = Callable[[Process], int]
"""Runs in its process until that gets SIGTERM. The exit code: 0 unless it could not start."""


def run_processes(
    count: int,
    work: Work,
    stopping: Callable[[], None],
    tend: Callable[[], float] = lambda: math.inf,
) -> int:
    """Run `work` in `count` processes until a signal to stop, of which `stopping` is told.
    `tend` is called whenever a child has ended, one of its own too, and after the seconds that it
    answers.

    The exit code: 0 after a clean stop, or that of a process that ended with an error before any of
    its number was ready, which stops the others. One process is this one: nothing is forked.
    """
    if count == 1:
        return work(Process(0, False, _nothing))
    before = {signal.Signals(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)}
    try:
        return _Parent(count, work, stopping, tend, before).run()
    finally:
        # Whoever asks to stop once more has what they want.
        while signal.sigpending() & _STOP:
            signal.sigwait(_STOP)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def pause(failures: int) -> float:
    """Seconds before a process is replaced, after so many others that did not live long."""
    return min(FIRST_PAUSE * 2.0 ** (failures - 1), LONGEST_PAUSE) if failures else 0.0


def _nothing() -> None:
    """Nobody waits for it."""


class _Child(NamedTuple):
    number: int
    since: float


class _Parent:
    """Single-threaded; the signals it watches are blocked, and taken one by one."""

    def __init__(
        self,
        count: int,
        work: Work,
        stopping: Callable[[], None],
        tend: Callable[[], float],
        mask: set[signal.Signals],
    ) -> None:
        self._tend = tend
        self._work = work
        self._stopping = stopping
        self._mask = mask
        self._children: dict[int, _Child] = {}
        self._due = dict.fromkeys(range(count), 0.0)
        self._failures = [0] * count
        # Shared with the processes: each sets the byte of its number to _NOW.
        self._ready = mmap.mmap(-1, count)
        self._kill_at: float | None = None
        self._code = 0

    def run(self) -> int:
        while True:
            self._start_due()
            if not self._children and not self._due:
                return self._code
            received = signal.sigtimedwait(_WATCHED, min(self._patience(), self._tend()))
            if received is not None and received.si_signo in _STOP:
                self._stop()
            elif received is not None and received.si_signo == signal.SIGHUP:
                self._tell(signal.SIGHUP)
            self._reap()
            self._kill_late()

    def _patience(self) -> float:
        """Seconds until there is something to do, if no signal comes."""
        next_time = min([*self._due.values(), self._kill_at or math.inf])
        return min(max(0.0, next_time - time.monotonic()), _IDLE)

    def _start_due(self) -> None:
        now = time.monotonic()
        for number in [number for number, at in self._due.items() if at <= now]:
            del self._due[number]
            self._start(number)

    def _start(self, number: int) -> None:
        sys.stdout.flush()  # or the child would print what is in the buffer too
        sys.stderr.flush()
        if self._ready[number]:
            self._ready[number] = _BEFORE
        end_if_orphan = end_with_parent(signal.SIGTERM)
        try:
            pid = os.fork()
        except OSError as error:
            self._try_later(number, "process cannot be started yet", error=str(error))
            return
        if pid:
            self._children[pid] = _Child(number, time.monotonic())
            return
        self._be_child(number, end_if_orphan)

    def _be_child(self, number: int, end_if_orphan: Callable[[], None] | None) -> NoReturn:
        code = 1
        try:
            if end_if_orphan is not None:
                end_if_orphan()
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            code = self._run_child(number)
        finally:
            # Not past here: what stands above belongs to the parent.
            os._exit(code)

    def _run_child(self, number: int) -> int:
        def ready() -> None:
            self._ready[number] = _NOW

        try:
            return self._work(Process(number, self._ready[number] == _BEFORE, ready))
        except KeyboardInterrupt:
            return 0
        except Exception:
            log.exception("process failed", number=number)
            return 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()

    def _reap(self) -> None:
        """One by one: the stores are our children too, and not ours to wait for here."""
        for pid in list(self._children):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._ended(self._children.pop(pid), pid, os.waitstatus_to_exitcode(status))

    def _ended(self, child: _Child, pid: int, code: int) -> None:
        """`code` is below 0 if it was killed, by the signal of that number."""
        number = child.number
        if self._kill_at is not None:
            # One that was not ready yet has nothing to lose.
            if self._ready[number] == _NOW:
                self._code = self._code or max(code, 0)
        elif code > 0 and not self._ready[number]:
            log.error("process could not start; stopping", number=number, pid=pid, code=code)
            self._code = code
            self._stop()
        else:
            if time.monotonic() - child.since >= STEADY_SECONDS:
                self._failures[number] = 0
            self._try_later(number, "process ended; another follows", pid=pid, code=code)

    def _try_later(self, number: int, event: str, **details: object) -> None:
        seconds = pause(self._failures[number])
        self._failures[number] += 1
        self._due[number] = time.monotonic() + seconds
        log.error(event, number=number, **details, seconds=seconds)

    def _stop(self) -> None:
        if self._kill_at is None:
            self._kill_at = time.monotonic() + STOP_SECONDS
            self._due.clear()
            self._stopping()
        self._tell(signal.SIGTERM)

    def _kill_late(self) -> None:
        if self._kill_at is not None and self._children and time.monotonic() >= self._kill_at:
            log.error("killing what has not stopped", pids=list(self._children))
            self._kill_at = math.inf
            self._code = self._code or 1
            self._tell(signal.SIGKILL)

    def _tell(self, number: signal.Signals) -> None:
        """None of them can be another's process: their ids are ours until they are reaped."""
        for pid in self._children:
            os.kill(pid, number)
