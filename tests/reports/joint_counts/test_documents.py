"""Documents are counted in a thread, and nothing is left of that if a read fails."""

import asyncio
import threading
from collections.abc import Callable
from datetime import date
from typing import Any
from uuid import UUID

import pytest
from pymongo.errors import ConnectionFailure

from tracker.calendar import DEFAULT_ZONE, calendar_of
from tracker.clock import now
from tracker.reports.columns import Columns, empty
from tracker.reports.joint_counts import documents
from tracker.reports.joint_counts.documents import DocumentScans
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.joint_counts.scope import ReportScope
from tracker.reports.periods import day_period
from tracker.service.services import Services

pytestmark = pytest.mark.redis


async def test_a_failed_read_leaves_no_counting_behind(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_released = threading.Event()
    reads = 0

    async def read(*_: Any) -> Callable[[], Columns]:
        nonlocal reads
        reads += 1
        if reads > 1:
            raise ConnectionFailure("lost")

        def table() -> Columns:
            is_released.wait()
            return empty(["country"])

        return table

    async def before_counting() -> None:
        pass

    monkeypatch.setattr(documents, "read", read)
    calendar = calendar_of(DEFAULT_ZONE)
    scope = ReportScope(UUID(int=1), calendar)
    mongodb = services.stores.mongodb
    run = ReportRun(mongodb.database, mongodb.reads, scope, now(), before_counting)
    days = [day_period(calendar, date(2026, 1, day)) for day in (1, 2)]
    before = asyncio.all_tasks()
    try:
        with pytest.raises(ConnectionFailure):
            await DocumentScans(run, scope).count_each(
                "clicks", ["country"], dict.fromkeys(days, 1)
            )
        assert asyncio.all_tasks() <= before
    finally:
        is_released.set()
