"""The traffic of a run: requests drawn at random, and a ledger of their answers.

Each request has a number that no other has and that is stored with it: a click's in its query, an
event's in its metadata. Transaction ids are repeated: at once, by several senders, and later. So
are reports, which change status and value of a conversion.
"""

import asyncio
import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

import orjson

from lab.chaos.restatements import Report, Reports, Statement
from lab.client import Load, Traffic
from lab.requests import AGENTS, click_id_of, head, post_json
from lab.scene import Place, Scene
from tracker.clock import now_ms

EVENT_SHARE: Final = 0.2
"""The share of requests that are events."""

CONNECTIONS: Final = 32
ANSWER_SECONDS: Final = 60.0
_BEHIND_SECONDS: Final = 0.5
"""The lag behind its rate up to which the load catches up."""

_REPORT_SHARE: Final = 0.4
_TRANSACTION_SHARE: Final = 0.5
_TWIN_SHARE: Final = 0.4
_REPEAT_SHARE: Final = 0.1
_PREFETCH_SHARE: Final = 0.03
_REMEMBERED_ORDERS: Final = 500
_REMEMBERED_CLICKS: Final = 1000
_CORRECTED: Final = 60
_VISITOR_ADDRESSES: Final = 250


class Request(NamedTuple):
    """A request to send; `transaction` is None for clicks and events without a transaction id.

    A `report` has the key of its conversion there.
    """

    is_click: bool
    number: int
    transaction: str | None
    data: bytes
    report: Report | None = None


class Requests:
    """Requests drawn at random; events are sent for clicks of `answered`, whose newest is last."""

    def __init__(
        self, scene: Scene, seed: int, answered: Sequence[UUID], began: int = 10**12
    ) -> None:
        self._scene = scene
        self._random = Random(seed)  # noqa: S311
        self._reports = Reports(self._random, scene.pbks, began)
        self._answered = answered
        self._number = 0
        self._orders: deque[dict[str, Any]] = deque(maxlen=_REMEMBERED_ORDERS)

    def next(self) -> list[Request]:
        """Return one request, or a few to be sent at the same time."""
        if self._random.random() < EVENT_SHARE:
            return self._events()
        return [self._click()]

    def _click(self) -> Request:
        draw = self._random
        place = draw.choice(self._scene.places)
        number = self._next_number()
        query = {"utm_source": draw.choice(("mail", "shop", "bücher")), "n": number, "q": "a b"}
        headers = {
            "Host": place.host or "127.0.0.1",
            "User-Agent": draw.choice(AGENTS),
            "X-Forwarded-For": f"81.2.{draw.randrange(_VISITOR_ADDRESSES)}.7",
            "Referer": "https://news.test/today",
        }
        if draw.random() < _PREFETCH_SHARE:
            headers["Sec-Purpose"] = "prefetch"
        return Request(True, number, None, head("GET", self._path(place, query), headers))

    def _path(self, place: Place, query: dict[str, Any]) -> str:
        if self._random.random() < 0.5:
            return f"/c/{place.slug}?{urlencode(query)}"
        domain = {"d": place.host} if place.host else {}
        return f"/api/click?{urlencode({'s': place.slug, **domain, **query})}"

    def _events(self) -> list[Request]:
        draw = self._random
        if self._answered and draw.random() < _REPORT_SHARE:
            report = self._reports.next(self._number, draw.choice(self._answered))
            copies = draw.choice((2, 3)) if draw.random() < _REPEAT_SHARE else 1
            return [self._event(report.parameters, report) for _ in range(copies)]
        if self._orders and draw.random() < _REPEAT_SHARE:
            return [self._event(draw.choice(self._orders))]
        fields = self._fields()
        if draw.random() > _TRANSACTION_SHARE:
            return [self._event(fields)]
        fields["transaction_id"] = f"order-{self._number}"
        self._orders.append(fields)
        copies = draw.choice((2, 3)) if draw.random() < _TWIN_SHARE else 1
        return [self._event(fields) for _ in range(copies)]

    def _fields(self) -> dict[str, Any]:
        """Return the fields of an event that names a postback key, a click, or both."""
        draw = self._random
        fields: dict[str, Any] = {"value": draw.randrange(1, 99_999) / 100}
        way = draw.choice(("key", "click", "both")) if self._answered else "key"
        if way != "click":
            fields["pbk"] = draw.choice(self._scene.pbks)
        if way != "key":
            # Most of these clicks have only just been answered.
            age = int(len(self._answered) * draw.random() ** 4)
            fields["click_id"] = str(self._answered[-1 - age])
        return fields

    def _event(self, fields: Mapping[str, Any], report: Report | None = None) -> Request:
        number = self._next_number()
        numbered = {**fields, "metadata": {"n": number}}
        transaction = report.key if report else fields.get("transaction_id")
        if self._random.random() < 0.5:
            text = urlencode({**numbered, "metadata": json.dumps(numbered["metadata"])})
            data = head("GET", f"/api/event?{text}", {})
        else:
            data = post_json("/api/event", numbered)
        return Request(False, number, transaction, data, report)

    def _next_number(self) -> int:
        self._number += 1
        return self._number


class EventAnswer(NamedTuple):
    """An event that was answered as recorded."""

    number: int
    event_id: int
    transaction: str | None


class Ledger:
    """The answer to every request.

    `clicks` and `events` were answered as recorded. A `cut` request was sent and never answered, so
    it may be stored or not. `refused` counts connections nobody accepted; `others` counts other
    answers by kind of request and status. `waits` are the seconds until each answer. `statements`
    are by key of a conversion; `restated` are those with the newest answers, with their event ids.
    """

    def __init__(self) -> None:
        self.clicks: dict[int, UUID] = {}
        self.events: list[EventAnswer] = []
        self.newest: deque[UUID] = deque(maxlen=_REMEMBERED_CLICKS)
        self.pending = 0
        self.refused = 0
        self.cut: set[int] = set()
        self.others: Counter[str] = Counter()
        self.waits: list[float] = []
        self.statements: defaultdict[str, list[Statement]] = defaultdict(list)
        self.restated: deque[tuple[str, int]] = deque(maxlen=_CORRECTED)

    @property
    def answered(self) -> int:
        return len(self.clicks) + len(self.events)

    def add_click(self, request: Request, click_id: UUID) -> None:
        self.clicks[request.number] = click_id
        self.newest.append(click_id)

    def add_event(self, request: Request, event_id: int, click_status: str) -> None:
        self.events.append(EventAnswer(request.number, event_id, request.transaction))
        self.pending += click_status == "pending"
        if request.report:
            self.restated.append((request.report.key, event_id))

    def add_statement(self, report: Report, first: int, *, is_answered: bool) -> None:
        """Note a report that was sent at `first` and has just been answered, or will not be."""
        at = report.occurred_at
        between = (first, now_ms()) if at is None else (at, at)
        self.statements[report.key].append(Statement(report.stated, *between, is_answered))

    def add_other(self, request: Request, status: int) -> None:
        self.others[f"{'click' if request.is_click else 'event'} {status}"] += 1


class LedgerTraffic(Traffic):
    """Traffic that records every answer, and its own schedule: `rate` requests a second.

    No request is sent twice. The requests of a group are due at one time.
    """

    unsent = 0

    def __init__(
        self, requests: Requests, ledger: Ledger, rate: float, stop: asyncio.Event
    ) -> None:
        self._requests = requests
        self._ledger = ledger
        self._seconds_apart = 1 / rate
        self._stop = stop
        self._due = time.perf_counter()
        self._group: deque[Request] = deque()
        self._in_flight: dict[bytes, tuple[Request, float, int]] = {}

    def due(self, now: float) -> float | None:
        if not self._group:
            if self._stop.is_set() or now < self._due:
                return None
            self._group.extend(self._requests.next())
            behind = max(self._due, now - _BEHIND_SECONDS)
            self._due = behind + len(self._group) * self._seconds_apart
        return now

    def is_over(self, now: float) -> bool:
        return self._stop.is_set()

    def next(self) -> bytes:
        request = self._group.popleft()
        self._in_flight[request.data] = request, time.monotonic(), now_ms()
        return request.data

    def is_expected(self, request: bytes, answer: bytes) -> bool:
        asked, began, first = self._in_flight.pop(request)
        self._ledger.waits.append(time.monotonic() - began)
        status = int(answer[9:12])
        if asked.report:
            self._ledger.add_statement(asked.report, first, is_answered=status == 200)
        if asked.is_click and status == 302 and (click_id := click_id_of(answer)):
            self._ledger.add_click(asked, click_id)
        elif not asked.is_click and status == 200:
            event: dict[str, Any] = orjson.loads(answer.partition(b"\r\n\r\n")[2])
            self._ledger.add_event(asked, event["eventId"], event["clickStatus"])
        else:
            self._ledger.add_other(asked, status)
        return True

    def cut(self, request: bytes) -> None:
        asked, _, first = self._in_flight.pop(request)
        self._ledger.cut.add(asked.number)
        if asked.report:
            self._ledger.add_statement(asked.report, first, is_answered=False)


async def run_load(
    scene: Scene, port: int, ledger: Ledger, seed: int, rate: float, stop: asyncio.Event
) -> None:
    """Send requests until `stop` is set and each of them is answered or cut."""
    traffic = LedgerTraffic(Requests(scene, seed, ledger.newest, now_ms()), ledger, rate, stop)
    load = Load(port, traffic, CONNECTIONS, answer_seconds=ANSWER_SECONDS)
    try:
        await load.run(traffic)
    finally:
        ledger.refused = load.errors["refused"]
