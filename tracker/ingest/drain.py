"""Applies journal records to MongoDB: clicks, events, and the joining of both. Idempotent.

Every step may run again after a crash anywhere: documents go in by id, and settling looks for
whatever is still pending. Clicks and events are stored before either looks for the other, so
whoever comes second meets the other, whichever process stored the first.
"""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from redis.asyncio import Redis

from tracker.clicks.click import Click
from tracker.clicks.enrich import Enrichment
from tracker.clicks.store import Clicks
from tracker.conversions.attribution import DIMENSIONS, attribute
from tracker.conversions.event import Event
from tracker.conversions.store import Events
from tracker.db import keys
from tracker.metrics import DRAINED

Record = Click | Event

_PIECE = 100
"""Clicks enriched (about 10 µs each) before requests that wait get their turn."""

_CLAIM_LIVES = 3600
"""Seconds that Redis still knows a transaction id after MongoDB has it: longer than any look-up
in MongoDB that began before it was there, and than a short absence of MongoDB."""


class Drain:
    def __init__(
        self, clicks: Clicks, events: Events, enrichment: Enrichment, redis: Redis
    ) -> None:
        self._clicks = clicks
        self._events = events
        self._enrichment = enrichment
        self._redis = redis

    async def apply(self, records: Sequence[Record]) -> None:
        """Raises PyMongoError or RedisError; what was applied by then may be applied again."""
        clicks = [record for record in records if isinstance(record, Click)]
        events = [record for record in records if isinstance(record, Event)]
        await self._store_clicks(clicks)
        await self._events.insert(events)
        await self._settle(clicks, events)
        await self._release_claims(events)
        DRAINED.labels("click").inc(len(clicks))
        DRAINED.labels("event").inc(len(events))

    async def _store_clicks(self, clicks: Sequence[Click]) -> None:
        documents = []
        for start in range(0, len(clicks), _PIECE):
            documents += [self._enrichment.document(one) for one in clicks[start : start + _PIECE]]
            await asyncio.sleep(0)
        await self._clicks.insert(documents)

    async def _settle(self, clicks: Sequence[Click], events: Sequence[Event]) -> None:
        ids = {click.id for click in clicks}
        ids |= {event.click_id for event in events if event.click_id is not None}
        pending = await self._events.pending([UUID(bytes=click_id) for click_id in ids])
        fields = ["account_id", "at", *DIMENSIONS]
        stored = await self._clicks.find({event["click_id"] for event in pending}, fields)
        for event in pending:
            click = stored.get(event["click_id"])
            if click is not None:
                await self._events.settle(event["_id"], attribute(event, click))

    async def _release_claims(self, events: Sequence[Event]) -> None:
        claims = {
            keys.transaction(UUID(bytes=scope), event.transaction_id)
            for event in events
            if event.transaction_id is not None
            for scope in (event.transaction_scope, event.click_id)
            if scope is not None
        }
        if not claims:
            return
        pipeline = self._redis.pipeline(transaction=False)
        for name in claims:
            pipeline.expire(name, _CLAIM_LIVES)
        await pipeline.execute()
