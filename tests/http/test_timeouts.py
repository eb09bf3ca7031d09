"""Slow clients are closed in time, and delay nobody."""

import asyncio
from typing import cast

import pytest
from tornado.web import RequestHandler

from tests.http.server_clock import ServerClock
from tests.http.serving import application, client_of, get, post, serving
from tests.waiting import PATIENCE_SECONDS, eventually
from tracker import metrics
from tracker.http.connection import Connection
from tracker.http.limits import Limits
from tracker.http.phase import BODY, HEAD
from tracker.http.server import Server

LIMIT_SECONDS = 0.2
LIMITS = Limits(
    head_seconds=LIMIT_SECONDS,
    body_seconds=LIMIT_SECONDS,
    idle_seconds=2 * LIMIT_SECONDS,
    stalled_seconds=LIMIT_SECONDS,
    linger_seconds=LIMIT_SECONDS,
)


class Plain(RequestHandler):
    def get(self) -> None:
        self.write("plain")

    def post(self) -> None:
        self.write(self.request.body)


class Gated(RequestHandler):
    asked: asyncio.Event
    gate: asyncio.Event

    async def get(self) -> None:
        Gated.asked.set()
        await Gated.gate.wait()
        self.write("gated")


APPLICATION = application(("/", Plain), ("/gated", Gated))


@pytest.fixture(autouse=True)
def closed_gate() -> None:
    Gated.asked, Gated.gate = asyncio.Event(), asyncio.Event()


async def comes_to(server: Server, phase: int) -> None:
    """Wait until the server has received a part of this phase of its only connection."""

    def has_come() -> object:
        [one] = server._state.connections or [None]
        return isinstance(one, Connection) and one.phase == phase and (phase != HEAD or one.buffer)

    await eventually(has_come)


async def end_after(server: Server, clock: ServerClock, seconds: float) -> None:
    """Check that the only connection stays during `seconds`, and have it end after them."""
    await clock.pass_seconds(seconds)
    assert server.connections == 1
    await clock.pass_seconds(seconds)


async def test_a_client_that_sends_nothing_is_closed_without_an_answer() -> None:
    async with serving(APPLICATION, LIMITS) as (server, port), client_of(port) as client:
        clock = ServerClock(server)
        await eventually(lambda: server.connections == 1)
        await end_after(server, clock, LIMIT_SECONDS)
        assert await client.rest() == b""


class Broken:
    """A connection whose check fails, as uvloop's may once the other end has gone."""

    aborted = 0

    def check(self) -> None:
        raise RuntimeError("the handler is closed")

    def abort(self) -> None:
        self.aborted += 1


async def test_a_connection_whose_check_fails_is_cut_and_the_others_are_checked() -> None:
    before = metrics.LOOP_FAILURES.labels("sweep")._value.get()
    async with serving(APPLICATION, LIMITS) as (server, port), client_of(port) as client:
        broken = Broken()
        server._state.add(broken)
        assert await client.rest() == b""
        server._state.remove(broken)
        assert metrics.LOOP_FAILURES.labels("sweep")._value.get() > before
        assert broken.aborted


@pytest.mark.parametrize(
    "sent", [b"G", b"GET / HTTP/1.1\r\n", get()[:-1], b"\r", post(b"abc")[:-1]]
)
async def test_an_incomplete_head_or_body_is_answered_with_408(sent: bytes) -> None:
    async with serving(APPLICATION, LIMITS) as (server, port), client_of(port) as client:
        clock = ServerClock(server)
        client.send(sent)
        await comes_to(server, BODY if sent.startswith(b"POST") else HEAD)
        await end_after(server, clock, LIMIT_SECONDS)
        expected = b"HTTP/1.1 408 Request Timeout\r\nX-Error-Code: request_timeout\r\n"
        assert (await client.rest()).startswith(expected)


async def test_a_head_that_arrives_byte_by_byte_is_limited_as_a_whole() -> None:
    async with serving(APPLICATION, LIMITS) as (server, port), client_of(port) as client:
        clock = ServerClock(server)
        client.send(b"G")
        await comes_to(server, HEAD)
        [connection] = server._state.connections
        for byte in get()[1:-1]:
            if cast(Connection, connection).phase != HEAD:
                break
            client.send(bytes([byte]))
            await clock.pass_seconds(LIMIT_SECONDS / 8)
        assert (await client.rest()).startswith(b"HTTP/1.1 408 ")


async def test_a_connection_with_another_request_in_time_is_kept() -> None:
    limits = Limits(idle_seconds=10.0, stalled_seconds=LIMIT_SECONDS)
    async with serving(APPLICATION, limits) as (server, port), client_of(port) as client:
        clock = ServerClock(server)
        for _ in range(5):
            client.send(get())
            assert (await client.answer()).status == 200
            await clock.pass_seconds(9.0)
        await clock.pass_seconds(20.0)
        assert await client.rest() == b""


async def test_a_handler_may_take_its_time() -> None:
    async with serving(APPLICATION, LIMITS) as (server, port), client_of(port) as client:
        clock = ServerClock(server)
        client.send(get("/gated"))
        await asyncio.wait_for(Gated.asked.wait(), PATIENCE_SECONDS)
        await clock.pass_seconds(10 * LIMIT_SECONDS)
        Gated.gate.set()
        assert (await client.answer()).body == b"gated"


async def test_empty_lines_do_not_keep_a_connection_open() -> None:
    async with serving(APPLICATION, LIMITS) as (_, port), client_of(port) as client:
        rest = asyncio.ensure_future(client.rest())
        while not rest.done():
            client.send(b"\r\n")
            await asyncio.sleep(LIMIT_SECONDS / 2)
        assert await rest == b""
