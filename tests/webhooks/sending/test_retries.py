"""Failed deliveries are tried again, until their receiver recovers or the webhook is disabled."""

import asyncio
from datetime import datetime
from uuid import UUID

import pytest
import standardwebhooks

from tests.factories import create_webhook
from tests.webhooks.receiver import Handler, answer, receiving
from tests.webhooks.sending.scene import (
    Clock,
    converted,
    listening,
    sending,
    stored,
    the_one,
    webhook_now,
)
from tracker.clock import moment
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.schedule import DELAYS_SECONDS, JITTER_SHARE

ACCOUNT = new_id()
DAY = 24 * 3600


@pytest.fixture
def any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let receivers accept any timestamp."""
    monkeypatch.setattr(
        standardwebhooks.Webhook, "_Webhook__verify_timestamp", lambda _, at: moment(int(at) * 1000)
    )


@pytest.mark.usefixtures("any_time")
async def test_failures_are_retried_by_the_table_with_the_same_id_and_payload(
    services: Services,
) -> None:
    """The clock passes through all 75 hours."""
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, _), sending(services, clock) as one:
        receiver.behaviour = answer(500, b"broken")
        [event_id] = await converted(services, ACCOUNT)
        assert await one.burst() == 1
        for number, delay in enumerate(DELAYS_SECONDS[1:], 1):
            row = await the_one(services)
            assert (row["status"], len(row["attempts"])) == ("due", number)
            wait = (row["due_at"] - moment(clock())).total_seconds()
            assert delay <= wait <= delay * (1 + JITTER_SHARE)
            clock.pass_seconds(wait - 0.001)
            assert await one.burst() == 0
            # What it is made of may change meanwhile.
            await services.stores.mongodb["events"].update_one(
                {"_id": event_id}, {"$set": {"value": None}}
            )
            clock.pass_seconds(0.002)
            assert await one.burst() == 1
        clock.pass_seconds(10 * DAY)
        assert await one.burst() == 0
    row = await the_one(services)
    assert (row["status"], len(row["attempts"])) == ("failed", len(DELAYS_SECONDS))
    assert {one["code"] for one in row["attempts"]} == {500}
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 1
    assert len({one.body for one in receiver.received}) == 1
    assert len({one.headers["webhook-signature"] for one in receiver.received}) > 1
    assert "expires_at" in row


@pytest.mark.usefixtures("any_time")
async def test_a_receiver_that_recovers_gets_the_next_attempt(services: Services) -> None:
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:
        receiver.behaviour = answer(503, Retry_After="3600")
        await converted(services, ACCOUNT)
        await one.burst()
        assert (await webhook_now(services, webhook)).failing_since == moment(clock())
        clock.pass_seconds(3599)
        assert await one.burst() == 0
        clock.pass_seconds(400)
        receiver.behaviour = answer()
        assert await one.burst() == 1
    assert (await the_one(services))["status"] == "delivered"
    assert (await webhook_now(services, webhook)).failing_since is None


async def test_nothing_more_is_sent_to_a_receiver_that_is_gone(services: Services) -> None:
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:
        receiver.behaviour = answer(500)
        await converted(services, ACCOUNT)
        await one.burst()
        receiver.behaviour = answer(410)
        await converted(services, ACCOUNT)
        await one.burst()
        clock.pass_seconds(60)
        assert await one.burst() == 0
    assert [row["status"] for row in await stored(services)] == ["cancelled", "failed"]
    disabled = await webhook_now(services, webhook)
    assert (disabled.active, disabled.disabled_reason) == (False, "gone")
    assert len(receiver.received) == 2
    await services.webhooks.webhooks.change(webhook.id, {"active": True})
    again = await webhook_now(services, webhook)
    assert (again.disabled_reason, again.failing_since) == (None, None)


@pytest.mark.usefixtures("any_time")
async def test_a_webhook_that_fails_for_five_days_is_disabled(services: Services) -> None:
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:
        receiver.behaviour = answer(500)
        for _ in range(2):
            await converted(services, ACCOUNT)
            await one.burst()
            assert (await webhook_now(services, webhook)).active
            clock.pass_seconds(2.4 * DAY)
            await one.burst()
        clock.pass_seconds(0.3 * DAY)
        await converted(services, ACCOUNT)
        await one.burst()
        disabled = await webhook_now(services, webhook)
        assert (disabled.active, disabled.disabled_reason) == (False, "failing")
        clock.pass_seconds(2 * DAY)
        assert await one.burst() == 0
    assert {row["status"] for row in await stored(services)} == {"cancelled"}


@pytest.mark.parametrize("how", ["deleted", "deactivated"])
async def test_due_deliveries_of_a_deleted_or_inactive_webhook_are_cancelled(
    services: Services, how: str
) -> None:
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services) as one:
        await converted(services, ACCOUNT, 30)
        if how == "deleted":
            await services.webhooks.webhooks.delete(webhook.id)
        else:
            await services.webhooks.webhooks.change(webhook.id, {"active": False})
        assert await one.burst() == 0
    assert receiver.received == []
    rows = await stored(services)
    assert {row["status"] for row in rows} == {"cancelled"}
    assert all("expires_at" in row and "due_at" not in row for row in rows)


async def test_a_refused_connection_is_an_attempt_with_its_reason(services: Services) -> None:
    async with receiving() as receiver:
        url = receiver.url
    await create_webhook(services, ACCOUNT, url)
    async with sending(services) as one:
        await converted(services, ACCOUNT)
        await one.burst()
    [attempt] = (await the_one(services))["attempts"]
    assert (attempt["code"], attempt["answer"]) == (None, "")
    assert attempt["error"].startswith("connection: ")


async def test_a_success_ends_a_failure_of_the_same_claim(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = asyncio.Event()

    async def first_fails(handler: Handler) -> None:
        if len(receiver.received) == 1:
            handler.set_status(500)
            handler.finish()
            return
        await failed.wait()
        handler.finish()

    failing = services.webhooks.webhooks.record_failure

    async def see(webhook_id: UUID, since: datetime) -> None:
        await failing(webhook_id, since)
        failed.set()

    monkeypatch.setattr(services.webhooks.webhooks, "record_failure", see)
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services) as one:
        receiver.behaviour = first_fails
        await converted(services, ACCOUNT, 4)
        assert await one.burst() == 4
    assert failed.is_set()
    assert (await webhook_now(services, webhook)).failing_since is None
