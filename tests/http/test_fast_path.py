"""The lane: sees whole heads first, answers now or later, in turn with everything else."""

import asyncio
import logging
from collections.abc import Callable

import pytest
from tornado.web import RequestHandler

from tests.http.exchange_record import LIMITS, Transport, render, statuses_of, turns
from tests.http.serving import application, client_of, get, post, serving, until
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
    """Takes GET of what begins with /lane. Answers at once, or when told to for /lane/later; ends
    the connection for /lane/last."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.offered: list[bytes] = []

    def __call__(self, connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        self.offered.append(data[start:end])
        if not data.startswith(b"GET /lane", start):
            return False
        path = data[start:end].split(b" ")[1].decode()
        if path == "/lane/fails":
            raise RuntimeError("a lane that fails")

        def answer() -> None:
            connection.answer(answer_of(path), path != "/lane/last")
            if path == "/lane/fails-late":
                raise RuntimeError("a lane that fails when it has answered")

        if path == "/lane/later":
            self.waiting.append(answer)
        else:
            answer()
        return True

    def answer(self) -> None:
        self.waiting.pop(0)()


def connected() -> tuple[FastPath, Connection, Transport]:
    lane = FastPath()
    protocol = Connection(ServerState(APPLICATION, render, LIMITS, lane))
    transport = Transport()
    protocol.connection_made(transport)
    return lane, protocol, transport


async def test_what_the_lane_takes_is_answered_before_anything_else_runs() -> None:
    _, protocol, transport = connected()
    protocol.data_received(get("/lane"))
    assert transport.written == answer_of("/lane")


async def test_pipelined_answers_go_out_together() -> None:
    _, protocol, transport = connected()
    protocol.data_received(get("/lane") * 10)
    assert transport.written == answer_of("/lane") * 10
    assert transport.writes == 1


async def test_many_at_once_do_not_pile_up() -> None:
    _, protocol, transport = connected()
    protocol.data_received(get("/lane") * 5000)
    assert transport.written == answer_of("/lane") * 5000


async def test_the_lane_sees_the_whole_head_and_nothing_before_it() -> None:
    lane, protocol, transport = connected()
    raw = get("/lane", "A: b\r\n")
    for at in range(len(raw)):
        assert lane.offered == []
        protocol.data_received(raw[at : at + 1])
    assert lane.offered == [raw]
    assert transport.written == answer_of("/lane")


async def test_empty_lines_before_a_request_are_not_for_the_lane() -> None:
    lane, protocol, _ = connected()
    protocol.data_received(b"\r\n\r\n" + get("/lane"))
    assert lane.offered == [get("/lane")]


async def test_what_the_lane_leaves_is_for_the_handlers() -> None:
    _, protocol, transport = connected()
    protocol.data_received(get("/other"))
    await turns()
    assert transport.written.endswith(b"\r\n\r\nhandler")


async def test_a_body_is_not_offered() -> None:
    lane, protocol, transport = connected()
    hidden = get("/lane/hidden")
    protocol.data_received(post(hidden) + get("/lane"))
    await turns(10)
    assert hidden not in lane.offered
    assert transport.written.endswith(answer_of("/lane"))


async def test_a_head_beyond_the_limit_is_not_offered() -> None:
    lane, protocol, transport = connected()
    protocol.data_received(get("/lane", f"A: {'b' * LIMITS.head_bytes}\r\n"))
    assert lane.offered == []
    assert transport.written.startswith(b"HTTP/1.1 431 ")


async def test_the_next_request_waits_until_the_lane_has_answered() -> None:
    lane, protocol, transport = connected()
    protocol.data_received(get("/lane/later") + get("/lane"))
    assert (transport.written, len(lane.offered)) == (b"", 1)
    lane.answer()
    await turns()
    assert transport.written == answer_of("/lane/later") + answer_of("/lane")


async def test_lane_and_handlers_answer_in_the_order_of_the_requests() -> None:
    lane, protocol, transport = connected()
    protocol.data_received((get("/lane/later") + get("/other") + get("/lane")) * 3)
    for _ in range(3):
        lane.answer()
        await turns(8)
    bodies = [part.partition(b"\r\n\r\n")[2] for part in transport.written.split(b"HTTP/1.1 ")][1:]
    assert bodies == [b"/lane/later", b"handler", b"/lane"] * 3


async def test_a_lane_may_end_the_connection() -> None:
    _, protocol, transport = connected()
    protocol.data_received(get("/lane/last"))
    assert (transport.written, transport.ended) == (answer_of("/lane/last"), True)


async def test_what_follows_the_end_is_dropped() -> None:
    lane, protocol, transport = connected()
    protocol.data_received(get("/lane/last") + get("/lane"))
    await turns()
    assert (transport.written, len(lane.offered)) == (answer_of("/lane/last"), 1)


async def test_an_answer_for_a_client_that_has_gone_goes_nowhere() -> None:
    lane, protocol, transport = connected()
    protocol.data_received(get("/lane/later") + get("/lane"))
    protocol.connection_lost(None)
    assert protocol.is_closing()
    lane.answer()
    await turns()
    assert (transport.written, len(lane.offered)) == (b"", 1)


async def test_a_lane_that_fails_is_answered_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    _, protocol, transport = connected()
    protocol.data_received(get("/lane") + get("/lane/fails"))
    assert statuses_of(transport.written, ["GET", "GET"]) == (200, 500)
    assert transport.ended


async def test_a_client_that_has_sent_all_it_will_still_gets_the_answer_of_the_lane() -> None:
    lane = FastPath()
    async with serving(APPLICATION, lane=lane) as (_, port), client_of(port) as client:
        client.send(get("/lane/later") + get("/lane"))
        client.writer.write_eof()
        await until(lambda: bool(lane.waiting))
        await asyncio.sleep(0.02)
        lane.answer()
        assert await client.rest() == answer_of("/lane/later") + answer_of("/lane")


async def test_a_lane_knows_its_peer() -> None:
    peers: list[str] = []

    def lane(connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        peers.append(connection.peer)
        return False

    async with serving(APPLICATION, lane=lane) as (_, port), client_of(port) as client:
        client.send(get())
        await client.answer()
    assert peers == ["127.0.0.1"]


async def test_a_server_that_ends_passes_over_the_lane() -> None:
    lane = FastPath()
    async with serving(APPLICATION, lane=lane) as (server, port), client_of(port) as client:
        client.send(get("/lane"))
        assert (await client.answer()).body == b"/lane"
        server.stop()
        finishing = asyncio.create_task(server.finish(5, 0.2))
        await asyncio.sleep(0)
        client.send(get("/lane"))
        answer = await client.answer()
        assert (answer.body, answer.all_of("Connection")) == (b"handler", ["close"])
        await finishing


@pytest.mark.parametrize("size", [1, 3, 4, 10, len(get("/lane")) - 1])
async def test_what_is_not_a_whole_head_is_not_offered(size: int) -> None:
    lane, protocol, transport = connected()
    protocol.data_received(get("/lane")[:size])
    assert (lane.offered, transport.written) == ([], b"")
    protocol.data_received(get("/lane")[size:])
    assert lane.offered == [get("/lane")]
    assert transport.written == answer_of("/lane")


async def test_an_empty_line_before_it_does_not_keep_a_request_from_the_lane() -> None:
    lane, protocol, _ = connected()
    protocol.data_received(b"\r\n\r\n")
    protocol.data_received(get("/lane"))
    assert lane.offered == [get("/lane")]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("path", ["/lane/fails", "/lane/fails-late"])
async def test_a_lane_that_fails_gives_one_answer_and_ends_the_connection(
    path: str, together: bool
) -> None:
    _, protocol, transport = connected()
    for raw in [get(path) + get("/lane")] if together else [get(path), get("/lane")]:
        protocol.data_received(raw)
    await turns()
    assert transport.written.count(b"HTTP/1.1 ") == 1
    assert transport.ended


async def test_a_client_that_ends_its_side_gets_what_it_had_asked_for_before() -> None:
    lane, protocol, transport = connected()
    protocol.data_received(get("/lane/later") + get("/lane"))
    lane.answer()
    assert protocol.eof_received()
    await turns()
    assert transport.written == answer_of("/lane/later") + answer_of("/lane")
    assert transport.ended


async def test_an_answer_that_never_comes_is_not_awaited_for_ever() -> None:
    _, protocol, transport = connected()
    protocol.data_received(get("/lane/later"))
    protocol._state.now += LIMITS.fast_path_seconds + 2 * LIMITS.sweep_seconds
    protocol.check()
    assert transport.ended
