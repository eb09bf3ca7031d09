"""The load of `make chaos`: what its ledger has as answered, cut or refused."""

import asyncio
import time
from collections.abc import Callable
from uuid import UUID

from lab.chaos.traffic import CONNECTIONS, Ledger, run_load
from lab.scene import Place, Scene
from tests.lab.answering import BUSY, CLICK_ID, REDIRECT, answering
from tests.waiting import eventually

SCENE = Scene(UUID(int=1), "key", [Place("one")], ["pbk"], {})
JSON = b'{"success": true, "eventId": 12, "clickStatus": "pending"}'
RECORDED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(JSON), JSON)


async def loaded(port: int, done: Callable[[Ledger], bool]) -> Ledger:
    """Return the ledger of a load that is stopped when it is `done`."""
    ledger, stop = Ledger(), asyncio.Event()
    running = asyncio.create_task(run_load(SCENE, port, ledger, 1, 500, stop))
    await eventually(lambda: done(ledger))
    stop.set()
    await running
    return ledger


async def test_answers_are_written_down_with_their_ids() -> None:
    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(RECORDED if b"/api/event" in head else REDIRECT)

    async with answering(answer) as port:
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

    async with answering(answer) as port:
        ledger = await loaded(port, lambda ledger: len(ledger.cut) > 5)
    assert ledger.answered == 0
    assert len(heads) == len(set(heads)) == len(ledger.cut)


async def test_a_service_that_no_longer_listens_is_sent_nothing() -> None:
    connections: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        if len(connections) == CONNECTIONS:
            listener.close()
            for one in connections:
                one.transport.abort()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    end = time.monotonic() + 0.5
    ledger = await loaded(port, lambda ledger: time.monotonic() > end)
    assert (ledger.answered, ledger.waits) == (0, [])
    assert len(ledger.cut) <= CONNECTIONS
    assert ledger.refused > 5


async def test_other_answers_are_counted_by_kind_and_status() -> None:
    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(BUSY if b"/api/event" in head else REDIRECT.replace(b"click_id", b"other"))

    async with answering(answer) as port:
        ledger = await loaded(port, lambda ledger: len(ledger.others) == 2)
    assert set(ledger.others) == {"click 302", "event 503"}
    assert ledger.answered == 0
