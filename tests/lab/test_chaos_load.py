"""The client of `make chaos`: what it writes down as answered, cut or refused."""

import asyncio
from collections.abc import Callable
from uuid import UUID

from lab.chaos.ledger import Ledger
from lab.chaos.load import Load
from lab.chaos.scene import Place, Scene
from tests.scripts.answering import BUSY, CLICK_ID, REDIRECT, answering
from tracker.builtin.child import free_port

SCENE = Scene(UUID(int=1), "key", [Place("one", "")], ["pbk"], {})
JSON = b'{"success": true, "eventId": 12, "clickStatus": "pending"}'
RECORDED = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(JSON), JSON)


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


async def test_where_nobody_listens_nothing_is_sent() -> None:
    ledger = await loaded(free_port(), lambda ledger: ledger.refused > 5)
    assert (ledger.answered, ledger.cut, ledger.waits) == (0, set(), [])


async def test_other_answers_are_counted_by_kind_and_status() -> None:
    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(BUSY if b"/api/event" in head else REDIRECT.replace(b"click_id", b"other"))

    async with answering(answer) as port:
        ledger = await loaded(port, lambda ledger: len(ledger.others) == 2)
    assert set(ledger.others) == {"click 302", "event 503"}
    assert ledger.answered == 0
