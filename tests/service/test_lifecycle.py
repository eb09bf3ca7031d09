"""The life of a process, where a whole process would take too long to show it."""

import asyncio

import pytest

from tracker.ingest.consumer import Consumer
from tracker.service import lifecycle
from tracker.service.services import Services


async def test_a_start_does_not_wait_for_an_index_that_takes_long(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def prepare() -> None:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(services, "prepare", prepare)
    monkeypatch.setattr(lifecycle, "PREPARE_SECONDS", 0.05)
    await asyncio.wait_for(lifecycle._prepare(services), 5)
    assert asked.is_set()


async def test_a_drain_that_fails_now_and_then_goes_on(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, again = Consumer.run, asyncio.Event()

    async def fail(self: Consumer, stop: asyncio.Event) -> None:
        monkeypatch.setattr(Consumer, "run", go_on)
        raise RuntimeError("the handler is closed")

    async def go_on(self: Consumer, stop: asyncio.Event) -> None:
        again.set()
        await runs(self, stop)

    monkeypatch.setattr(Consumer, "run", fail)
    async with lifecycle._draining(services):
        await asyncio.wait_for(again.wait(), 10)
        assert services.loops.down == ["drain (RuntimeError)"]
    services.loops.check()
