"""The fast path gets whole heads first, and answers at once or later, in order with handlers."""

import asyncio
from collections.abc import Callable

import pytest
from tornado.web import RequestHandler

from tests.http.exchange_record import LIMITS, Transport, render, turns
from tests.http.serving import application, client_of, get, post, serving
from tracker.http.connection import Connection
from tracker.http.fast_path import FastPathConnection
from tracker.http.server_state import ServerState


class Fallen(RequestHandler):
    def get(self) -> None:
        self.write("handler")

    post = get


APPLICATION = application((".*", Fallen))


def answer_of(text: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


class FastPath:
    """A fast path for GET of paths that begin with /fast.

    It answers /fast/later only in `answer`, and ends the connection after /fast/last.
    """

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.offered: list[bytes] = []

    def __call__(self, connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        self.offered.append(data[start:end])
        if not data.startswith(b"GET /fast", start):
            return False
        path = data[start:end].split(b" ")[1].decode()
        if path == "/fast/fails":
            raise RuntimeError("a fast path that fails")

        def answer() -> None:
            connection.answer(answer_of(path), path != "/fast/last")
            if path == "/fast/fails-late":
                raise RuntimeError("a fast path that fails when it has answered")

        if path == "/fast/later":
            self.waiting.append(answer)
        else:
            answer()
        return True

    def answer(self) -> None:
        self.waiting.pop(0)()


def connected() -> tuple[FastPath, Connection, Transport]:
    fast_path = FastPath()
    protocol = Connection(ServerState(APPLICATION, render, LIMITS, fast_path))
    transport = Transport()
    protocol.connection_made(transport)
    return fast_path, protocol, transport


async def test_answers_to_pipelined_requests_are_sent_together() -> None:
    _, protocol, transport = connected()
    protocol.data_received(get("/fast") * 10)
    assert transport.written == answer_of("/fast") * 10
    assert transport.writes == 1


async def test_the_fast_path_gets_exactly_the_head() -> None:
    fast_path, protocol, transport = connected()
    raw = get("/fast", "A: b\r\n")
    for at in range(len(raw)):
        assert fast_path.offered == []
        protocol.data_received(raw[at : at + 1])
    assert fast_path.offered == [raw]
    assert transport.written == answer_of("/fast")


async def test_a_body_is_not_offered_to_the_fast_path() -> None:
    fast_path, protocol, transport = connected()
    hidden = get("/fast/hidden")
    protocol.data_received(post(hidden) + get("/fast"))
    await turns(10)
    assert hidden not in fast_path.offered
    assert transport.written.endswith(answer_of("/fast"))


async def test_a_head_beyond_the_limit_is_not_offered_to_the_fast_path() -> None:
    fast_path, protocol, transport = connected()
    protocol.data_received(get("/fast", f"A: {'b' * LIMITS.head_bytes}\r\n"))
    assert fast_path.offered == []
    assert transport.written.startswith(b"HTTP/1.1 431 ")


async def test_fast_path_and_handlers_answer_in_the_order_of_the_requests() -> None:
    fast_path, protocol, transport = connected()
    protocol.data_received((get("/fast/later") + get("/other") + get("/fast")) * 3)
    for _ in range(3):
        fast_path.answer()
        await turns(8)
    bodies = [part.partition(b"\r\n\r\n")[2] for part in transport.written.split(b"HTTP/1.1 ")][1:]
    assert bodies == [b"/fast/later", b"handler", b"/fast"] * 3


async def test_requests_after_the_last_answer_are_dropped() -> None:
    fast_path, protocol, transport = connected()
    protocol.data_received(get("/fast/last") + get("/fast"))
    await turns()
    assert (transport.written, len(fast_path.offered)) == (answer_of("/fast/last"), 1)


async def test_an_answer_for_a_client_that_has_gone_is_dropped() -> None:
    fast_path, protocol, transport = connected()
    protocol.data_received(get("/fast/later") + get("/fast"))
    protocol.connection_lost(None)
    assert protocol.is_closing()
    fast_path.answer()
    await turns()
    assert (transport.written, len(fast_path.offered)) == (b"", 1)


async def test_a_server_that_is_ending_does_not_use_the_fast_path() -> None:
    fast_path = FastPath()
    async with (
        serving(APPLICATION, fast_path=fast_path) as (server, port),
        client_of(port) as client,
    ):
        client.send(get("/fast"))
        assert (await client.answer()).body == b"/fast"
        server.stop()
        finishing = asyncio.create_task(server.finish(3600, 3600))
        await asyncio.sleep(0)
        client.send(get("/fast"))
        answer = await client.answer()
        assert (answer.body, answer.all_of("Connection")) == (b"handler", ["close"])
        await finishing


async def test_the_fast_path_does_not_get_the_empty_lines_before_a_request() -> None:
    fast_path, protocol, _ = connected()
    protocol.data_received(b"\r\n\r\n")
    protocol.data_received(get("/fast"))
    protocol.data_received(b"\r\n\r\n" + get("/fast"))
    assert fast_path.offered == [get("/fast")] * 2


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("path", ["/fast/fails", "/fast/fails-late"])
async def test_a_failing_fast_path_gives_one_answer_and_ends_the_connection(
    path: str, together: bool
) -> None:
    _, protocol, transport = connected()
    for raw in [get(path) + get("/fast")] if together else [get(path), get("/fast")]:
        protocol.data_received(raw)
    await turns()
    assert transport.written.count(b"HTTP/1.1 ") == 1
    assert transport.ended


async def test_a_client_that_ends_its_side_gets_the_answers_to_its_earlier_requests() -> None:
    fast_path, protocol, transport = connected()
    protocol.data_received(get("/fast/later") + get("/fast"))
    fast_path.answer()
    assert protocol.eof_received()
    await turns()
    assert transport.written == answer_of("/fast/later") + answer_of("/fast")
    assert transport.ended


async def test_a_connection_whose_fast_path_never_answers_is_cut() -> None:
    _, protocol, transport = connected()
    protocol.data_received(get("/fast/later"))
    protocol._state.now += LIMITS.fast_path_seconds + 2 * LIMITS.sweep_seconds
    protocol.check()
    assert transport.ended
