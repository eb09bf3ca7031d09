"""Prepared requests, one after the other and round again, all of which have the same status."""

from collections.abc import Sequence
from itertools import cycle
from uuid import UUID

from lab.load.answers import click_id_of


class Prepared:
    """Traffic for `lab.load.client`. `click_ids` are those of the answers, if they are kept."""

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
