"""A server that ends answers requests in flight, closes idle connections and cuts the rest."""

import asyncio
import time

import pytest
from tornado.web import RequestHandler

from tests.http.serving import application, client_of, get, post, serving
from tests.waiting import PATIENCE_SECONDS, eventually

QUIET = 0.2


class Gated(RequestHandler):
    gate: asyncio.Event
    asked = 0
    gone = 0

    async def get(self) -> None:
        Gated.asked += 1
        await Gated.gate.wait()
        self.write("answered")

    def post(self) -> None:
        self.write(self.request.body)

    def on_connection_close(self) -> None:
        Gated.gone += 1


class Plain(RequestHandler):
    def get(self) -> None:
        self.write("plain")


APPLICATION = application(("/", Gated), ("/plain", Plain))


@pytest.fixture(autouse=True)
def closed_gate() -> None:
    Gated.gate = asyncio.Event()
    Gated.asked = Gated.gone = 0


async def test_a_stopped_server_accepts_no_connections_and_serves_the_open_ones() -> None:
    async with serving(APPLICATION) as (server, port), client_of(port) as client:
        client.send(get("/plain"))
        await client.answer()
        server.stop()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        client.send(get("/plain"))
        answer = await client.answer()
        assert (answer.body, answer.all_of("Connection")) == (b"plain", [])


async def test_a_request_in_flight_at_the_end_is_answered_and_its_connection_closed() -> None:
    async with serving(APPLICATION) as (server, port), client_of(port) as client:
        client.send(get())
        await eventually(lambda: Gated.asked == 1)
        server.stop()
        finishing = asyncio.create_task(server.finish(3600, QUIET))
        await asyncio.sleep(2 * QUIET)
        assert not finishing.done()
        Gated.gate.set()
        answer = await client.answer()
        assert (answer.body, answer.all_of("Connection")) == (b"answered", ["close"])
        assert await client.rest() == b""
        await finishing
        assert (server.connections, Gated.gone) == (0, 0)


async def test_an_idle_connection_is_closed_after_a_quiet_time() -> None:
    async with serving(APPLICATION) as (server, port), client_of(port) as client:
        client.send(get("/plain"))
        await client.answer()
        server.stop()
        began = time.monotonic()
        await asyncio.wait_for(server.finish(3600, QUIET), PATIENCE_SECONDS)
        assert time.monotonic() - began >= QUIET * 0.9
        assert await client.rest() == b""


async def test_a_request_that_is_still_being_sent_is_awaited() -> None:
    async with serving(APPLICATION) as (server, port), client_of(port) as client:
        raw = post(b"abc")
        client.send(raw[:20])
        await eventually(lambda: server.connections == 1)
        server.stop()
        finishing = asyncio.create_task(server.finish(3600, QUIET))
        await asyncio.sleep(3 * QUIET)
        client.send(raw[20:])
        assert (await client.answer()).body == b"abc"
        await finishing


async def test_a_request_that_takes_too_long_at_the_end_is_cut_and_its_handler_notified() -> None:
    async with serving(APPLICATION) as (server, port), client_of(port) as client:
        client.send(get())
        await eventually(lambda: Gated.asked == 1)
        server.stop()
        began = time.monotonic()
        await asyncio.wait_for(server.finish(QUIET, 3600), PATIENCE_SECONDS)
        assert time.monotonic() - began >= QUIET * 0.9
        assert (server.connections, Gated.gone) == (0, 1)
        assert await client.rest() == b""
        Gated.gate.set()
        await asyncio.sleep(0)
