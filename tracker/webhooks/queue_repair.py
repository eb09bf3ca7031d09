"""Repair of the queue: a loop of each drain adds webhooks whose deliveries it would miss.

A process died before it added them, or an earlier release stored them, which has no queue.
"""

import asyncio
from datetime import datetime, timedelta
from typing import Final

import pymongo

from tracker.clock import now
from tracker.loops import run_until
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_read, with_byte_ids
from tracker.stores.mongodb.drivers import UNLIMITED
from tracker.webhooks.order import first_of_each
from tracker.webhooks.queue import BLOCKED, DeliveryQueue, due_webhook

INTERVAL_SECONDS: Final = 30.0
"""As long as the lease of a claim: so late are the deliveries of a dead process anyway."""

AHEAD: Final = timedelta(seconds=2 * INTERVAL_SECONDS)
"""Later deliveries are left to later rounds. A round that reads 10,000 webhooks takes 0.5 s of a
core, a round that leaves them 0.02 s."""

_WEBHOOKS_AT_ONCE: Final = 500
"""Webhooks that the event loop works on without a pause."""


class QueueRepair:
    """The loop of a drain that repairs the queue."""

    def __init__(self, mongodb: MongoDB, queue: DeliveryQueue) -> None:
        self._deliveries = with_byte_ids(mongodb["deliveries"])
        self._queue = queue

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set, which also cancels the work in progress."""
        await run_until(stop, self._work())

    async def _work(self) -> None:
        while True:
            await self.repair(now())
            await asyncio.sleep(INTERVAL_SECONDS)

    async def repair(self, at: datetime) -> int:
        """Add webhooks with deliveries that would be found too late; return how many."""
        added = 0
        with pymongo.timeout(UNLIMITED):
            stages = first_of_each(due_at={"$lte": at + AHEAD})
            rows = self._deliveries.aggregate(stages, batchSize=_WEBHOOKS_AT_ONCE)
            while found := await rows.to_list(_WEBHOOKS_AT_ONCE):
                times = await self._queue.times({row["account_id"] for row in found})
                missed = []
                for row in found:
                    looked_at = times.get(row["webhook_id"].hex())
                    # Until then a turn may be settled late on purpose.
                    if looked_at is None or looked_at > max(row["due_at"], at + BLOCKED):
                        missed.append(due_webhook(as_read(row)))
                await self._queue.add(missed)
                added += len(missed)
        return added
