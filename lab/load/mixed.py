"""Clicks and events mixed, whose answered ids are kept, to be looked for afterwards."""

from array import array
from collections import deque
from itertools import cycle
from random import Random
from typing import Final

from lab.load import requests
from lab.load.answers import click_id_of, event_id_of
from lab.load.scene import Scene

EVENTS: Final = 0.2
"""The part of the requests that are events; half of these name a click, the others a postback
key."""

_PREPARED: Final = 10_000
_NEWEST: Final = 1_000
_CLICK: Final = b"GET /c/"
_ID: Final = b"00000000-0000-7000-8000-000000000000"
_ID_BYTES: Final = 16


class Mixed:
    """Traffic for `lab.load.client`."""

    def __init__(self, scene: Scene, seed: int = 1) -> None:
        self._random = Random(seed)  # noqa: S311
        self._clicks = cycle(requests.clicks(scene, _PREPARED, seed))
        self._by_key = cycle(requests.events_by_key(scene, _PREPARED))
        self._by_click = requests.event({"click_id": _ID.decode()}, 1_250)
        self._newest: deque[bytes] = deque(maxlen=_NEWEST)
        self._click_ids = bytearray()
        self.event_ids = array("q")

    @property
    def clicks(self) -> int:
        """How many were answered."""
        return len(self._click_ids) // _ID_BYTES

    def click_ids(self, first: int, count: int) -> list[bytes]:
        """16 bytes each, from the number `first` on, in the order of their answers."""
        end = min(first + count, self.clicks)
        return [
            bytes(self._click_ids[number * _ID_BYTES : (number + 1) * _ID_BYTES])
            for number in range(first, end)
        ]

    def next(self) -> bytes:
        draw = self._random.random()
        if draw >= EVENTS:
            return next(self._clicks)
        if draw < EVENTS / 2 and self._newest:
            return self._by_click.replace(_ID, self._random.choice(self._newest))
        return next(self._by_key)

    def is_expected(self, request: bytes, answer: bytes) -> bool:
        if request.startswith(_CLICK):
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
