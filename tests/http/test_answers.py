"""Answers of tornado.web handlers on the server, read from a socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, ResponseStartLine
from tornado.web import RequestHandler

from tests.http.serving import DATE, Client, application, client_of, get, serving


class Plain(RequestHandler):
    def get(self) -> None:
        self.write("plain")

    head = get


class Streamed(RequestHandler):
    async def get(self) -> None:
        for part in ("one", "two", ""):
            self.write(part)
            await self.flush()

    head = get


class Sized(RequestHandler):
    """A handler that announces ten bytes and writes `count`."""

    async def get(self) -> None:
        self.set_header("Content-Length", "10")
        for _ in range(int(self.get_argument("count"))):
            self.write("x")
            await self.flush()


class Empty(RequestHandler):
    def get(self) -> None:
        self.set_status(int(self.get_argument("status")))

    def compute_etag(self) -> None:
        return None


class Fields(RequestHandler):
    def get(self) -> None:
        self.set_header("Server", "another/1.0")
        self.set_header("Date", "yesterday")
        self.set_header("Connection", "close")
        self.add_header("Set-Cookie", "a=b")
        self.add_header("Set-Cookie", "c=d")
        self.set_header("X-Text", "gr\xfc\xdfe")


class Splitting(RequestHandler):
    """A handler that avoids the checks of Tornado."""

    def get(self) -> None:
        connection: Any = self.request.connection
        headers = HTTPHeaders()
        headers["X-Split"] = "a\r\nX-Injected: b"
        try:
            connection.write_headers(ResponseStartLine("", 200, "OK"), headers)
        except ValueError:
            self.finish("refused")


class Peer(RequestHandler):
    def get(self) -> None:
        self.write(f"{self.request.remote_ip} {self.request.protocol}")


HANDLERS = (
    *(("/", Plain), ("/streamed", Streamed), ("/sized", Sized), ("/empty", Empty)),
    *(("/fields", Fields), ("/splitting", Splitting), ("/peer", Peer)),
)
KEEP_ALIVE = "Connection: keep-alive\r\n"
CHUNKED, CLOSE = {"Transfer-Encoding": ["chunked"]}, {"Connection": ["close"]}


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    async with serving(application(*HANDLERS)) as (_, port), client_of(port) as client:
        yield client


@pytest.mark.parametrize(
    ("raw", "status", "body", "fields"),
    [
        (get(), 200, b"plain", {"Content-Length": ["5"]}),
        (get(method="HEAD"), 200, b"", {"Content-Length": ["5"]}),
        (get("/streamed"), 200, b"onetwo", CHUNKED),
        (get("/streamed", method="HEAD"), 200, b"", {}),
        (get("/streamed", KEEP_ALIVE, version="1.0"), 200, b"onetwo", CLOSE),
        (get("/", KEEP_ALIVE, version="1.0"), 200, b"plain", {"Connection": ["keep-alive"]}),
        (get("/empty?status=204"), 204, b"", {}),
        (get("/empty?status=304"), 304, b"", {}),
        (get("/sized?count=10"), 200, b"x" * 10, {"Content-Length": ["10"]}),
        (get("/fields"), 200, b"", {"Set-Cookie": ["a=b", "c=d"], "X-Text": ["gr\xfc\xdfe"]}),
        (get("/peer"), 200, b"127.0.0.1 http", {}),
        (b"GET /a b HTTP/1.1\r\n\r\n", 400, None, CLOSE),
        (b"GET / HTTP/3.0\r\n\r\n", 505, None, CLOSE),
        (b"HEAD / HTTP/1.1\r\n\r\n", 400, b"", CLOSE),
    ],
)
async def test_an_answer_is_framed_and_followed_by_the_next_unless_it_closes(
    raw: bytes, status: int, body: bytes | None, fields: dict[str, list[str]]
) -> None:
    async with connected() as client:
        client.send(raw + get())
        answer = await client.answer(head_only=raw.startswith(b"HEAD"))
        assert answer.status == status
        assert body in (None, answer.body)
        framing: dict[str, list[str]] = {"Transfer-Encoding": [], "Connection": []} | fields
        assert {name: answer.all_of(name) for name in framing} == framing
        assert answer.all_of("Server") == ["tracker"]
        assert [bool(DATE.fullmatch(date)) for date in answer.all_of("Date")] == [True]
        if framing["Connection"] == ["close"]:
            assert await client.rest() == b""
        else:
            assert (await client.answer()).body == b"plain"


async def test_a_matching_etag_is_answered_with_not_modified() -> None:
    async with connected() as client:
        client.send(get())
        etag = (await client.answer()).all_of("Etag")[0]
        client.send(get(fields=f"If-None-Match: {etag}\r\n") + get())
        assert (await client.answer()).status == 304
        assert (await client.answer()).body == b"plain"


async def test_an_answer_shorter_than_announced_ends_the_connection() -> None:
    async with connected() as client:
        client.send(get("/sized?count=9") + get())
        with pytest.raises(asyncio.IncompleteReadError):
            await client.answer()


async def test_the_excess_of_an_answer_longer_than_announced_is_not_sent() -> None:
    async with connected() as client:
        client.send(get("/sized?count=11") + get())
        assert (await client.answer()).body == b"x" * 10
        assert await client.rest() == b""


async def test_a_field_with_a_line_end_is_refused() -> None:
    async with connected() as client:
        client.send(get("/splitting"))
        answer = await client.answer()
        assert (answer.body, answer.all_of("X-Injected")) == (b"refused", [])
