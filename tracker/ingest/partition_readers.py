"""The partitions of the journal that one drain reads: its share, by leases in Redis.

All living drains are in a sorted set, so they agree on the share of each. Two drains that read one
partition are slow, not wrong, so no clock matters. Partitions beyond a lowered number are shared
until they are empty.
"""

import asyncio
import contextlib
import math
import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple
from uuid import uuid4

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from tracker.clock import now_ms
from tracker.ingest.consumer import Consumer
from tracker.journal.partitions import MAX_PARTITIONS
from tracker.loops import wait
from tracker.stores.redis import keys
from tracker.stores.redis.lease import Lease

log = structlog.get_logger(__name__)

LEASE_SECONDS: Final = 10.0
_ROUND_SECONDS: Final = 1.0
"""The time between two rounds: for so long a released partition may have no reader."""

_LOOK_SECONDS: Final = 10.0
"""The time between two checks of partitions that are not configured. Each second, these 60 answers
were a quarter of an idle drain's cost."""

# Marks a drain as alive, and returns all living ones. KEYS: drains, an unused key. ARGV: drain,
# now, ms until it counts as dead.
_MARK_ALIVE: Final = """
redis.call('DEL', KEYS[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2])
redis.call('ZADD', KEYS[1], ARGV[2] + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return redis.call('ZRANGE', KEYS[1], 0, -1)
"""


class _PartitionReader(NamedTuple):
    consumer: Consumer
    stop: asyncio.Event
    task: asyncio.Task[None]


class PartitionReaders:
    """The readers of a drain's share of `partitions`. A single partition needs no lease."""

    def __init__(
        self,
        redis: Redis,
        partitions: int,
        make_consumer: Callable[[str], Consumer],
        lease: float = LEASE_SECONDS,
    ) -> None:
        self._redis = redis
        self._partitions = partitions
        self._make_consumer = make_consumer
        self._lease_ms = int(lease * 1000)
        self._leases = {
            number: Lease(redis, keys.partition_lease(number), lease)
            for number in range(MAX_PARTITIONS)
        }
        self._mark_alive = redis.register_script(_MARK_ALIVE)
        self._name = uuid4().hex
        self._readers: dict[int, _PartitionReader] = {}
        self._others: list[int] = []
        self._looked_at = -math.inf

    @property
    def consumers(self) -> list[Consumer]:
        return [one.consumer for one in self._readers.values()]

    @property
    def partitions(self) -> set[int]:
        return set(self._readers)

    async def run(self, stop: asyncio.Event) -> None:
        """Read the share until `stop` is set or a consumer fails, then release all."""
        try:
            while not stop.is_set():
                try:
                    await self.adjust()
                except RedisError as error:
                    log.warning("partitions are not adjusted", error=type(error).__name__)
                for reader in self._readers.values():
                    if reader.task.done():
                        reader.task.result()
                await wait(stop, _ROUND_SECONDS)
        finally:
            await self.close()

    async def adjust(self) -> None:
        """Renew the leases, release surplus partitions, and take missing ones."""
        shared = await self._shared()
        share = await self._share(len(shared)) if shared else 0
        for number in list(self._readers):
            if number not in shared or not await self._leases[number].acquire():
                await self._release(number)
        for number in list(self._readers)[share:]:
            await self._release(number)
        for number in random.sample(shared, len(shared)):
            if len(self._readers) >= share:
                return
            if number not in self._readers and await self._leases[number].acquire():
                self._start(number)

    async def close(self) -> None:
        """Finish the batches, and release all partitions."""
        for reader in self._readers.values():
            reader.stop.set()
        for number in list(self._readers):
            with contextlib.suppress(RedisError):
                await self._release(number)
        with contextlib.suppress(RedisError):
            await self._redis.zrem(keys.DRAINS, self._name)

    async def _shared(self) -> list[int]:
        """Return the configured partitions, and further ones that are not empty."""
        if self._others or time.monotonic() - self._looked_at >= _LOOK_SECONDS:
            self._others = await self._not_empty(range(self._partitions, MAX_PARTITIONS))
            self._looked_at = time.monotonic()
        return [*(range(self._partitions) if self._partitions > 1 else ()), *self._others]

    async def _not_empty(self, partitions: Sequence[int]) -> list[int]:
        pipeline = self._redis.pipeline(transaction=False)
        for number in partitions:
            pipeline.xlen(keys.journal(number))
        lengths: list[Any] = await pipeline.execute()
        return [number for number, length in zip(partitions, lengths, strict=True) if length]

    async def _share(self, partitions: int) -> int:
        """Return the number of partitions for this drain, and mark it as alive."""
        names = [keys.DRAINS, keys.never_set(keys.DRAINS)]
        alive = sorted(await self._mark_alive(names, [self._name, now_ms(), self._lease_ms]))
        return share_of(alive.index(self._name.encode()), len(alive), partitions)

    def _start(self, number: int) -> None:
        consumer, stop = self._make_consumer(keys.journal(number)), asyncio.Event()
        task = asyncio.get_running_loop().create_task(consumer.run(stop))
        self._readers[number] = _PartitionReader(consumer, stop, task)
        log.info("partition is read", partition=number)

    async def _release(self, number: int) -> None:
        reader = self._readers[number]
        reader.stop.set()
        await asyncio.wait([reader.task])
        del self._readers[number]
        log.info("partition is released", partition=number)
        await reader.consumer.deregister()
        await self._leases[number].release()


def share_of(index: int, drains: int, partitions: int) -> int:
    """Return the share of the drain at `index`. All shares add up to `partitions`."""
    return partitions // drains + (index < partitions % drains)
