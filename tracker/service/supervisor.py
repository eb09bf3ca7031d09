"""A supervisor of workers on the same listening sockets, which starts, replaces and stops them.

The supervisor forks before anything that a fork would break (event loops, threads, clients), and
then only waits for signals. It replaces a worker that ends, after a pause that grows with each
short life. SIGTERM and SIGINT stop all workers, and SIGHUP is passed on. Linux only.

Guarantee: no worker outlives the supervisor, however that ends.
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

from tracker.stores.builtin.child import end_with_parent

log = structlog.get_logger(__name__)

STOP_SECONDS: Final = 25.0
"""A worker that runs this long after a signal to stop is killed, if there is no delay."""

STEADY_SECONDS: Final = 10.0
"""A worker that lived this long is replaced at once, and so is the first that did not. Each further
short life of the same number makes the pause longer."""

FIRST_PAUSE_SECONDS: Final = 0.5
MAX_PAUSE_SECONDS: Final = 30.0

_IDLE_SECONDS: Final = 3600.0

# The state of a worker's number, a byte in memory shared with the workers. 0: none was ever ready.
_READY: Final = 1
_READY_BEFORE: Final = 2  # an earlier worker of this number was ready; the present one is not yet

_STOP: Final[set[signal.Signals]] = {signal.SIGTERM, signal.SIGINT}
_WATCHED: Final[set[signal.Signals]] = {*_STOP, signal.SIGHUP, signal.SIGCHLD}


class Process(NamedTuple):
    """A worker process. Numbers start at 0. The work calls `ready` once it serves.

    `is_replacement` is true if an earlier worker of this number was ready.
    """

    number: int
    is_replacement: bool
    ready: Callable[[], None]


Work = Callable[[Process], int]
"""Runs in a worker until SIGTERM and returns the exit code: 0 unless it failed."""


def run_processes(
    count: int,
    work: Work,
    on_stop: Callable[[], None],
    stop_seconds: float = STOP_SECONDS,
    has_lost_store: Callable[[], bool] = lambda: False,
) -> int:
    """Run `work` in `count` processes until a signal to stop; return 0 after a clean stop.

    A worker that fails before any worker of its number was ready stops all of them. Its code is
    returned. A worker that runs `stop_seconds` after the signal is killed. If `has_lost_store` once
    a child has ended, all are stopped. With a `count` of 1 nothing is forked.
    """
    if count == 1:
        return work(Process(0, False, ready=lambda: None))
    before = {signal.Signals(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)}
    try:
        return Supervisor(count, work, on_stop, before, stop_seconds, has_lost_store).run()
    finally:
        # Drop further signals to stop, because the stop is done.
        while signal.sigpending() & _STOP:
            signal.sigwait(_STOP)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def pause_seconds(failures: int) -> float:
    """Return the pause before a worker is replaced, after `failures` short lives in a row."""
    if not failures:
        return 0.0
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 32), MAX_PAUSE_SECONDS)


class _Child(NamedTuple):
    number: int
    started_at: float


class Supervisor:
    """The parent of the workers. It is single-threaded, and takes blocked signals one by one."""

    def __init__(
        self,
        count: int,
        work: Work,
        on_stop: Callable[[], None],
        mask: set[signal.Signals],
        stop_seconds: float,
        has_lost_store: Callable[[], bool],
    ) -> None:
        self._stop_seconds = stop_seconds
        self._has_lost_store = has_lost_store
        self._work = work
        self._on_stop = on_stop
        self._mask = mask
        self._children: dict[int, _Child] = {}
        self._start_at = dict.fromkeys(range(count), 0.0)
        self._failures = [0] * count
        # Shared with the workers: each sets the byte of its number to _READY.
        self._ready = mmap.mmap(-1, count)
        self._kill_at: float | None = None
        self._code = 0

    def run(self) -> int:
        """Start, replace and stop the workers; return the exit code once all have ended."""
        while True:
            self._start_due()
            if not (self._children or self._start_at):
                return self._code
            received = signal.sigtimedwait(_WATCHED, self._seconds_to_wait())
            if received is not None and received.si_signo in _STOP:
                self._stop()
            elif received is not None and received.si_signo == signal.SIGHUP:
                self._send(signal.SIGHUP)
            self._reap()
            if self._kill_at is None and self._has_lost_store():
                self._code = 1
                self._stop()
            self._kill_overdue()

    def _seconds_to_wait(self) -> float:
        """Return the seconds until a start or a kill is due."""
        next_time = min([*self._start_at.values(), self._kill_at or math.inf])
        return min(max(0.0, next_time - time.monotonic()), _IDLE_SECONDS)

    def _start_due(self) -> None:
        now = time.monotonic()
        for number in [number for number, at in self._start_at.items() if at <= now]:
            del self._start_at[number]
            self._start(number)

    def _start(self, number: int) -> None:
        sys.stdout.flush()  # or the child would print the buffered text too
        sys.stderr.flush()
        if self._ready[number]:
            self._ready[number] = _READY_BEFORE
        end_if_orphan = end_with_parent(signal.SIGTERM)
        try:
            pid = os.fork()
        except OSError as error:
            self._schedule_start(number, "worker cannot be started yet", error=str(error))
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
            code = self._exit_code_of(number)
        finally:
            # Never return, because the frames above belong to the parent.
            os._exit(code)

    def _exit_code_of(self, number: int) -> int:
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
        """Reap ended workers, each by its id, because the built-in stores are children too."""
        for pid in list(self._children):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._handle_exit(self._children.pop(pid), pid, os.waitstatus_to_exitcode(status))

    def _handle_exit(self, child: _Child, pid: int, code: int) -> None:
        """Replace a worker that has ended, or stop all. A negative `code` is a killing signal."""
        number = child.number
        if self._kill_at is not None:
            # A worker that was not ready had no requests, so its error loses nothing.
            if self._ready[number] == _READY:
                self._code = self._code or max(code, 0)
        elif code > 0 and not self._ready[number]:
            log.error("worker could not start; stopping all", number=number, pid=pid, code=code)
            self._code = code
            self._stop()
        else:
            if time.monotonic() - child.started_at >= STEADY_SECONDS:
                self._failures[number] = 0
            self._schedule_start(number, "worker ended; starting another", pid=pid, code=code)

    def _schedule_start(self, number: int, event: str, **details: object) -> None:
        seconds = pause_seconds(self._failures[number])
        self._failures[number] += 1
        self._start_at[number] = time.monotonic() + seconds
        log.error(event, number=number, **details, seconds=seconds)

    def _stop(self) -> None:
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._stop_seconds
            self._start_at.clear()
            self._on_stop()
        self._send(signal.SIGTERM)

    def _kill_overdue(self) -> None:
        if self._kill_at is not None and self._children and time.monotonic() >= self._kill_at:
            log.error("killing workers that did not stop", pids=list(self._children))
            self._kill_at = math.inf
            self._code = self._code or 1
            self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        """Send a signal to every worker. The system reuses no pid before its process is reaped."""
        for pid in self._children:
            os.kill(pid, number)
