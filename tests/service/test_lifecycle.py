"""The life of a process: cases that would take a whole process too long to show."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from config.settings import Settings
from tests.waiting import PATIENCE_SECONDS
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
    monkeypatch.setattr(lifecycle, "PREPARE_TIMEOUT_SECONDS", 0.05)
    await asyncio.wait_for(lifecycle._prepare(services), PATIENCE_SECONDS)
    assert asked.is_set()


async def test_the_first_visitor_does_not_wait_for_the_garbage_collection_of_the_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    stop = lifecycle._StopSignals(asyncio.Event(), asyncio.Event())
    stop.receive()

    @asynccontextmanager
    async def serve_requests(*_: object) -> AsyncIterator[None]:
        steps.append("requests are answered")
        yield

    async def announce(_: Services) -> None:
        pass

    monkeypatch.setattr(lifecycle, "_stop_signals", lambda: stop)
    monkeypatch.setattr(gc, "freeze", lambda: steps.append("garbage is collected"))
    monkeypatch.setattr(lifecycle, "serve_requests", serve_requests)
    monkeypatch.setattr(gc, "set_threshold", lambda _: None)
    await asyncio.wait_for(
        lifecycle.serve(settings, [], announce, draining=False), PATIENCE_SECONDS
    )
    assert steps == ["garbage is collected", "requests are answered"]
