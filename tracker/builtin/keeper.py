"""Restarts built-in stores that end while the service uses them, at the same address.

`builtin/stores` gives it the stores that were started; `service/roles` calls it, on the loop of a
single process or from the parent of several. Only the process and thread that started the stores
do anything: the stores end with that thread (`builtin/child`).
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
"""A store that ran this long is restarted at once, another after a pause that doubles."""

_CHECK_SECONDS: Final = 0.5


class Keeper:
    """A watch over the stores of this process; it has none before `watch`."""

    def __init__(self) -> None:
        self._watched: list[_Watched] = []
        self._owner = 0

    def watch(self, children: Sequence[Child]) -> None:
        """Watch `children`, which this process has started, and no others."""
        self._watched = [_Watched(one) for one in children]
        self._owner = os.getpid()

    @property
    def has_stores(self) -> bool:
        """Whether this process has stores to watch."""
        return bool(self._watched) and os.getpid() == self._owner

    def revive(self) -> float:
        """Restart stores that have ended, without waiting.

        Return the seconds after which to call again, if no child of the process ends before.
        """
        if not self.has_stores:
            return math.inf
        return min(one.revive() for one in self._watched)

    async def keep(self) -> None:
        """Call `revive` twice a second, until cancelled."""
        while True:
            self.revive()
            await asyncio.sleep(_CHECK_SECONDS)


class _Watched:
    def __init__(self, child: Child) -> None:
        self._child = child
        self._failures = 0
        self._since = time.monotonic()
        self._due: float | None = None

    def revive(self) -> float:
        """Restart the store if it has ended and paused; return the seconds until then."""
        now = time.monotonic()
        if self._due is None:
            if not self._child.has_ended():
                return math.inf
            steady = now - self._since >= STEADY_SECONDS
            self._failures = 0 if steady else self._failures + 1
            self._due = now + (pause_seconds(self._failures) if self._failures else 0.0)
            log.error("built-in store ended", **self._child.ending(), seconds=self._due - now)
        if self._due > now:
            return self._due - now
        self._due, self._since = None, now
        try:
            self._child.relaunch()
        except StoresError as error:
            log.error("built-in store cannot be restarted yet", error=str(error))
            self._failures += 1
            self._due = now + pause_seconds(self._failures)
            return self._due - now
        return math.inf
