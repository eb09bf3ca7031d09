"""The life of a process, where a whole process would take too long to show it."""

import asyncio
import signal

import pytest

from tracker import server
from tracker.ingest.consumer import Consumer
from tracker.services import Services


async def test_a_start_does_not_wait_for_an_index_that_takes_long(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def prepare() -> None:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(services, "prepare", prepare)
    monkeypatch.setattr(server, "PREPARE_SECONDS", 0.05)
    await asyncio.wait_for(server._prepare(services), 5)
    assert asked.is_set()


async def test_a_drain_that_ends_by_an_error_stops_its_process(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(self: Consumer, stop: asyncio.Event) -> None:
        raise RuntimeError("it should never have ended")

    monkeypatch.setattr(Consumer, "run", fail)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    try:
        async with server._draining(services):
            await asyncio.wait_for(stopped.wait(), 5)
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
