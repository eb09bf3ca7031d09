"""Clicks that pages report, from the bytes received, as `clicks/api/page_click` answers them."""

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import Any, Final

import msgspec

from tracker.clicks.api.page_click import JSON_TYPES, headers_for, page_click_in, recorded_content
from tracker.clicks.pages.sent import PageClick
from tracker.clicks.visit import Visit
from tracker.errors import TrackerError
from tracker.http.fast_path import FastPathConnection, PlainHeadParser
from tracker.service.hot_requests import (
    Headers,
    HotRequests,
    Unanswered,
    id_of,
    refused_by,
)
from tracker.service.services import Services
from tracker.web.handler import json_error
from tracker.web.limits import MAX_PAGE_CLICK_BYTES

_PATH: Final = "/api/click"
_START: Final = f"POST {_PATH} ".encode()


class _Header(msgspec.Struct, frozen=True, gc=False):
    """The header of a plain request. `body_bytes` is 0 unless the body is a page's click."""

    common: Any
    origin: str
    answer_headers: Headers
    body_bytes: int


class AllHotRequests(HotRequests):
    """Hot requests, with the clicks of pages whose body came together with its head."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._pages = services.clicks.pages
        names = (*self.names, "content-type", "content-length")
        self._page_heads = PlainHeadParser(names, self._make_page_header, ("POST",))
        self._recording = set[asyncio.Task[None]]()

    def post(self, connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        head = self._page_heads.read(data, start, end) if data.startswith(_START, start) else None
        if head is None or not head.header.body_bytes or head.query:
            return False
        common, body_end = head.header.common, end + head.header.body_bytes
        try:
            sent = page_click_in(data[end:body_end]) if len(data) >= body_end else None
        except TrackerError:
            return False  # the handler says why
        if sent is None:
            return False
        connection.take_body(body_end)
        request = Unanswered(self, connection, head, _PATH, id_of(common), perf_counter())
        address = self.client_address.find(connection.peer, (common.forwarded_for,))
        visit = Visit(head.method, head.host, None, "", address, common.client)
        task = asyncio.get_running_loop().create_task(self._record(request, sent, visit))
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)
        return True

    async def _record(self, request: Unanswered, sent: PageClick, visit: Visit) -> None:
        header: _Header = request.head.header
        try:
            content = recorded_content(await self._pages.record(sent, header.origin, visit))
        except Exception as error:
            refused = refused_by(request, error)
            headers = (*refused.all_headers.items(), *header.answer_headers)
            self.finish(request, refused.status, headers, json_error(refused))
        else:
            self.finish(request, 200, header.answer_headers, content)

    def _make_page_header(self, values: Sequence[str]) -> _Header:
        *others, kind, length = values
        is_page = kind.partition(";")[0].strip().lower() in JSON_TYPES
        is_length = length.isdecimal() and length.isascii() and len(length) < 6
        size = int(length) if is_page and is_length else 0
        origin = others[self.names.index("origin")]
        body_bytes = size if size <= MAX_PAGE_CLICK_BYTES else 0
        return _Header(self.make_header(others), origin, headers_for(origin), body_bytes)
