"""The life of a process: cases that would take a whole process too long to show."""

import asyncio

import pytest

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
