"""When the next request is to be sent. Pure: whoever asks tells the time.

    while not schedule.is_over(now):
        since = schedule.due(now)  # None: not yet

`since` is the moment from which the latency counts.
"""

from typing import Final, Protocol

LATE_SECONDS: Final = 5.0
"""How long a load may go on beyond its end to make up for what it is behind."""


class Schedule(Protocol):
    def due(self, now: float) -> float | None:
        """Take the next request, if it is time for it."""

    def is_over(self, now: float) -> bool:
        """None will be due any more."""

    @property
    def unsent(self) -> int:
        """Those that were never due before it was over."""


class Closed:
    """A connection sends again as soon as it has its answer, `count` requests in all at most."""

    def __init__(self, began: float, seconds: float, count: int | None = None) -> None:
        self._end = began + seconds
        self._left = count

    def due(self, now: float) -> float | None:
        if self.is_over(now):
            return None
        if self._left is not None:
            self._left -= 1
        return now

    def is_over(self, now: float) -> bool:
        return now >= self._end or self._left == 0

    @property
    def unsent(self) -> int:
        return 0


class Paced:
    """`rate` requests a second, whether or not the service keeps up: what has to wait for a free
    connection is sent later, and its latency counts from when it should have been sent."""

    def __init__(self, began: float, seconds: float, rate: float) -> None:
        self._began = began
        self._end = began + seconds + LATE_SECONDS
        self._rate = rate
        self._total = int(seconds * rate)
        self._sent = 0

    @property
    def unsent(self) -> int:
        return self._total - self._sent

    def due(self, now: float) -> float | None:
        since = self._began + self._sent / self._rate
        if since > now or self.is_over(now):
            return None
        self._sent += 1
        return since

    def is_over(self, now: float) -> bool:
        return self._sent >= self._total or now >= self._end
