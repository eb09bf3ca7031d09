"""Other webhooks of an account are notified of disabled webhooks and failed deliveries."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID

import msgspec
import pytest
from pymongo.errors import OperationFailure

from tests.web.document import assert_payload_described
from tests.webhooks.receiver import Receiver, answer
from tests.webhooks.sending.scene import Clock, converted, listening, sending, stored, webhook_now
from tracker.clock import iso, moment, now, now_ms
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks import store as store_module
from tracker.webhooks.delivery import Kind, Outcome
from tracker.webhooks.schedule import Disabled
from tracker.webhooks.sending.attempts import result_of
from tracker.webhooks.store import Webhook

ACCOUNT = new_id()
GONE = Outcome(code=410, milliseconds=1, answer="", error=None, retry_after=None)
OPERATIONAL = (Kind.WEBHOOK_DISABLED, Kind.DELIVERY_FAILED)


@asynccontextmanager
async def asking(
    services: Services, kinds: Sequence[Kind] = OPERATIONAL, account_id: UUID = ACCOUNT
) -> AsyncIterator[tuple[Receiver, Webhook]]:
    async with listening(services, account_id) as (receiver, webhook):
        await services.webhooks.webhooks.change(webhook.id, {"events": list(kinds)})
        yield receiver, webhook


def bodies(receiver: Receiver) -> list[dict[str, Any]]:
    """Return the bodies that have arrived, by type. Each is signed."""
    assert {one.error for one in receiver.received} <= {""}
    return sorted((json.loads(one.body) for one in receiver.received), key=lambda one: one["type"])


async def test_webhooks_that_ask_are_notified_of_a_disabled_webhook_and_a_failed_delivery(
    services: Services,
) -> None:
    clock = Clock()
    async with (
        listening(services, ACCOUNT) as (gone, webhook),
        asking(services) as (receiver, other),
        asking(services, account_id=new_id()) as (stranger, _),
        asking(services, [Kind.CONVERSION, Kind.DELIVERY_FAILED]) as (of_failures, _),
        sending(services, clock) as one,
    ):
        gone.behaviour = answer(410)
        [event_id] = await converted(services, ACCOUNT)
        clock.pass_seconds(1)
        while await one.burst():
            clock.pass_seconds(1)
        disabled = await webhook_now(services, webhook)
        [conversion] = [row for row in await stored(services) if row["webhook_id"] == webhook.id]
    failed_body, disabled_body = bodies(receiver)
    assert disabled.disabled_at is not None
    assert disabled_body == {
        "type": "webhook.disabled",
        "timestamp": iso(disabled.disabled_at),
        "data": {
            "account_id": str(ACCOUNT),
            "webhook_id": str(webhook.id),
            "name": webhook.name,
            "disabled_at": iso(disabled.disabled_at),
            "disabled_reason": "gone",
            "text": f"The webhook {webhook.name} is disabled: its receiver answered 410 Gone.",
        },
    }
    [attempt] = conversion["attempts"]
    assert failed_body == {
        "type": "delivery.failed",
        "timestamp": iso(attempt["at"]),
        "data": {
            "account_id": str(ACCOUNT),
            "webhook_id": str(webhook.id),
            "delivery_id": str(conversion["_id"]),
            "event_id": event_id,
            "attempts": 1,
            "last_attempt_at": iso(attempt["at"]),
            "code": 410,
            "error": None,
            "text": f"Conversion {event_id} was not delivered after 1 attempts: answered 410.",
        },
    }
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 2
    assert stranger.received == []
    assert [json.loads(one.body).get("type") for one in of_failures.received] == [
        *(None, "delivery.failed")
    ]
    rows = [row for row in await stored(services) if row["webhook_id"] == other.id]
    assert {row["kind"] for row in rows} == set(OPERATIONAL)
    assert {row.get("event_id") for row in rows} == {None}


async def test_a_message_that_fails_makes_no_further_message(
    services: Services,
) -> None:
    """Each of two gone webhooks is disabled once, and the other is notified."""
    clock = Clock()
    async with (
        asking(services, list(Kind)) as (one, _),
        asking(services, list(Kind)) as (other, _),
        sending(services, clock) as sender,
    ):
        one.behaviour = other.behaviour = answer(410)
        await converted(services, ACCOUNT)
        rounds = 0
        while await sender.burst():
            clock.pass_seconds(1)
            rounds += 1
        assert rounds <= 3
    rows = await stored(services)
    # Of either: the conversion, and at most that the other's failed and that it was disabled.
    assert len(rows) <= 6
    assert {row["status"] for row in rows} <= {"failed", "cancelled"}
    for row in rows:
        if "payload" in row and row.get("kind"):
            assert json.loads(row["payload"])["data"]["webhook_id"] != str(row["webhook_id"])
            assert_payload_described(row)


async def test_a_webhook_is_disabled_together_with_its_message_or_not_at_all(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> int:
        raise OperationFailure("full")

    async with listening(services, ACCOUNT) as (_, webhook), asking(services):
        monkeypatch.setattr(store_module, "create_messages", refuse)
        with pytest.raises(OperationFailure):
            await services.webhooks.webhooks.disable(webhook, Disabled.GONE, moment(0))
        assert (await webhook_now(services, webhook)).active
        assert await stored(services) == []


async def test_a_failure_recorded_twice_makes_one_message_and_one_of_another_holder_none(
    services: Services,
) -> None:
    async with listening(services, ACCOUNT) as (_, webhook), asking(services):
        await converted(services, ACCOUNT)
        [delivery] = await services.webhooks.deliveries.claim({webhook.id: 1}, now())
        result = result_of(delivery, GONE, now_ms(), 0)
        lost = result._replace(delivery=msgspec.structs.replace(delivery, holder=new_id()))
        for one in (lost, result, result):
            await services.webhooks.deliveries.record([one])
            messages = [row for row in await stored(services) if "kind" in row]
            assert len(messages) == (0 if one is lost else 1)


async def test_the_first_failure_and_the_recovery_of_a_webhook_are_logged_once(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tracker.webhooks.sending.attempts")
    async with AsyncExitStack() as stack:
        receiver, webhook = await stack.enter_async_context(listening(services, ACCOUNT))
        url = f"{receiver.url}/hook?token=private"
        await services.webhooks.webhooks.change(webhook.id, {"target_url": url})
        senders = [await stack.enter_async_context(sending(services)) for _ in range(2)]
        for code in (200, 500, 503, 500, 200, 201, 500):
            receiver.behaviour = answer(code)
            await converted(services, ACCOUNT, 3)
            await asyncio.gather(*(one.burst() for one in senders))
            assert len(receiver.received) % 3 == 0
    lines: list[Any] = [one.msg for one in caplog.records]
    assert [(one["level"], one["event"], one.get("code")) for one in lines] == [
        ("warning", "webhook fails", 500),
        ("info", "webhook delivers again", None),
        ("warning", "webhook fails", 500),
    ]
    for one in lines:
        assert (one["webhook_id"], one["host"]) == (str(webhook.id), "127.0.0.1")
    assert "private" not in caplog.text
