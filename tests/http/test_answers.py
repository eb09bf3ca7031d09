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
        self.add_header("Set-Cookie", "a=b")
        self.add_header("Set-Cookie", "c=d")
        self.set_header("X-Text", "gr\xfc\xdfe")


class Closing(RequestHandler):
    def get(self) -> None:
        self.set_header("Connection", self.get_argument("connection"))


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


class Hints(RequestHandler):
    def get(self) -> None:
        connection: Any = self.request.connection
        connection.write_headers(
            ResponseStartLine("", 103, "Early Hints"), HTTPHeaders({"Link": "</a>"})
        )
        self.write("then")


class Peer(RequestHandler):
    def get(self) -> None:
        connection: Any = self.request.connection
        context = connection.context
        self.write(
            {
                "ip": self.request.remote_ip,
                "protocol": self.request.protocol,
                "address": context.address[0],
                "text": str(context),
            }
        )


HANDLERS = (
    ("/", Plain),
    ("/streamed", Streamed),
    ("/sized", Sized),
    ("/empty", Empty),
    ("/fields", Fields),
    ("/closing", Closing),
    ("/splitting", Splitting),
    ("/hints", Hints),
    ("/context", Peer),
)


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    async with serving(application(*HANDLERS)) as (_, port), client_of(port) as client:
        yield client


async def test_a_plain_answer_has_one_date_and_one_server() -> None:
    async with connected() as client:
        client.send(get())
        answer = await client.answer()
        assert (answer.status, answer.body) == (200, b"plain")
        assert answer.all_of("Server") == ["tracker"]
        assert [bool(DATE.fullmatch(date)) for date in answer.all_of("Date")] == [True]
        assert answer.all_of("Content-Length") == ["5"]
        assert answer.all_of("Connection") == answer.all_of("Transfer-Encoding") == []


async def test_a_handler_does_not_change_date_and_server_and_keeps_the_rest() -> None:
    async with connected() as client:
        client.send(get("/fields"))
        answer = await client.answer()
        assert answer.all_of("Server") == ["tracker"]
        assert len(answer.all_of("Date")) == 1
        assert answer.all_of("Set-Cookie") == ["a=b", "c=d"]
        assert answer.all_of("X-Text") == ["gr\xfc\xdfe"]


@pytest.mark.parametrize("raw", [b"GET /a b HTTP/1.1\r\n\r\n", b"GET / HTTP/3.0\r\n\r\n"])
async def test_a_rejection_has_one_date_and_one_server(raw: bytes) -> None:
    async with connected() as client:
        client.send(raw)
        answer = await client.answer()
        assert answer.all_of("Server") == ["tracker"]
        assert len(answer.all_of("Date")) == 1
        assert answer.all_of("Connection") == ["close"]
        assert await client.rest() == b""


async def test_the_rejection_of_a_head_request_has_no_body() -> None:
    async with connected() as client:
        client.send(b"HEAD / HTTP/1.1\r\n\r\n")
        assert (await client.answer(head_only=True)).status == 400
        assert await client.rest() == b""


async def test_an_answer_without_a_length_is_sent_in_chunks() -> None:
    async with connected() as client:
        client.send(get("/streamed") + get())
        answer = await client.answer()
        assert (answer.all_of("Transfer-Encoding"), answer.body) == (["chunked"], b"onetwo")
        assert (await client.answer()).body == b"plain"


async def test_an_http_1_0_answer_without_a_length_ends_with_the_connection() -> None:
    async with connected() as client:
        client.send(get("/streamed", "Connection: keep-alive\r\n", version="1.0"))
        answer = await client.answer()
        assert (answer.all_of("Connection"), answer.body) == (["close"], b"onetwo")
        assert answer.all_of("Transfer-Encoding") == []


async def test_an_http_1_0_connection_is_kept_if_the_client_asks() -> None:
    async with connected() as client:
        client.send(get(fields="Connection: keep-alive\r\n", version="1.0") * 2)
        for _ in range(2):
            assert (await client.answer()).all_of("Connection") == ["keep-alive"]


@pytest.mark.parametrize("path", ["/", "/streamed"])
async def test_the_answer_to_head_has_no_body(path: str) -> None:
    async with connected() as client:
        client.send(get(path, method="HEAD") + get())
        assert (await client.answer(head_only=True)).all_of("Transfer-Encoding") == []
        assert (await client.answer()).body == b"plain"


@pytest.mark.parametrize("status", [204, 304])
async def test_some_statuses_have_no_body(status: int) -> None:
    async with connected() as client:
        client.send(get(f"/empty?status={status}") + get())
        answer = await client.answer()
        assert (answer.status, answer.all_of("Transfer-Encoding")) == (status, [])
        assert (await client.answer()).body == b"plain"


async def test_a_matching_etag_is_answered_with_not_modified() -> None:
    async with connected() as client:
        client.send(get())
        etag = (await client.answer()).all_of("Etag")[0]
        client.send(get(fields=f"If-None-Match: {etag}\r\n") + get())
        assert (await client.answer()).status == 304
        assert (await client.answer()).body == b"plain"


async def test_a_body_may_be_written_piece_by_piece() -> None:
    async with connected() as client:
        client.send(get("/sized?count=10") + get())
        assert (await client.answer()).body == b"x" * 10
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


@pytest.mark.parametrize("connection", ["close", "Close", "foo, close"])
async def test_a_handler_may_end_the_connection(connection: str) -> None:
    async with connected() as client:
        client.send(get("/closing?connection=" + connection.replace(" ", "%20")))
        assert (await client.answer()).all_of("Connection") == ["close"]
        assert await client.rest() == b""


async def test_other_connection_options_of_a_handler_are_passed_on() -> None:
    async with connected() as client:
        client.send(get("/closing?connection=foo") + get())
        assert (await client.answer()).all_of("Connection") == ["foo"]
        assert (await client.answer()).body == b"plain"


async def test_a_field_with_a_line_end_is_refused() -> None:
    async with connected() as client:
        client.send(get("/splitting"))
        answer = await client.answer()
        assert (answer.body, answer.all_of("X-Injected")) == (b"refused", [])


async def test_an_interim_answer_comes_before_the_answer() -> None:
    async with connected() as client:
        client.send(get("/hints"))
        assert (await client.answer()).lines == ["HTTP/1.1 103 Early Hints", "Link: </a>"]
        assert (await client.answer()).body == b"then"


async def test_http_1_0_clients_get_no_interim_answers() -> None:
    async with connected() as client:
        client.send(get("/hints", version="1.0"))
        assert (await client.answer()).body == b"then"


async def test_a_handler_sees_the_address_of_its_client() -> None:
    async with connected() as client:
        client.send(get("/context"))
        assert (await client.answer()).body == (
            b'{"ip": "127.0.0.1", "protocol": "http", "address": "127.0.0.1", "text": "127.0.0.1"}'
        )
