"""A watchdog that restarts built-in stores that end, at the same address.

`builtin/stores` gives it the stores that were started. `service/roles` calls it, from the event
loop of a single process or from the supervisor of several. Only the process and thread that started
the stores restart them, because stores end with that thread (`builtin/child`).
"""

import asyncio
import math
import os
import time
from collections.abc import Sequence
from typing import Final

import structlog

from tracker.builtin.binaries import StoresError
from tracker.builtin.child import Child
from tracker.loops import pause_seconds

log = structlog.get_logger(__name__)

STEADY_SECONDS: Final = 10.0
"""A store that ran this long is restarted at once. Any other waits for a pause that doubles each
time."""

_CHECK_INTERVAL_SECONDS: Final = 0.5


class Watchdog:
    """A watchdog over the stores of one process. It has none until `watch` is called."""

    def __init__(self) -> None:
        self._watched: list[_WatchedStore] = []
        self._owner = 0

    def watch(self, children: Sequence[Child]) -> None:
        """Watch `children`, which this process has started, in place of any before."""
        self._watched = [_WatchedStore(child) for child in children]
        self._owner = os.getpid()

    @property
    def has_stores(self) -> bool:
        """Return whether this process has stores to watch."""
        return bool(self._watched) and os.getpid() == self._owner

    def restart_ended(self) -> float:
        """Restart stores that have ended and whose pause is over, without waiting.

        Returns the seconds after which to call again. Call it earlier if a child process ends.
        """
        if not self.has_stores:
            return math.inf
        return min(store.restart_ended() for store in self._watched)

    async def run(self) -> None:
        """Restart ended stores, looking twice a second, until cancelled."""
        while True:
            self.restart_ended()
            await asyncio.sleep(_CHECK_INTERVAL_SECONDS)


class _WatchedStore:
    def __init__(self, child: Child) -> None:
        self._child = child
        self._failures = 0
        self._started_at = time.monotonic()
        self._restart_at: float | None = None

    def restart_ended(self) -> float:
        """Restart the store if it has ended and its pause is over; return the seconds left of it.

        Returns infinity while the store runs.
        """
        now = time.monotonic()
        if self._restart_at is None:
            if not self._child.has_ended():
                return math.inf
            self._restart_at = now + self._pause_after_end(now)
            seconds = self._restart_at - now
            log.error("built-in store ended", **self._child.exit_fields(), seconds=seconds)
        if self._restart_at > now:
            return self._restart_at - now
        return self._restart(now)

    def _pause_after_end(self, now: float) -> float:
        steady = now - self._started_at >= STEADY_SECONDS
        self._failures = 0 if steady else self._failures + 1
        return pause_seconds(self._failures) if self._failures else 0.0

    def _restart(self, now: float) -> float:
        """Restart the store; return the seconds until the next try if it fails, else infinity."""
        self._restart_at, self._started_at = None, now
        try:
            self._child.relaunch()
        except StoresError as error:
            log.error("built-in store cannot be restarted yet", error=str(error))
            self._failures += 1
            self._restart_at = now + pause_seconds(self._failures)
            return pause_seconds(self._failures)
        return math.inf
