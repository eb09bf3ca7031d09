"""`/metrics`: the process's metrics, the backlog of journal and webhooks, dead letters."""

import asyncio
import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from pymongo.errors import PyMongoError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker import metrics
from tracker.clock import now
from tracker.ingest.drain_counters import families
from tracker.journal.backlog import Backlog
from tracker.journal.dead_letters import count_letters
from tracker.service.services import Services
from tracker.stores.redis.keys import DRAIN_COUNTER_SUMS
from tracker.web.handler import Handler
from tracker.web.operator_routes import operator_routes, text_response
from tracker.webhooks.deliveries import Deliveries

_PROBE_TIMEOUT_SECONDS: Final = 0.5
"""A scrape waits no longer for a store."""


class Metrics(Handler):
    """The handler of `/metrics`. It also answers while a store is unavailable."""

    async def get(self) -> None:
        """Answer with every metric. A gauge whose store is unavailable is NaN."""
        services = cast(Services, self.process)
        backlog, deliveries = await asyncio.gather(
            _backlog(services.stores.redis), _due_deliveries(services.webhooks.deliveries)
        )
        metrics.DELIVERIES_DUE.set(deliveries.due)
        metrics.DELIVERIES_AGE.set(deliveries.seconds)
        metrics.JOURNAL_DEPTH.set(backlog.entries)
        metrics.JOURNAL_AGE.set(backlog.seconds)
        metrics.DEAD_LETTER_ENTRIES.set(backlog.dead_letters)
        self.set_header("Content-Type", metrics.CONTENT_TYPE)
        self.finish(metrics.exposition(families(backlog.drain_sums, self.settings["drain_loops"])))

    head = get


class _Backlog(NamedTuple):
    """The journal's entries, age in seconds and dead letters: NaN if Redis is unavailable.

    `drain_sums` are the counters of all drains (`ingest/drain_counters`), or None.
    """

    entries: float = math.nan
    seconds: float = math.nan
    dead_letters: float = math.nan
    drain_sums: Mapping[Any, Any] | None = None


async def _backlog(redis: Redis) -> _Backlog:
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT_SECONDS):
            waiting = await Backlog(redis).measure()
            dead_letters = await count_letters(redis)
            drain_sums: Any = await redis.hgetall(DRAIN_COUNTER_SUMS)
    except (RedisError, TimeoutError):
        return _Backlog()
    return _Backlog(waiting.entries, waiting.oldest_ms / 1000, dead_letters, drain_sums)


class _DueDeliveries(NamedTuple):
    """The number of due deliveries and the age of the oldest in seconds; NaN without MongoDB."""

    due: float = math.nan
    seconds: float = math.nan


async def _due_deliveries(deliveries: Deliveries) -> _DueDeliveries:
    at = now()
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT_SECONDS):
            due, oldest = await deliveries.backlog(at)
    except (PyMongoError, TimeoutError):
        return _DueDeliveries()
    return _DueDeliveries(due, (at - oldest).total_seconds() if oldest else 0.0)


ENDPOINTS = operator_routes(
    "/metrics",
    Metrics,
    "getMetrics",
    "Counters and gauges for Prometheus",
    {200: text_response("Text format 0.0.4.", "text/plain")},
)
