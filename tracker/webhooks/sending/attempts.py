"""Attempts at deliveries: signed, sent, and recorded with their consequences.

The sender calls `request`, `send`, and `conclude` after it has released the permit. None raises
unless it is cancelled.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
import structlog
from pymongo.errors import PyMongoError

from tracker import metrics
from tracker.clock import moment
from tracker.stores.batch import Batch
from tracker.syntax.url import check_url
from tracker.webhooks.deliveries import AttemptResult, Deliveries
from tracker.webhooks.delivery import Attempt, Delivery, DeliveryStatus, Outcome
from tracker.webhooks.headers import mask_values, parsed_headers
from tracker.webhooks.macros import Unfillable
from tracker.webhooks.payloads.content import Prepared, content_of
from tracker.webhooks.payloads.sources import PayloadSources
from tracker.webhooks.presets.ads import check_age, judged
from tracker.webhooks.schedule import NOT_TOLD, TOO_OLD, next_attempt_at, why_disabled
from tracker.webhooks.sending.client import WebhookClient, WebhookRequest
from tracker.webhooks.sending.signing import signed_request
from tracker.webhooks.store import Webhook, Webhooks
from tracker.webhooks.target import FIELD

log = structlog.get_logger(__name__)

_RETRY_PAUSES_SECONDS: Final = (0.1, 0.5, 2.0, 5.0)
"""After these tries to record a result the lease runs out, and the attempt is repeated."""


class Attempts:
    """The attempts of one sender. Results are recorded in groups. `clock` returns milliseconds."""

    def __init__(
        self,
        client: WebhookClient,
        webhooks: Webhooks,
        deliveries: Deliveries,
        clock: Callable[[], int],
    ) -> None:
        self._client = client
        self._webhooks = webhooks
        self._deliveries = deliveries
        self._clock = clock
        self._results: Batch[AttemptResult, None] = Batch(self._record)
        self._failing: set[UUID] = set()

    def request(
        self, webhook: Webhook, delivery: Delivery, content: Prepared
    ) -> WebhookRequest | Outcome:
        """Return the signed request, or the outcome of an attempt that cannot be made."""
        if isinstance(content, Unfillable):
            return _no_answer(f"{content.failure}: {content}")
        at = moment(self._clock())
        try:
            return signed_request(
                webhook.method,
                content.url,
                content.payload.encode(),
                delivery.id.hex,
                int(at.timestamp()),
                webhook.secrets(at),
                content.headers,
            )
        except Exception as error:
            return _not_sent(delivery, error)

    async def send(
        self,
        webhook: Webhook,
        deliveries: Sequence[Delivery],
        request: WebhookRequest | Outcome,
        on_written: Callable[[], object],
    ) -> Outcome:
        """Send `request`, whose body is dropped once it is written."""
        if isinstance(request, Outcome):
            return request

        def drop_body() -> None:
            request.body = None
            on_written()

        try:
            outcome = mask_headers(await self._client.send(request, drop_body), webhook)
            return judged(webhook.preset, outcome, len(deliveries))
        except Exception as error:
            return _not_sent(deliveries[0], error)

    async def conclude(
        self, webhook: Webhook, deliveries: Sequence[Delivery], outcome: Outcome
    ) -> None:
        metrics.WEBHOOK_ATTEMPTS.labels(outcome.failure or "delivered").inc()
        try:
            at, jitter = self._clock(), random.random()  # noqa: S311
            results = [result_of(one, outcome, at, jitter) for one in deliveries]
            # First, because disabling the webhook cancels its due deliveries.
            await asyncio.gather(*map(self._results.submit, results))
            await _retry(lambda: self._record_state(webhook, outcome))
        except Exception as error:
            log.error("attempt not recorded", exc_info=error)

    async def _record_state(self, webhook: Webhook, outcome: Outcome) -> None:
        """Record whether the webhook fails or delivers, and disable it by the rules of `schedule`.

        `webhook` was read before the attempt; `_failing` has the failures since then. One process
        logs each change. Nothing is written while the webhook delivers.
        """
        if outcome.failure in (NOT_TOLD, TOO_OLD):
            return
        now, since = moment(self._clock()), webhook.failing_since
        if outcome.delivered:
            if since is not None or webhook.id in self._failing:
                if await self._webhooks.record_success(webhook.id):
                    log.info("webhook delivers again", **_log_fields(webhook))
                self._failing.discard(webhook.id)
            return
        self._failing.add(webhook.id)
        if reason := why_disabled(since, now, outcome):
            if await self._webhooks.disable(webhook, reason, now):
                log.warning("webhook disabled", **_log_fields(webhook), reason=reason)
            self._failing.discard(webhook.id)
        elif since is None and await self._webhooks.record_failure(webhook.id, now):
            log.warning(
                "webhook fails", **_log_fields(webhook), failure=outcome.failure, code=outcome.code
            )

    async def _record(self, results: Sequence[AttemptResult]) -> list[None]:
        await _retry(lambda: self._deliveries.record(results))
        return [None] * len(results)


def content_or_reason(
    webhook: Webhook, delivery: Delivery, sources: PayloadSources, at: datetime
) -> Prepared:
    """Return the reason if one content cannot be built, so that the rest is sent."""
    try:
        content = content_of(webhook, delivery, sources)
        check_age(webhook.preset, content.texts, at)
        return content
    except Unfillable as reason:
        return reason
    except Exception as error:
        log.error("payload not built", delivery_id=str(delivery.id), exc_info=error)
        return Unfillable("the service could not make it")


async def _retry(work: Callable[[], Awaitable[None]]) -> None:
    """Repeat `work` while MongoDB fails. Raises PyMongoError after the last pause."""
    for pause in _RETRY_PAUSES_SECONDS:
        try:
            await work()
            return
        except PyMongoError as error:
            log.warning("attempts not recorded yet: MongoDB fails", error=type(error).__name__)
            await asyncio.sleep(pause)
    await work()


def _log_fields(webhook: Webhook) -> dict[str, str]:
    """Name a webhook in the log. Only the host is logged: the rest may hold secrets."""
    host, _ = check_url(FIELD, webhook.target_url).address
    return {"webhook_id": str(webhook.id), "account_id": str(webhook.account_id), "host": host}


def result_of(delivery: Delivery, outcome: Outcome, now_ms: int, jitter: float) -> AttemptResult:
    """Return the result of an attempt that ends at `now_ms`; `jitter` is from 0 to 1."""
    attempt = Attempt(
        at=moment(now_ms - outcome.milliseconds),
        milliseconds=outcome.milliseconds,
        code=outcome.code,
        answer=outcome.answer,
        error=outcome.error,
    )
    next_at = next_attempt_at(len(delivery.attempts) + 1, now_ms, outcome, jitter)
    if next_at is not None:
        return AttemptResult(delivery, attempt, DeliveryStatus.DUE, moment(next_at))
    ends = {None: DeliveryStatus.DELIVERED, NOT_TOLD: DeliveryStatus.CANCELLED}
    status = ends.get(outcome.failure, DeliveryStatus.FAILED)
    return AttemptResult(delivery, attempt, status, None)


def mask_headers(outcome: Outcome, webhook: Webhook) -> Outcome:
    """Mask the values of the webhook's headers in the answer."""
    answer = mask_values(outcome.answer, parsed_headers(webhook.headers))
    return msgspec.structs.replace(outcome, answer=answer)


def _not_sent(delivery: Delivery, error: Exception) -> Outcome:
    log.error("delivery not sent", delivery_id=str(delivery.id), exc_info=error)
    return _no_answer("internal: the service could not send it")


def _no_answer(error: str) -> Outcome:
    return Outcome(code=None, milliseconds=0, answer="", error=error, retry_after=None)
