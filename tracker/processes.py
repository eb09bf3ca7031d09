"""Several processes of one service on the same listening sockets: started, restarted, stopped.

The parent forks before anything that a fork would break (event loops, threads, clients), and then
only watches. A process that dies is replaced; SIGTERM and SIGINT stop all, SIGHUP is passed on. No
process outlives the parent, however that ends (Linux).
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Final

import structlog

from tracker.db.child import end_with_parent

log = structlog.get_logger(__name__)

QUICK: Final = 2.0
"""Seconds: a process that ends with an error sooner than this could not start."""

_PAUSE: Final = 0.5
_STOP: Final[set[signal.Signals]] = {signal.SIGTERM, signal.SIGINT}
_WATCHED: Final[set[signal.Signals]] = {*_STOP, signal.SIGHUP, signal.SIGCHLD}


def run_processes(count: int, work: Callable[[int], int]) -> int:
    """Run `work(number)` in `count` processes, numbered from 0, until a signal to stop.

    The exit code: 0, or that of the first process that could not start, which stops the others.
    One process is this one: nothing is forked.
    """
    if count == 1:
        return work(0)
    before = {signal.Signals(one) for one in signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)}
    try:
        return _Parent(count, work, before).run()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Parent:
    def __init__(self, count: int, work: Callable[[int], int], mask: set[signal.Signals]) -> None:
        self._count = count
        self._work = work
        self._mask = mask
        self._children: dict[int, tuple[int, float]] = {}
        self._stopping = False
        self._code = 0

    def run(self) -> int:
        for number in range(self._count):
            self._start(number)
        while self._children:
            received = signal.sigwait(_WATCHED)
            if received in _STOP:
                self._stop()
            elif received == signal.SIGHUP:
                self._tell(signal.SIGHUP)
            self._reap()
        return self._code

    def _start(self, number: int) -> None:
        end_if_orphan = end_with_parent(signal.SIGTERM)
        pid = os.fork()
        if pid:
            self._children[pid] = (number, time.monotonic())
            return
        code = 1
        try:
            if end_if_orphan is not None:
                end_if_orphan()
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
            code = self._work(number)
        finally:
            # Not past here: what stands above belongs to the parent.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> None:
        """One by one: the stores are our children too, and not ours to wait for here."""
        for pid in list(self._children):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                number, began = self._children.pop(pid)
                if not self._stopping:
                    lived = time.monotonic() - began
                    self._replace(number, os.waitstatus_to_exitcode(status), lived)

    def _replace(self, number: int, code: int, lived: float) -> None:
        if code > 0 and lived < QUICK:
            self._code = code
            self._stop()
            return
        log.error("process ended; starting another", number=number, code=code)
        if lived < QUICK:
            time.sleep(_PAUSE)
        self._start(number)

    def _stop(self) -> None:
        self._stopping = True
        self._tell(signal.SIGTERM)

    def _tell(self, number: signal.Signals) -> None:
        for pid in self._children:
            os.kill(pid, number)
