"""The sender claims due deliveries, prepares their content and starts the attempts.

Every drain runs one, and they share the work.

- No more deliveries are claimed than `concurrency` allows to start.
- A payload is built for the first attempt, and stored before it is sent.
- Due deliveries of an inactive webhook are cancelled. With unreadable secrets they stay due.

Guarantee: a webhook is notified at least once, always with the same id and payload. If a process
dies before it records an attempt, the request is sent again after the lease.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec
import structlog
from pymongo.errors import PyMongoError

from tracker import metrics
from tracker.clock import moment, now_ms
from tracker.limits.open_files import max_open_files
from tracker.loops import cancel_and_wait, record_failure, wait
from tracker.stores.secret_box import UnreadableSecret
from tracker.syntax.url import check_url
from tracker.webhooks.deliveries import Deliveries
from tracker.webhooks.delivery import Delivery, Kind, Outcome
from tracker.webhooks.limits import MAX_DELIVERIES_PER_CLAIM, MAX_IN_FLIGHT, SLOW_MS
from tracker.webhooks.payloads.content import DeliveryContent, Prepared, complete, needs_conversion
from tracker.webhooks.payloads.sources import PayloadLoader
from tracker.webhooks.queue import DeliveryQueue
from tracker.webhooks.sending.attempts import Attempts, content_or_reason
from tracker.webhooks.sending.batches import Batch, batches, most_deliveries
from tracker.webhooks.sending.client import WebhookClient, WebhookRequest
from tracker.webhooks.sending.concurrency import ConcurrencyLimiter
from tracker.webhooks.sending.postponed import PostponedWebhooks
from tracker.webhooks.sending.rounds import RoundRobin
from tracker.webhooks.store import Webhook, Webhooks
from tracker.webhooks.target import FIELD

log = structlog.get_logger(__name__)

IDLE_SECONDS: Final = 0.5
"""The pause while nothing is due. Only a search finds retries and other processes' deliveries."""

WAKE_SECONDS: Final = 0.05
"""The shortest pause after new deliveries of this process: a busy drain creates some per batch."""

BUSY_SECONDS: Final = 0.02
"""The shortest pause between claims. Permits that are released meanwhile are used together."""

STOP_SECONDS: Final = 3.0
"""A stop waits so long for answers, then as long for their records. The rest is sent again."""

_RETRY_PAUSE: Final = timedelta(seconds=2)
"""The delay of a delivery whose payload could not be built or stored."""

_MAX_CLICK_REQUESTS: Final = 4
"""Requests of webhooks for clicks in one claim: each takes 40 ms, or a megabyte."""


class Sender:
    """Sends deliveries in a loop. `clock` returns milliseconds since the epoch."""

    def __init__(
        self,
        queue: DeliveryQueue,
        deliveries: Deliveries,
        webhooks: Webhooks,
        payloads: PayloadLoader,
        client: WebhookClient,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._queue = queue
        self._deliveries = deliveries
        self._webhooks = webhooks
        self._payloads = payloads
        self._attempts = Attempts(client, webhooks, deliveries, clock)
        self._clock = clock
        # Connections of visitors and to the stores are open files too.
        self._limiter = ConcurrencyLimiter(min(MAX_IN_FLIGHT, max_open_files() // 4))
        self._postponed = PostponedWebhooks(clock)
        self._rounds = RoundRobin(queue, deliveries, self._requests_in_flight)
        self._in_flight: dict[asyncio.Task[None], list[Delivery]] = {}
        self._recording: set[asyncio.Task[None]] = set()
        """Tasks whose answer is being recorded."""
        self._changed = asyncio.Event()
        """Set when an attempt may start: permits are free again, or deliveries are due."""

    async def run(self, stop: asyncio.Event) -> None:
        """Send until `stop`, then end within twice STOP_SECONDS; unsent deliveries are released."""
        loop = asyncio.get_running_loop()
        stopping = loop.create_task(stop.wait())
        stopping.add_done_callback(lambda _: self._changed.set())
        waking = loop.create_task(self._wake_when_due())
        try:
            while not stop.is_set():
                self._changed.clear()
                started = await self._start_or_log()
                earliest = loop.time() + BUSY_SECONDS
                if not started and not stop.is_set():
                    await wait(self._changed, IDLE_SECONDS)
                await asyncio.sleep(earliest - loop.time())
        finally:
            await cancel_and_wait(waking)
            await cancel_and_wait(stopping)
        await self._finish()

    async def _wake_when_due(self) -> None:
        while await self._queue.made_due.wait():
            self._queue.made_due.clear()
            self._changed.set()
            await asyncio.sleep(WAKE_SECONDS)

    async def _start_or_log(self) -> int:
        try:
            return await self._start()
        except PyMongoError as error:
            log.warning("deliveries wait: MongoDB fails", error=type(error).__name__)
        except Exception as error:
            record_failure("webhooks", error)
        return 0

    async def _start(self) -> int:
        """Start an attempt for each permit; return their number."""
        at = moment(self._clock())
        limit = min(MAX_DELIVERIES_PER_CLAIM, self._limiter.free_permits)
        taken = await self._rounds.take(at, limit)
        active = await self._active(taken.offered, at)
        unused = self._acquire_permits(active, taken.fresh())
        try:
            webhooks = self._readable({one: active[one] for one in unused}, at)
            started = await self._start_claimed(webhooks, unused, at)
        finally:
            for webhook_id, permits in unused.items():
                self._limiter.release(webhook_id, permits)
        # Last, because nothing waits for it: an account that is not settled is taken again.
        inactive = set(taken.offered) - active.keys()
        await self._rounds.settle(taken, webhooks.keys() | inactive)
        if taken.is_full:
            self._changed.set()
        return started

    async def _start_claimed(
        self, webhooks: Mapping[UUID, Webhook], unused: Counter[UUID], at: datetime
    ) -> int:
        """Claim deliveries of `webhooks`, and start them with permits of `unused`."""
        wanted = {key: most_deliveries(one, unused[key]) for key, one in webhooks.items()}
        claimed = await self._deliveries.claim(wanted, at)
        prepared = await self._prepare_or_release(claimed, webhooks)
        left: list[Delivery] = []
        for batch in batches(zip(claimed, prepared, strict=True), webhooks):
            if unused[batch.webhook.id] > 0:
                unused[batch.webhook.id] -= 1
                self._begin(batch)
            else:
                left += batch.deliveries
        if left:
            await self._deliveries.release(left, at)
        return len(claimed) - len(left)

    def _requests_in_flight(self, account_id: UUID, webhook_id: UUID) -> int | None:
        if self._postponed.has(webhook_id) or not self._limiter.has_capacity(webhook_id):
            return None
        return self._limiter.in_flight(account_id, webhook_id)[1]

    async def _active(self, ids: Sequence[UUID], at: datetime) -> dict[UUID, Webhook]:
        """Return the active webhooks; cancel the due deliveries of inactive ones."""
        found = await self._webhooks.find_all(ids) if ids else {}
        active = {one: found[one] for one in ids if one in found and found[one].active}
        if inactive := set(ids) - active.keys():
            await self._deliveries.cancel(inactive, at)
        return active

    def _readable(self, webhooks: Mapping[UUID, Webhook], at: datetime) -> dict[UUID, Webhook]:
        """Decrypt secrets, and postpone the webhooks whose secrets cannot be read."""
        readable = {}
        for webhook_id, webhook in webhooks.items():
            with contextlib.suppress(UnreadableSecret):
                readable[webhook_id] = self._webhooks.with_readable_secrets(webhook, at)
        self._postponed.add(webhooks.keys() - readable.keys())
        return readable

    def _acquire_permits(
        self, webhooks: Mapping[UUID, Webhook], fresh: Collection[UUID]
    ) -> Counter[UUID]:
        """Acquire permits, first for accounts, then webhooks, with fewest requests in flight.

        Only `fresh` webhooks get all free permits: the rest would make a long claim.
        """
        free, number = self._limiter.free_permits, max(1, len(webhooks))
        acquired, clicks = Counter[UUID](), _MAX_CLICK_REQUESTS
        for webhook_id, webhook in sorted(
            webhooks.items(), key=lambda one: self._limiter.in_flight(one[1].account_id, one[0])
        ):
            host, _ = check_url(FIELD, webhook.target_url).address
            most = free if webhook_id in fresh else min(free, MAX_DELIVERIES_PER_CLAIM)
            share = max(1, most // number)
            has_clicks = Kind.CLICK_RECORDED in webhook.events
            share = min(share, clicks) if has_clicks else share
            if permits := self._limiter.acquire(webhook_id, webhook.account_id, host, share):
                acquired[webhook_id] = permits
                clicks -= permits if has_clicks else 0
        return acquired

    async def _prepare_or_release(
        self, claimed: Sequence[Delivery], webhooks: Mapping[UUID, Webhook]
    ) -> list[Prepared]:
        try:
            return await self._prepare(claimed, webhooks)
        except Exception:
            # A pause, so that other deliveries come first: these may fail together again.
            with contextlib.suppress(PyMongoError):
                await self._deliveries.release(claimed, moment(self._clock()) + _RETRY_PAUSE)
            raise

    async def _prepare(
        self, claimed: Sequence[Delivery], webhooks: Mapping[UUID, Webhook]
    ) -> list[Prepared]:
        """Return the contents in the order of `claimed`, and store their new fields."""
        needed = [one for one in claimed if needs_conversion(webhooks[one.webhook_id], one)]
        sources = await self._payloads.load({one.event_id for one in needed if one.event_id})
        prepared: list[Prepared] = []
        at = moment(self._clock())
        for one in claimed:
            webhook = webhooks[one.webhook_id]
            whole = await complete(webhook, one, self._payloads)
            prepared.append(content_or_reason(webhook, whole, sources, at))
            await asyncio.sleep(0)  # lets other tasks run: a payload can take a millisecond
        await self._deliveries.store_content(
            [
                (one, content.unstored(one))
                for one, content in zip(claimed, prepared, strict=True)
                if isinstance(content, DeliveryContent)
            ]
        )
        return prepared

    def _begin(self, batch: Batch) -> None:
        """Begin an attempt, which keeps no other copy of the payload than its request."""
        request = self._attempts.request(batch.webhook, batch.deliveries[0], batch.content())
        empty = {"payload": None, "macros": None}
        held = [msgspec.structs.replace(one, **empty) for one in batch.deliveries]
        task = asyncio.create_task(self._attempt(batch.webhook, held, request))
        self._in_flight[task] = held
        task.add_done_callback(self._forget)

    async def _attempt(
        self, webhook: Webhook, deliveries: list[Delivery], request: WebhookRequest | Outcome
    ) -> None:
        metrics.WEBHOOKS_IN_FLIGHT.inc()
        size = 0 if isinstance(request, Outcome) else request.size
        release_bytes = self._limiter.record_size(webhook.id, size)
        loop = asyncio.get_running_loop()
        slow = loop.call_later(SLOW_MS / 1000, self._record_slow, webhook.id)
        try:
            outcome = await self._attempts.send(webhook, deliveries, request, release_bytes)
            if outcome is not request:  # else the receiver was not asked
                self._limiter.record_outcome(webhook.id, outcome.delivered, outcome.milliseconds)
            if task := asyncio.current_task():
                self._recording.add(task)
        finally:
            slow.cancel()
            metrics.WEBHOOKS_IN_FLIGHT.dec()
            release_bytes()
            self._limiter.release(webhook.id, size=0)
            self._changed.set()
        await self._attempts.conclude(webhook, deliveries, outcome)

    def _record_slow(self, webhook_id: UUID) -> None:
        self._limiter.record_slow(webhook_id)
        self._changed.set()

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._in_flight[task]
        self._recording.discard(task)

    async def _finish(self) -> None:
        """Wait for the attempts in flight, and release deliveries that were not sent in time."""
        if not self._in_flight:
            return
        await asyncio.wait(self._in_flight, timeout=STOP_SECONDS)
        unsent: list[Delivery] = []
        for task, deliveries in self._in_flight.items():
            if task not in self._recording:
                task.cancel()
                unsent += deliveries
        if self._in_flight:
            await asyncio.wait(self._in_flight, timeout=STOP_SECONDS)
        for task in self._in_flight:
            task.cancel()  # not released: it may still be recorded
        if unsent:
            with contextlib.suppress(PyMongoError):
                await self._deliveries.release(unsent, moment(self._clock()))
