"""Neither slow readers nor fast senders make the server keep more than its limits."""

import asyncio
import socket

from tornado.iostream import StreamClosedError
from tornado.web import RequestHandler, stream_request_body

from tests.http.exchange_record import Transport, render
from tests.http.server_clock import ServerClock
from tests.http.serving import application, client_of, get, post, serving
from tests.waiting import PATIENCE_SECONDS, eventually
from tracker.http.connection import Connection
from tracker.http.fast_path import FastPathConnection
from tracker.http.limits import Limits
from tracker.http.server_state import ServerState

PIECE = b"x" * 100_000
MANY = 200
RECEIVE_BYTES = 16_384


class Large(RequestHandler):
    """A handler that writes 20 MB in pieces."""

    written = 0
    ended = ""

    async def get(self) -> None:
        Large.written, Large.ended = 0, ""
        try:
            for _ in range(MANY):
                self.write(PIECE)
                await self.flush()
                Large.written += len(PIECE)
            Large.ended = "finished"
        except StreamClosedError:
            Large.ended = "cut"


async def test_a_handler_waits_for_a_slow_reader() -> None:
    async with (
        serving(application(("/", Large))) as (_, port),
        client_of(port, receive_bytes=RECEIVE_BYTES) as client,
    ):
        client.send(get())
        await eventually(lambda: Large.written > 0)
        before = -1
        while before != Large.written:
            before = Large.written
            await asyncio.sleep(0.2)
        # As much as the kernel takes, and one piece.
        assert Large.written < 10_000_000
        assert len((await client.answer()).body) == MANY * len(PIECE)
        assert Large.ended == "finished"


async def test_a_client_that_reads_nothing_of_a_stream_is_cut() -> None:
    limits = Limits(stalled_seconds=0.2)
    async with (
        serving(application(("/", Large)), limits) as (server, port),
        client_of(port, receive_bytes=RECEIVE_BYTES) as client,
    ):
        client.send(get())
        await eventually(lambda: Large.ended == "cut")
        await eventually(lambda: not server.connections)
        assert len(await client.rest()) < 10_000_000


async def test_a_client_that_reads_nothing_of_a_whole_answer_is_cut() -> None:
    written = asyncio.Event()

    class Whole(RequestHandler):
        def get(self) -> None:
            self.write(PIECE * MANY)
            written.set()

    limits = Limits(stalled_seconds=0.2)
    for fields in ("", "Connection: close\r\n"):
        async with (
            serving(application(("/", Whole)), limits) as (server, port),
            client_of(port, receive_bytes=RECEIVE_BYTES) as client,
        ):
            written.clear()
            client.send(get(fields=fields))
            await asyncio.wait_for(written.wait(), PATIENCE_SECONDS)
            await eventually(lambda: not server.connections)


async def test_a_client_that_reads_slowly_gets_the_whole_answer() -> None:
    limits = Limits(head_seconds=0.2, stalled_seconds=1.0)
    async with (
        serving(application(("/", Large)), limits) as (server, port),
        client_of(port, receive_bytes=RECEIVE_BYTES) as client,
    ):
        client.send(get(fields="Connection: close\r\n"))
        came, clock = 0, ServerClock(server)
        for _ in range(30):  # three times as long as a client may read nothing
            came += len(await client.read(300_000))
            await clock.pass_seconds(0.1)
        came += len(await client.rest())
        assert came > MANY * len(PIECE)


class Gated(RequestHandler):
    gate: asyncio.Event

    async def get(self) -> None:
        await Gated.gate.wait()


def stuff(sock: socket.socket, raw: bytes) -> int:
    """Send until the socket takes no more, and return the bytes sent."""
    taken = 0
    try:
        while taken < 50_000_000:
            taken += sock.send(raw)
    except BlockingIOError:
        pass
    return taken


async def stuffed(port: int, first: bytes, more: bytes) -> int:
    """Return the bytes that the server takes while it waits for a handler."""
    sock = socket.socket()
    sock.connect(("127.0.0.1", port))
    sock.setblocking(False)
    sock.send(first)
    taken = 0
    for _ in range(20):
        taken += stuff(sock, more)
        await asyncio.sleep(0.01)
    sock.close()
    return taken


async def test_reading_pauses_for_a_client_that_pipelines_too_much() -> None:
    Gated.gate = asyncio.Event()
    async with serving(application(("/", Gated))) as (_, port):
        assert await stuffed(port, get(), get() * 1000) < 20_000_000
        Gated.gate.set()


async def test_a_fast_sender_waits_for_a_slow_handler() -> None:
    gate = asyncio.Event()

    @stream_request_body
    class Slow(RequestHandler):
        async def data_received(self, chunk: bytes) -> None:
            await gate.wait()

        def post(self) -> None:
            pass

    limits = Limits(body_bytes=100_000_000)
    async with serving(application(("/", Slow)), limits) as (_, port):
        head = post(b"x" * 60_000_000)[:-60_000_000]
        assert await stuffed(port, head, PIECE) < 20_000_000
        gate.set()


def on_fast_path(raw: bytes) -> tuple[Connection, Transport]:
    """Return a connection that received `raw`, and whose fast path answers each request at once."""

    def fast_path(connection: FastPathConnection, data: bytes, start: int, end: int) -> bool:
        connection.answer(b"answer", True)
        return True

    protocol = Connection(ServerState(application(), render, Limits(), fast_path))
    transport = Transport()
    transport.pause_at = 300
    transport.protocol = protocol
    protocol.connection_made(transport)
    protocol.data_received(raw)
    return protocol, transport


async def test_the_fast_path_gets_no_requests_while_its_client_does_not_read() -> None:
    protocol, transport = on_fast_path(get() * 3000)
    # The client is known to be slow after the first write.
    assert transport.written.count(b"answer") == 64
    assert not transport.reading
    transport.pause_at = 10**9
    protocol.resume_writing()
    await asyncio.sleep(0)
    assert transport.written.count(b"answer") == 3000
    assert transport.reading
