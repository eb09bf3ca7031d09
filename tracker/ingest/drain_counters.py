"""The counters of all drains, added up in Redis, so that every process can show them.

A drain may run where nobody can scrape it, such as a dyno without a port. The sums are for graphs
and alerts only: a crash loses some counts, and a lost answer of Redis doubles some.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import structlog
from prometheus_client import Counter as PrometheusCounter
from prometheus_client.metrics_core import Metric
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.loops import wait
from tracker.metrics import DRAIN_COUNTERS, LOOP_FAILURES
from tracker.stores.redis.keys import DRAIN_COUNTER_SUMS

log = structlog.get_logger(__name__)

PUBLISH_EVERY_SECONDS: Final = 5.0
"""Seconds between two publications: about a scrape of Prometheus."""


class CounterPublisher:
    """The publisher of one drain's counts. Earlier counts of the process are not published."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._published = _counted()

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await self.publish()
            await wait(stop, PUBLISH_EVERY_SECONDS)

    async def publish(self) -> None:
        """Add the counts since the last publication to the sums, all or, without Redis, none."""
        counted = _counted()
        pipeline = self._redis.pipeline(transaction=True)
        for field, number in (counted - self._published).items():
            pipeline.hincrby(DRAIN_COUNTER_SUMS, field, number)
        try:
            await pipeline.execute()
        except (RedisError, OSError) as error:
            log.debug("counters wait for Redis", error=type(error).__name__)
        else:
            self._published = counted


def families(stored: Mapping[Any, Any] | None, loops: Iterable[str]) -> list[Metric]:
    """Return the counters `tracker_fleet_*` with the sums in the hash `stored`.

    Counters of the named `loops` start at 0. Without `stored` there are no sums.
    """
    shown = {}
    for counter in DRAIN_COUNTERS:
        [own] = counter.collect()
        name = own.name.replace("tracker_", "tracker_fleet_", 1)
        text = f"{own.documentation} The sum of all drains, shown by every process: do not add."
        shown[own.name] = Metric(name, text, "counter")
    if stored is None:
        return list(shown.values())
    counted = {field.decode(): int(number) for field, number in stored.items()}
    sums = dict.fromkeys(_fields(loops), 0) | counted
    for field, number in sums.items():
        name, labels = json.loads(field)
        if name in shown:
            shown[name].add_sample(f"{shown[name].name}_total", labels, number)
    return list(shown.values())


def _fields(loops: Iterable[str]) -> Iterator[str]:
    """Yield the hash fields of all drain counters."""
    for counter in DRAIN_COUNTERS:
        if counter is not LOOP_FAILURES:
            yield from (field for field, _ in _samples_of(counter))
    [failures] = LOOP_FAILURES.collect()
    for loop in loops:
        yield json.dumps([failures.name, {"loop": loop}])


def _counted() -> Counter[str]:
    """Return the counts by field of the hash: name and labels of a counter, as JSON."""
    return Counter(dict(one for counter in DRAIN_COUNTERS for one in _samples_of(counter)))


def _samples_of(counter: PrometheusCounter) -> Iterator[tuple[str, int]]:
    for family in counter.collect():
        for sample in family.samples:
            if sample.name.endswith("_total"):
                yield json.dumps([family.name, sample.labels]), int(sample.value)
