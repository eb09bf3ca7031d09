"""Several processes of one service on the same listening sockets: started, replaced, stopped.

The parent forks before anything that a fork would break (event loops, threads, clients), and then
only watches. It replaces a worker that ends, after a pause that grows with each short life. SIGTERM
and SIGINT stop all, SIGHUP is passed on. No worker outlives the parent, however that ends. Linux
only, unless there is one process.
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
"""Workers that have not ended this long after a signal to stop are killed."""

STEADY_SECONDS: Final = 10.0
"""A worker that lived this long is replaced at once. Shorter lives of one number in a row make each
pause longer than the one before; the first is none."""

FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 30.0

_IDLE_SECONDS: Final = 3600.0

# The state of a number, one byte in memory shared with the workers. 0: none was ever ready.
_READY: Final = 1
_READY_BEFORE: Final = 2  # the present worker is not ready yet, an earlier one of its number was

_STOP: Final[set[signal.Signals]] = {signal.SIGTERM, signal.SIGINT}
_WATCHED: Final[set[signal.Signals]] = {*_STOP, signal.SIGHUP, signal.SIGCHLD}


class Process(NamedTuple):
    """A worker process, as its work sees it.

    Numbers start at 0. `again` is true if an earlier worker of this number was ready. The work
    calls `ready` once it does what it is for.
    """

    number: int
    again: bool
    ready: Callable[[], None]


Work = Callable[[Process], int]
"""Runs in a worker until SIGTERM; returns the exit code, which is 0 unless it could not start."""


def run_processes(
    count: int,
    work: Work,
    stopping: Callable[[], None],
    tend: Callable[[], float] = lambda: math.inf,
) -> int:
    """Run `work` in `count` processes until a signal to stop, then return the exit code.

    The code is 0 after a clean stop, or that of a worker that ended with an error before any of its
    number was ready, which stops the others. With a `count` of 1 nothing is forked. `stopping` is
    called once, when the stop begins. `tend` is called whenever a child has ended, and again after
    the seconds that it returns.
    """
    if count == 1:
        return work(Process(0, False, _nothing))
    before = {signal.Signals(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)}
    try:
        return Supervisor(count, work, stopping, tend, before).run()
    finally:
        # Signals that ask for the stop once more are dropped: it is done.
        while signal.sigpending() & _STOP:
            signal.sigwait(_STOP)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def pause(failures: int) -> float:
    """Return the seconds before a worker is replaced, after `failures` short lives in a row."""
    if not failures:
        return 0.0
    return min(FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1), LONGEST_PAUSE_SECONDS)


def _nothing() -> None:
    """Be the `ready` of a single process, which nobody waits for."""


class _Child(NamedTuple):
    number: int
    since: float


class Supervisor:
    """The parent of the workers: single-threaded, its signals blocked and taken one by one."""

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
        # Shared with the workers: each sets the byte of its number to _READY.
        self._ready = mmap.mmap(-1, count)
        self._kill_at: float | None = None
        self._code = 0

    def run(self) -> int:
        """Start, replace and stop the workers; return the exit code once all have ended."""
        while True:
            self._start_due()
            if not self._children and not self._due:
                return self._code
            received = signal.sigtimedwait(_WATCHED, min(self._seconds_to_wait(), self._tend()))
            if received is not None and received.si_signo in _STOP:
                self._stop()
            elif received is not None and received.si_signo == signal.SIGHUP:
                self._send(signal.SIGHUP)
            self._reap()
            self._kill_late()

    def _seconds_to_wait(self) -> float:
        """Return the seconds until something is due, if no signal comes."""
        next_time = min([*self._due.values(), self._kill_at or math.inf])
        return min(max(0.0, next_time - time.monotonic()), _IDLE_SECONDS)

    def _start_due(self) -> None:
        now = time.monotonic()
        for number in [number for number, at in self._due.items() if at <= now]:
            del self._due[number]
            self._start(number)

    def _start(self, number: int) -> None:
        sys.stdout.flush()  # or the child would print what is in the buffer too
        sys.stderr.flush()
        if self._ready[number]:
            self._ready[number] = _READY_BEFORE
        end_if_orphan = end_with_parent(signal.SIGTERM)
        try:
            pid = os.fork()
        except OSError as error:
            self._try_later(number, "worker cannot be started yet", error=str(error))
            return
        if pid:
            self._children[pid] = _Child(number, time.monotonic())
            return
        self._run_worker(number, end_if_orphan)

    def _run_worker(self, number: int, end_if_orphan: Callable[[], None] | None) -> NoReturn:
        code = 1
        try:
            if end_if_orphan is not None:
                end_if_orphan()
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            code = self._work_as(number)
        finally:
            # Never return: the frames above belong to the parent.
            os._exit(code)

    def _work_as(self, number: int) -> int:
        """Do the work of worker `number`; return its exit code."""

        def ready() -> None:
            self._ready[number] = _READY

        try:
            return self._work(Process(number, self._ready[number] == _READY_BEFORE, ready))
        except KeyboardInterrupt:
            return 0
        except Exception:
            log.exception("worker failed", number=number)
            return 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()

    def _reap(self) -> None:
        """Reap workers that have ended, each by its id: the built-in stores are children too."""
        for pid in list(self._children):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._ended(self._children.pop(pid), pid, os.waitstatus_to_exitcode(status))

    def _ended(self, child: _Child, pid: int, code: int) -> None:
        """Replace a worker that has ended, or stop all. A negative `code` is the signal that killed
        it."""
        number = child.number
        if self._kill_at is not None:
            # A worker that was not ready had begun nothing, so its error loses nothing.
            if self._ready[number] == _READY:
                self._code = self._code or max(code, 0)
        elif code > 0 and not self._ready[number]:
            log.error("worker could not start; stopping all", number=number, pid=pid, code=code)
            self._code = code
            self._stop()
        else:
            if time.monotonic() - child.since >= STEADY_SECONDS:
                self._failures[number] = 0
            self._try_later(number, "worker ended; starting another", pid=pid, code=code)

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
        self._send(signal.SIGTERM)

    def _kill_late(self) -> None:
        if self._kill_at is not None and self._children and time.monotonic() >= self._kill_at:
            log.error("killing workers that did not stop", pids=list(self._children))
            self._kill_at = math.inf
            self._code = self._code or 1
            self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        """Send a signal to every worker. An id cannot be another's before its worker is reaped."""
        for pid in self._children:
            os.kill(pid, number)
