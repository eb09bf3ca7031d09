"""Sends what is due: claims it, makes the payloads, and has attempts made, many at once.

Runs in every drain; they share the work. A webhook is told at least once, always with the same id
and payload: what was sent but not recorded before a death is sent again when the lease has run out.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from pymongo.errors import PyMongoError

from tracker import metrics
from tracker.clock import moment, now_ms
from tracker.loops import cancel_and_wait, record_failure
from tracker.syntax.url import check_url
from tracker.webhooks.attempt import Attempts, Payload
from tracker.webhooks.client import Client
from tracker.webhooks.deliveries import Deliveries
from tracker.webhooks.delivery import Delivery
from tracker.webhooks.material import Found, Material, NoPayload
from tracker.webhooks.places import SLOW_MS, Places
from tracker.webhooks.secret_box import UnreadableSecret
from tracker.webhooks.store import Target, Webhook, Webhooks
from tracker.webhooks.target import FIELD
from tracker.webhooks.withheld import Withheld

log = structlog.get_logger(__name__)

IDLE_SECONDS: Final = 0.5
"""How often it is looked for what is due, if nothing is: retries, and what other processes made."""

NEWS_SECONDS: Final = 0.05
"""The least time between two looks because this process has made something due: a busy drain does
so with each batch."""

BUSY_SECONDS: Final = 0.02
"""The least time between two claims: attempts that end meanwhile are followed up together."""

STOP_SECONDS: Final = 3.0
"""How long a stop waits for attempts under way, which are sent again if they are not over by then,
and after that as long for what came of others to be recorded."""

_PAUSE: Final = timedelta(seconds=2)
"""How long that waits whose payloads could not be made or kept."""

_WEBHOOKS: Final = 50
"""Of one claim."""


class Sender:
    """`clock` tells milliseconds since the epoch."""

    def __init__(
        self,
        deliveries: Deliveries,
        webhooks: Webhooks,
        material: Material,
        client: Client,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._deliveries = deliveries
        self._webhooks = webhooks
        self._material = material
        self._attempts = Attempts(client, webhooks, deliveries, clock)
        self._clock = clock
        self._places = Places()
        self._withheld = Withheld(clock)
        self._under_way: dict[asyncio.Task[None], Delivery] = {}
        self._sent: set[asyncio.Task[None]] = set()
        """Of these, those that are being recorded."""
        self._changed = asyncio.Event()
        """Set when there may be something to begin: places are free again, or something is due."""

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set; what is under way then is finished within twice STOP_SECONDS, or
        anyone's again."""
        stopping = asyncio.get_running_loop().create_task(stop.wait())
        stopping.add_done_callback(lambda _: self._changed.set())
        hearing = asyncio.get_running_loop().create_task(self._hear())
        try:
            while not stop.is_set():
                self._changed.clear()
                begun = await self._tried()
                await asyncio.sleep(BUSY_SECONDS)
                if not begun and not stop.is_set():
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._changed.wait(), IDLE_SECONDS)
        finally:
            await cancel_and_wait(hearing)
            await cancel_and_wait(stopping)
        await self._leave()

    async def burst(self) -> int:
        """Send all that is due now, and wait until it is recorded; the number of attempts."""
        total = 0
        while begun := await self._begin():
            total += begun
            await asyncio.wait(self._under_way)
        return total

    async def _hear(self) -> None:
        """Of what this process makes due."""
        while await self._deliveries.made_due.wait():
            self._deliveries.made_due.clear()
            self._changed.set()
            await asyncio.sleep(NEWS_SECONDS)

    async def _tried(self) -> int:
        try:
            return await self._begin()
        except PyMongoError as error:
            log.warning("deliveries wait", error=type(error).__name__)
        except Exception as error:
            record_failure("webhooks", error)
        return 0

    async def _begin(self) -> int:
        """Begin as many attempts as there is place for; how many."""
        at = moment(self._clock())
        due = await self._with_due(at)
        unused = self._take_places(due)
        try:
            webhooks = self._opened(await self._whole({one: due[one] for one in unused}), at)
            wanted = {one: unused[one] for one in webhooks}
            claimed = await self._deliveries.claim(wanted, at)
            payloads = await self._payloads_or_release(claimed, webhooks)
            unused -= Counter(one.webhook_id for one in claimed)
        finally:
            for webhook_id, places in unused.items():
                self._places.give_back(webhook_id, places)
        for delivery, payload in zip(claimed, payloads, strict=True):
            attempt = self._attempt(webhooks[delivery.webhook_id], delivery, payload)
            task = asyncio.get_running_loop().create_task(attempt)
            self._under_way[task] = delivery
            task.add_done_callback(self._ended)
        return len(claimed)

    async def _with_due(self, at: datetime) -> dict[UUID, Target | Webhook]:
        """The active webhooks that there may be place for, in order. What is due for those that
        are not active is cancelled."""
        due = [
            one
            for one in await self._deliveries.due(at)
            if self._places.might_have(one) and not self._withheld.has(one)
        ]
        active = await self._active(due) if due else {}
        if silent := set(due) - active.keys():
            await self._deliveries.cancel(silent, at)
        return {one: active[one] for one in due if one in active}

    async def _active(self, ids: Sequence[UUID]) -> Mapping[UUID, Target | Webhook]:
        """Read whole if they are few: templates are long."""
        if len(ids) > _WEBHOOKS:
            return await self._webhooks.targets(ids)
        found = await self._webhooks.find_all(ids)
        return {webhook_id: one for webhook_id, one in found.items() if one.active}

    async def _whole(self, chosen: Mapping[UUID, Target | Webhook]) -> Mapping[UUID, Webhook]:
        whole = {key: one for key, one in chosen.items() if isinstance(one, Webhook)}
        if len(whole) == len(chosen):
            return whole
        return await self._webhooks.find_all(chosen)

    def _opened(self, webhooks: Mapping[UUID, Webhook], at: datetime) -> dict[UUID, Webhook]:
        """Those whose secrets can be read. What is due for the others stays due."""
        opened = {}
        for webhook_id, webhook in webhooks.items():
            with contextlib.suppress(UnreadableSecret):
                opened[webhook_id] = self._webhooks.opened(webhook, at)
        self._withheld.add(webhooks.keys() - opened.keys())
        return opened

    def _take_places(self, targets: Mapping[UUID, Target | Webhook]) -> Counter[UUID]:
        """Those come first whose accounts, then who themselves have the fewest places; among equals
        those with deliveries that have been due for long."""
        share = max(1, self._places.free // max(1, min(len(targets), _WEBHOOKS)))
        taken: Counter[UUID] = Counter()
        for webhook_id, target in sorted(
            targets.items(), key=lambda one: self._places.taken_by(one[1].account_id, one[0])
        ):
            host, _ = check_url(FIELD, target.target_url).address
            if places := self._places.take(webhook_id, target.account_id, host, share):
                taken[webhook_id] = places
            if len(taken) == _WEBHOOKS:
                break
        return taken

    async def _payloads_or_release(
        self, claimed: Sequence[Delivery], webhooks: Mapping[UUID, Webhook]
    ) -> list[Payload]:
        try:
            return await self._payloads(claimed, webhooks)
        except Exception:
            # Others come first then: what is claimed together again may fail together again.
            with contextlib.suppress(PyMongoError):
                await self._deliveries.release(claimed, moment(self._clock()) + _PAUSE)
            raise

    async def _payloads(
        self, claimed: Sequence[Delivery], webhooks: Mapping[UUID, Webhook]
    ) -> list[Payload]:
        """In the order of `claimed`. Those that are new are kept before they are sent."""
        first = [one for one in claimed if one.payload is None]
        found = await self._material.of({one.event_id for one in first if one.event_id})
        payloads: list[Payload] = []
        for one in claimed:
            payloads.append(one.payload or _payload(found, webhooks[one.webhook_id], one))
            await asyncio.sleep(0)  # others get their turn: a payload can take a millisecond
        await self._deliveries.keep_payloads(
            [
                (one, payload)
                for one, payload in zip(claimed, payloads, strict=True)
                if one.payload is None and isinstance(payload, str)
            ]
        )
        return payloads

    async def _attempt(self, webhook: Webhook, delivery: Delivery, payload: Payload) -> None:
        metrics.WEBHOOKS_IN_FLIGHT.inc()
        loop = asyncio.get_running_loop()
        slow = loop.call_later(SLOW_MS / 1000, self._judge_slow, webhook.id)
        try:
            outcome = await self._attempts.send(webhook, delivery, payload)
            self._places.judge(webhook.id, outcome.delivered, outcome.milliseconds)
            if task := asyncio.current_task():
                self._sent.add(task)
        finally:
            slow.cancel()
            metrics.WEBHOOKS_IN_FLIGHT.dec()
            self._places.give_back(webhook.id, 1)
            self._changed.set()
        await self._attempts.conclude(webhook, delivery, outcome)

    def _judge_slow(self, webhook_id: UUID) -> None:
        self._places.judge_slow(webhook_id)
        self._changed.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        self._sent.discard(task)

    async def _leave(self) -> None:
        if not self._under_way:
            return
        await asyncio.wait(self._under_way, timeout=STOP_SECONDS)
        unsent = {task: one for task, one in self._under_way.items() if task not in self._sent}
        for task in unsent:
            task.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=STOP_SECONDS)
        for task in self._under_way:
            task.cancel()  # not given back: it may still be recorded
        if unsent:
            with contextlib.suppress(PyMongoError):
                await self._deliveries.release(unsent.values(), moment(self._clock()))


def _payload(found: Found, webhook: Webhook, delivery: Delivery) -> Payload:
    """An event that no payload can be made of must not keep the others back."""
    try:
        return found.payload(webhook.payload_template, delivery.event_id)
    except NoPayload as reason:
        return reason
    except Exception as error:
        log.error("no payload", delivery_id=str(delivery.id), exc_info=error)
        return NoPayload("the service could not make it")
