"""The client of `make chaos`: what it writes down as answered, cut or refused."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

from scripts.chaos.ledger import Ledger
from scripts.chaos.load import Load
from scripts.chaos.scene import Place, Scene
from tracker.db.child import free_port

SCENE = Scene(UUID(int=1), "key", [Place("one", "")], ["pbk"], {})
CLICK_ID = UUID(int=7)
REDIRECT = (
    "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n"
    f"Location: https://shop.test/?a=1&click_id={CLICK_ID}\r\n\r\n"
).encode()
JSON = b'{"success": true, "eventId": 12, "clickStatus": "pending"}'
RECORDED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(JSON), JSON)
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\n{}"
Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[int]:
    """Its port. `answer` gets the head of each request."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if head.startswith(b"POST"):
                    length = head.rpartition(b"Content-Length: ")[2].partition(b"\r\n")[0]
                    await reader.readexactly(int(length))
                await answer(head, writer)
        except (EOFError, OSError):
            return
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()


async def loaded(port: int, done: Callable[[Ledger], bool]) -> Ledger:
    """What is written down when it is `done`."""
    ledger, stop = Ledger(), asyncio.Event()
    running = asyncio.create_task(Load(SCENE, port, ledger, seed=1, rate=500).run(stop))
    while not done(ledger):
        await asyncio.sleep(0.01)
    stop.set()
    await running
    return ledger


async def test_answers_are_written_down_with_their_ids() -> None:
    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(RECORDED if b"/api/event" in head else REDIRECT)

    async with server(answer) as port:
        ledger = await loaded(port, lambda ledger: len(ledger.events) > 3)
    assert set(ledger.clicks.values()) == {CLICK_ID}
    assert {one.event_id for one in ledger.events} == {12}
    assert ledger.pending == len(ledger.events)
    assert len(ledger.waits) == ledger.answered
    assert (ledger.cut, ledger.refused, dict(ledger.others)) == (set(), 0, {})


async def test_a_request_whose_connection_breaks_is_cut_and_not_sent_again() -> None:
    heads: list[bytes] = []

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        writer.write(REDIRECT[:40])
        writer.close()

    async with server(answer) as port:
        ledger = await loaded(port, lambda ledger: len(ledger.cut) > 5)
    assert ledger.answered == 0
    assert len(heads) == len(set(heads)) == len(ledger.cut)


async def test_where_nobody_listens_nothing_is_sent() -> None:
    ledger = await loaded(free_port(), lambda ledger: ledger.refused > 5)
    assert (ledger.answered, ledger.cut, ledger.waits) == (0, set(), [])


async def test_other_answers_are_counted_by_kind_and_status() -> None:
    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(BUSY if b"/api/event" in head else REDIRECT.replace(b"click_id", b"other"))

    async with server(answer) as port:
        ledger = await loaded(port, lambda ledger: len(ledger.others) == 2)
    assert set(ledger.others) == {"click 302", "event 503"}
    assert ledger.answered == 0
