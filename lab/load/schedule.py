"""When the next request is to be sent. Pure: the caller passes the time.

    while not schedule.is_over(now):
        since = schedule.due(now)  # None if it is not yet due

`since` is the moment from which the latency counts.
"""

from typing import Final, Protocol

LATE_SECONDS: Final = 5.0
"""How long a load may run beyond its end to send what is overdue."""


class Schedule(Protocol):
    """The times at which requests are due."""

    def due(self, now: float) -> float | None:
        """Take the next request and return when it was due; None if it is not yet due."""

    def is_over(self, now: float) -> bool:
        """Return whether no further request will be due."""

    @property
    def unsent(self) -> int:
        """Return the number of requests that were not taken in time."""


class Closed:
    """A schedule in which an idle connection sends at once; `count` bounds all requests."""

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
    """A schedule of `rate` requests a second, whether or not the service keeps up.

    A request without a free connection is sent late; its latency counts from when it was due.
    """

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
