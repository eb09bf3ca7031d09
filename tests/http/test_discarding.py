"""Refused clients that send on yield to others, and can still read their answer."""

import asyncio
import contextlib
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tornado.web import HTTPError, RequestHandler, stream_request_body

from tests.http.exchange_record import LIMITS
from tests.http.serving import application, serving
from tests.waiting import PATIENCE_SECONDS, eventually
from tracker.http import discarding
from tracker.http.discarding import TURN_SECONDS, DiscardQueue

MANY = 60
MEGABYTE = 1024 * 1024
PIECE = b"x" * 65_536


@stream_request_body
class Refusing(RequestHandler):
    def prepare(self) -> None:
        raise HTTPError(403)

    def data_received(self, chunk: bytes) -> None:
        raise AssertionError("nothing of a refused body is passed on")


class Clock:
    """A loop whose timers are called by hand."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def call_later(self, seconds: float, callback: Callable[[], None]) -> object:
        assert seconds == TURN_SECONDS
        self._calls.append(callback)
        return object()

    def tick(self) -> None:
        calls, self._calls = self._calls, []
        assert len(calls) <= 1
        for call in calls:
            call()


class Client:
    """A connection by name, which reads or does not."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reads = True

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


class Turns:
    """The turns of clients, whose address is the first letter of their name."""

    def __init__(self, names: str, counted_as: Callable[[str], str] = str) -> None:
        self._clock = Clock()
        self.discarding = DiscardQueue(self._clock, counted_as)  # type: ignore[arg-type]
        self.clients = [Client(name) for name in names.split()]
        for client in self.clients:
            self.discarding.add(client.name[0], client)

    def reading(self) -> str:
        return " ".join(client.name for client in self.clients if client.reads)

    def next(self, count: int) -> list[str]:
        """Return who reads in this turn and the next ones."""
        found = []
        for _ in range(count):
            found.append(self.reading())
            self._clock.tick()
        return found


def test_addresses_take_turns_and_so_do_the_connections_of_each() -> None:
    turns = Turns("a1 a2 a3 b1")
    assert turns.next(8) == ["a1", "b1", "a2", "b1", "a3", "b1", "a1", "b1"]


def test_one_alone_reads_on_until_another_comes() -> None:
    turns = Turns("a1")
    assert turns.next(3) == ["a1", "a1", "a1"]
    turns.clients[0].pause_reading()  # a piece came
    assert turns.next(2) == ["", "a1"]
    turns.clients.append(Client("b1"))
    turns.discarding.add("b", turns.clients[1])
    assert turns.next(4) == ["a1", "b1", "a1", "b1"]


def test_one_that_has_ended_has_no_more_turns() -> None:
    turns = Turns("a1 a2 b1")
    for client in (turns.clients[0], turns.clients[2]):
        turns.discarding.remove(client.name[0], client)
        client.pause_reading()
    assert turns.next(3) == ["", "a2", "a2"]
    for _ in range(2):
        turns.discarding.remove("a", turns.clients[1])
    turns.clients[1].pause_reading()
    assert turns.next(2) == ["", ""]
    turns.discarding.add("a", turns.clients[0])
    assert turns.next(1) == ["a1"]


def test_addresses_are_counted_as_for_connections() -> None:
    turns = Turns("a1 b1 c1", counted_as=lambda address: "" if address == "c" else "network")
    assert turns.next(5) == ["a1", "c1", "b1", "c1", "a1"]


async def send(port: int, host: str, size: int) -> bytes:
    """Send a whole body before anything is read; return the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(host, 0))
    try:
        writer.write(f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(size // len(PIECE)):
            writer.write(PIECE)
            await writer.drain()
        return await reader.read()
    finally:
        writer.close()


async def test_refused_clients_that_go_free_their_places_without_waiting_for_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def ask(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer

    monkeypatch.setattr(discarding, "TURN_SECONDS", 3600.0)
    limits = replace(LIMITS, linger_seconds=3600.0)
    async with serving(application(("/", Refusing)), limits) as (server, port):
        async with asyncio.timeout(PATIENCE_SECONDS):
            answers = await asyncio.gather(*[ask(port) for _ in range(MANY)])
            await eventually(lambda: not server._state.connections)
    assert all(answer.startswith(b"HTTP/1.1 403 ") for answer in answers)


async def test_a_refused_client_that_reads_last_gets_its_answer_beside_a_crowd() -> None:
    async def flood(port: int) -> None:
        with contextlib.suppress(OSError):
            await send(port, "127.0.0.3", 8 * MEGABYTE)

    async with serving(application(("/", Refusing))) as (_, port):
        others = [asyncio.create_task(flood(port)) for _ in range(MANY)]
        await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await send(port, "127.0.0.2", MEGABYTE)
        assert answer.startswith(b"HTTP/1.1 403 ")
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
