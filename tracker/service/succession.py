"""How a supervisor follows another, whose workers serve until each has been replaced."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

Workers = Mapping[int, int]
"""The numbers of workers by their process ids."""


class Succession(NamedTuple):
    """How a supervisor follows another, and another follows it.

    `inherited` are the workers of its predecessor. `hand_over` begins the successor with all
    workers and the mask of signals, and returns only if that cannot be. `complete` is called when
    no inherited worker is left.
    """

    inherited: Workers
    hand_over: Callable[[Workers, set[signal.Signals]], None]
    complete: Callable[[], None]


class InheritedWorkers:
    """The workers of a predecessor, children of this process. One runs for `stop_seconds` at most
    after it was told to stop."""

    def __init__(self, workers: Workers, stop_seconds: float) -> None:
        self.workers = dict(workers)
        self.to_replace = sorted(set(workers.values()))
        """The numbers that have not been replaced yet; the first is next."""
        self._stop_seconds = stop_seconds
        self._kill_at: dict[int, float] = {}

    def stop(self, number: int) -> bool:
        """Have the workers of a number stop; return whether none is left."""
        left = [pid for pid, one in self.workers.items() if one == number]
        for pid in left:
            # Again and again: a second signal ends its wait for balancers, which see others.
            kill_at = self._kill_at.setdefault(pid, time.monotonic() + self._stop_seconds)
            os.kill(pid, signal.SIGTERM if time.monotonic() < kill_at else signal.SIGKILL)
        return not left

    def reap(self) -> list[int]:
        """Reap the workers that have ended; return their numbers."""
        ended = [pid for pid in self.workers if os.waitpid(pid, os.WNOHANG)[0]]
        return [self.workers.pop(pid) for pid in ended]
