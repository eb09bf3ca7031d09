"""The requests of visitors and of those who send events, drawn at random, as the bytes to send.

Each has a number that no other has, which comes back in what is stored: of a click in its query, of
an event in its metadata. Transaction ids come again: at once, from several senders, and later.
"""

import json
from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from lab.chaos.scene import Place, Scene
from lab.load.requests import head
from lab.traffic import AGENTS

EVENTS: Final = 0.2
"""The part of the requests that are events."""

_TRANSACTIONS: Final = 0.5
_TWINS: Final = 0.4
_REPEATS: Final = 0.1
_PREFETCHES: Final = 0.03
_REMEMBERED: Final = 500
_ADDRESSES: Final = 250


class Request(NamedTuple):
    """`transaction` is None for clicks, and for events without a transaction id."""

    is_click: bool
    number: int
    transaction: str | None
    data: bytes


class Requests:
    """`answered` are the ids of answered clicks, the newest last: events are sent for them."""

    def __init__(self, scene: Scene, seed: int, answered: Sequence[UUID]) -> None:
        self._scene = scene
        self._random = Random(seed)  # noqa: S311
        self._answered = answered
        self._number = 0
        self._orders: deque[dict[str, Any]] = deque(maxlen=_REMEMBERED)

    def next(self) -> list[Request]:
        """One, or a few that are to be sent at the same time."""
        if self._random.random() < EVENTS:
            return self._events()
        return [self._click()]

    def _click(self) -> Request:
        draw = self._random
        place = draw.choice(self._scene.places)
        number = self._next_number()
        query = {
            "utm_source": draw.choice(("mail", "shop", "bücher")),
            "n": number,
            "q": "a b",
        }
        headers = {
            "Host": place.host or "127.0.0.1",
            "User-Agent": draw.choice(AGENTS),
            "X-Forwarded-For": f"81.2.{draw.randrange(_ADDRESSES)}.7",
            "Referer": "https://news.test/today",
        }
        if draw.random() < _PREFETCHES:
            headers["Sec-Purpose"] = "prefetch"
        return Request(True, number, None, head("GET", self._path(place, query), headers))

    def _path(self, place: Place, query: dict[str, Any]) -> str:
        if self._random.random() < 0.5:
            return f"/c/{place.slug}?{urlencode(query)}"
        domain = {"d": place.host} if place.host else {}
        return f"/api/click?{urlencode({'s': place.slug, **domain, **query})}"

    def _events(self) -> list[Request]:
        draw = self._random
        if self._orders and draw.random() < _REPEATS:
            return [self._event(draw.choice(self._orders))]
        fields = self._fields()
        if draw.random() > _TRANSACTIONS:
            return [self._event(fields)]
        fields["transaction_id"] = f"order-{self._number}"
        self._orders.append(fields)
        copies = draw.choice((2, 3)) if draw.random() < _TWINS else 1
        return [self._event(fields) for _ in range(copies)]

    def _fields(self) -> dict[str, Any]:
        """By postback key, by click, or by both."""
        draw = self._random
        fields: dict[str, Any] = {"value": draw.randrange(1, 99_999) / 100}
        way = draw.choice(("key", "click", "both")) if self._answered else "key"
        if way != "click":
            fields["pbk"] = draw.choice(self._scene.pbks)
        if way != "key":
            # Most of them have only just been answered.
            age = int(len(self._answered) * draw.random() ** 4)
            fields["click_id"] = str(self._answered[-1 - age])
        return fields

    def _event(self, fields: dict[str, Any]) -> Request:
        number = self._next_number()
        numbered = {**fields, "metadata": {"n": number}}
        transaction = fields.get("transaction_id")
        if self._random.random() < 0.5:
            text = urlencode({**numbered, "metadata": json.dumps(numbered["metadata"])})
            return Request(False, number, transaction, head("GET", f"/api/event?{text}", {}))
        return Request(False, number, transaction, post("/api/event", numbered, {}))

    def _next_number(self) -> int:
        self._number += 1
        return self._number


def post(path: str, fields: dict[str, Any], headers: dict[str, str]) -> bytes:
    """A POST of JSON."""
    body = json.dumps(fields).encode()
    length = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    return head("POST", path, headers | length) + body
