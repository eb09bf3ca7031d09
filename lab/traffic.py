"""The traffic of a load, and its schedule: which requests are sent, and when."""

from array import array
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import cycle
from random import Random
from typing import Final
from uuid import UUID

from lab import requests
from lab.client import Traffic
from lab.requests import click_id_of, event_id_of
from lab.scene import Scene

LATE_SECONDS: Final = 5.0
"""The time after its end in which a load still sends overdue requests."""

EVENT_SHARE: Final = 0.2
"""The share of requests that are events; half of these name a click, the others a postback key."""

HOT_LINKS: Final = 1_000
COLD_LINKS: Final = 5_000
"""Links opened so seldom that each has left the service's memory when it is opened again."""

_PREPARED_REQUESTS: Final = 10_000
_NEWEST_CLICKS: Final = 1_000
_CLICK_START: Final = b"GET /c/"
_ID_PLACEHOLDER: Final = b"00000000-0000-7000-8000-000000000000"
_ID_BYTES: Final = 16
_REQUESTS_PER_COLD_LINK: Final = 50


class Prepared(Traffic):
    """Prepared requests, sent again and again; `click_ids` are kept if `keep_ids` is set."""

    def __init__(self, requests: Sequence[bytes], status: int, keep_ids: bool = False) -> None:
        self._requests = cycle(requests)
        self._status = b"HTTP/1.1 %d " % status
        self._keep_ids = keep_ids
        self.click_ids: list[UUID] = []

    def next(self) -> bytes:
        return next(self._requests)

    def is_expected(self, request: bytes, answer: bytes) -> bool:
        if self._keep_ids and (click_id := click_id_of(answer)):
            self.click_ids.append(click_id)
        return answer.startswith(self._status)


class CountedAnswers(Traffic):
    """Requests of which any answer is expected; `counts` has the number of each status."""

    def __init__(self, requests: Iterator[bytes]) -> None:
        self._requests = requests
        self.counts: Counter[str] = Counter()

    def next(self) -> bytes:
        return next(self._requests)

    def is_expected(self, request: bytes, answer: bytes) -> bool:
        self.counts[answer[9:12].decode("latin-1")] += 1
        return True


class Visitors(Traffic):
    """Clicks mixed with events; the answered ids are kept, to be looked for afterwards.

    Clicks open HOT_LINKS links, and one request in fifty opens one of COLD_LINKS.
    """

    def __init__(self, scene: Scene) -> None:
        self._random = Random(1)  # noqa: S311
        self._clicks = cycle(requests.clicks(scene.places[:HOT_LINKS], _PREPARED_REQUESTS))
        self._cold = cycle(requests.clicks(scene.places[HOT_LINKS:], COLD_LINKS))
        self._sent = 0
        self._by_key = cycle(requests.events_by_key(scene, _PREPARED_REQUESTS))
        self._by_click = requests.event({"click_id": _ID_PLACEHOLDER.decode()}, 1_250)
        self._newest: deque[bytes] = deque(maxlen=_NEWEST_CLICKS)
        self._click_ids = bytearray()
        self.event_ids = array("q")

    @property
    def clicks(self) -> int:
        return len(self._click_ids) // _ID_BYTES

    @property
    def answered(self) -> int:
        return self.clicks + len(self.event_ids)

    def click_ids(self, first: int, count: int) -> list[bytes]:
        """Return up to `count` ids of 16 bytes from index `first`, in the order of answers."""
        end = min(first + count, self.clicks)
        return [
            bytes(self._click_ids[number * _ID_BYTES : (number + 1) * _ID_BYTES])
            for number in range(first, end)
        ]

    def next(self) -> bytes:
        self._sent += 1
        if not self._sent % _REQUESTS_PER_COLD_LINK:
            return next(self._cold)
        draw = self._random.random()
        if draw >= EVENT_SHARE:
            return next(self._clicks)
        if draw < EVENT_SHARE / 2 and self._newest:
            return self._by_click.replace(_ID_PLACEHOLDER, self._random.choice(self._newest))
        return next(self._by_key)

    def is_expected(self, request: bytes, answer: bytes) -> bool:
        if request.startswith(_CLICK_START):
            return self._is_redirect(answer)
        event_id = event_id_of(answer)
        if event_id is None or not answer.startswith(b"HTTP/1.1 200 "):
            return False
        self.event_ids.append(event_id)
        return True

    def _is_redirect(self, answer: bytes) -> bool:
        click_id = click_id_of(answer)
        if click_id is None or not answer.startswith(b"HTTP/1.1 302 "):
            return False
        self._click_ids += click_id.bytes
        self._newest.append(str(click_id).encode())
        return True


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
