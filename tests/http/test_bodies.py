"""Bodies that are streamed to tornado.web handlers, read from a socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tornado.web import HTTPError, RequestHandler, stream_request_body

from tests.http.serving import Client, application, client_of, get, post, serving
from tests.waiting import PATIENCE_SECONDS, eventually
from tracker.http.limits import Limits

LIMITS = Limits(body_bytes=1000)


@stream_request_body
class Streamed(RequestHandler):
    """A handler that answers with its body, received in pieces."""

    def prepare(self) -> None:
        self.pieces: list[bytes] = []

    async def data_received(self, chunk: bytes) -> None:
        await asyncio.sleep(0)
        self.pieces.append(chunk)

    def get(self) -> None:
        self.write(b"".join(self.pieces))

    post = get


@stream_request_body
class Hasty(RequestHandler):
    """A handler that answers before it has read the body: at once, or at its first piece."""

    left: list[str] = []  # noqa: RUF012

    def prepare(self) -> None:
        if self.get_argument("when") == "prepare":
            self.set_status(403)
            self.finish("enough")

    def data_received(self, chunk: bytes) -> None:
        self.set_status(403)
        self.finish("enough")

    def on_connection_close(self) -> None:
        self.left.append(self.get_argument("when"))
        super().on_connection_close()

    def post(self) -> None:
        raise AssertionError("it has answered already")


@stream_request_body
class Failing(RequestHandler):
    def data_received(self, chunk: bytes) -> None:
        raise HTTPError(418)

    def post(self) -> None:
        pass


class Whole(RequestHandler):
    def post(self) -> None:
        self.write(self.request.body)


HANDLERS = (("/", Streamed), ("/hasty", Hasty), ("/failing", Failing), ("/whole", Whole))


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    async with serving(application(*HANDLERS), LIMITS) as (_, port), client_of(port) as client:
        yield client


@pytest.fixture(autouse=True)
def nobody_left() -> None:
    Hasty.left.clear()


def chunks(*pieces: bytes) -> bytes:
    framed = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return get("/", "Transfer-Encoding: chunked\r\n", "POST") + framed + b"0\r\n\r\n"


async def test_a_streamed_body_arrives_in_order() -> None:
    async with connected() as client:
        client.send(post(b"abc") + chunks(b"d", b"ef") + get())
        assert [(await client.answer()).body for _ in range(3)] == [b"abc", b"def", b""]


async def test_chunks_that_are_mostly_extensions_are_refused() -> None:
    async with connected() as client:
        head, _, _ = chunks().partition(b"0\r\n")
        client.send(head + (b"1;%b\r\nx\r\n" % (b"e" * 200)) * 90)
        assert (await client.answer()).status == 400


async def test_the_rejection_arrives_although_the_client_continues_to_send() -> None:
    async with connected() as client:
        client.send(post(b"a" * 3_000_000))
        assert (await client.answer()).status == 413


@pytest.mark.parametrize("when", ["prepare", "data"])
async def test_a_handler_may_answer_before_it_has_read_the_body(when: str) -> None:
    async with connected() as client:
        client.send(post(b"a" * 900, f"/hasty?when={when}")[:-500])
        answer = await client.answer()
        assert (answer.status, answer.body) == (403, b"enough")
        assert answer.all_of("Connection") == ["close"]
        client.send(b"a" * 500)
        assert await client.rest() == b""
    assert Hasty.left == [when]


async def test_an_early_answer_to_a_request_without_a_body_keeps_the_connection() -> None:
    async with connected() as client:
        client.send(post(b"", "/hasty?when=prepare") + get())
        assert [(await client.answer()).status for _ in range(2)] == [403, 200]


async def test_a_handler_that_fails_on_a_piece_gives_an_internal_error() -> None:
    async with connected() as client:
        client.send(post(b"abc", "/failing"))
        assert (await client.answer()).status == 500
        assert await client.rest() == b""


async def test_100_continue_is_sent_when_the_handler_is_ready() -> None:
    asked, ready = asyncio.Event(), asyncio.Event()

    @stream_request_body
    class Ready(Streamed):
        async def prepare(self) -> None:  # type: ignore[override]
            super().prepare()
            asked.set()
            await ready.wait()

    async with serving(application(("/", Ready))) as (_, port), client_of(port) as client:
        client.send(post(b"abc", fields="Expect: 100-continue\r\n")[:-3])
        answer = asyncio.create_task(client.answer())
        await asyncio.wait_for(asked.wait(), PATIENCE_SECONDS)
        await asyncio.sleep(0.05)
        assert not answer.done()
        ready.set()
        assert (await answer).lines == ["HTTP/1.1 100 Continue"]
        client.send(b"abc")
        assert (await client.answer()).body == b"abc"


async def test_no_100_continue_is_sent_after_an_early_answer() -> None:
    async with connected() as client:
        raw = post(b"abc", "/hasty?when=prepare", "Expect: 100-continue\r\n")
        client.send(raw[:-3])
        assert (await client.answer()).status == 403
        assert await client.rest() == b""


async def test_a_handler_is_notified_of_a_client_that_goes_while_it_sends() -> None:
    events: list[str] = []

    @stream_request_body
    class Told(RequestHandler):
        def data_received(self, chunk: bytes) -> None:
            events.append(chunk.decode())

        def on_connection_close(self) -> None:
            events.append("gone")
            super().on_connection_close()

        def post(self) -> None:
            events.append("posted")

    async with serving(application(("/", Told))) as (_, port):
        async with client_of(port) as client:
            client.send(post(b"abc")[:-1])
            await eventually(lambda: bool(events))
        await eventually(lambda: len(events) > 1)
    assert events == ["ab", "gone"]
