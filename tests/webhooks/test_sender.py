"""Deliveries are sent, signed, recorded and retried; slow receivers delay no other."""

import asyncio
import json
import time
from collections.abc import Collection
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import standardwebhooks

from tests.conversions import scene
from tests.factories import create_event_config, create_link, create_webhook, make_click, make_event
from tests.webhooks.receiver import Handler, answer, hang, receiving
from tests.webhooks.sending import (
    Clock,
    converted,
    listening,
    sending,
    stored,
    the_one,
    webhook_now,
)
from tracker.clock import moment, now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks import sender as sender_module
from tracker.webhooks.concurrency import ConcurrencyLimiter
from tracker.webhooks.deliveries import LEASE, LOG_DAYS
from tracker.webhooks.delivery import delivery_id
from tracker.webhooks.schedule import DELAYS_SECONDS, JITTER_SHARE, Disabled
from tracker.webhooks.store import Webhook

ACCOUNT = new_id()
DAY = 24 * 3600


@pytest.fixture
def any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let receivers accept any timestamp."""
    monkeypatch.setattr(
        standardwebhooks.Webhook, "_Webhook__verify_timestamp", lambda _, at: moment(int(at) * 1000)
    )


async def test_a_conversion_arrives_signed_and_is_recorded(services: Services) -> None:
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:
        receiver.behaviour = answer(201, b"thanks")
        [event_id] = await converted(services, ACCOUNT)
        assert await one.burst() == 1
        assert await one.burst() == 0
    [received] = receiver.received
    assert (received.error, received.method, received.path) == ("", "POST", "/hook")
    assert received.headers["webhook-id"] == f"msg_{delivery_id(webhook.id, event_id).hex}"
    body = json.loads(received.body)
    assert (body["event_id"], body["value"], body["click_id"]) == (event_id, 12.5, None)
    row = await the_one(services)
    assert row["status"] == "delivered"
    assert row["payload"].encode() == received.body
    assert row["expires_at"] == row["attempts"][0]["at"] + timedelta(days=LOG_DAYS)
    assert not row.keys() & {"due_at", "holder"}
    [attempt] = row["attempts"]
    assert (attempt["code"], attempt["answer"], attempt["error"]) == (201, "thanks", None)
    assert 0 <= attempt["milliseconds"] < 15_000


async def test_a_payload_has_the_values_of_the_click_and_its_link(services: Services) -> None:
    link = await create_link(services, ACCOUNT)
    config = await create_event_config(services, ACCOUNT)
    click = make_click(ACCOUNT, link_id=link.id.bytes)
    event = make_event(
        1,
        click.id,
        account_id=ACCOUNT.bytes,
        event_config_id=config.id.bytes,
        metadata='{"order":{"id":7}}',
    )
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        await scene.applied(services, [click, event])
        await one.burst()
    body = json.loads(receiver.received[0].body)
    names = ("slug", "link_id", "event_name", "pbk", "browser", "metadata", "tags")
    expected: tuple[Any, ...] = (
        "abc",
        str(link.id),
        "Purchase",
        config.pbk,
        "Chrome",
        {"order": {"id": 7}},
        [],
    )
    assert tuple(body[name] for name in names) == expected


@pytest.mark.usefixtures("any_time")
async def test_failures_are_retried_by_the_table_with_the_same_id_and_payload(
    services: Services,
) -> None:
    """75 hours, walked through."""
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, _), sending(services, clock) as one:
        receiver.behaviour = answer(500, b"broken")
        [event_id] = await converted(services, ACCOUNT)
        assert await one.burst() == 1
        for number, delay in enumerate(DELAYS_SECONDS[1:], 1):
            row = await the_one(services)
            assert (row["status"], len(row["attempts"])) == ("due", number)
            wait = (row["due_at"] - moment(clock.ms)).total_seconds()
            assert delay <= wait <= delay * (1 + JITTER_SHARE)
            clock.pass_seconds(wait - 0.001)
            assert await one.burst() == 0
            # What it is made of may change meanwhile.
            await services.database["events"].update_one(
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
        assert (await webhook_now(services, webhook)).failing_since == moment(clock.ms)
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
    await services.webhooks.change(webhook.id, {"active": True})
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
            await services.webhooks.delete(webhook.id)
        else:
            await services.webhooks.change(webhook.id, {"active": False})
        assert await one.burst() == 0
    assert receiver.received == []
    rows = await stored(services)
    assert {row["status"] for row in rows} == {"cancelled"}
    assert all("expires_at" in row and "due_at" not in row for row in rows)


async def test_one_receiver_that_hangs_among_fifty_delays_no_other(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.webhooks.store.MAX_PER_ACCOUNT", 50)
    async with AsyncExitStack() as stack:
        pairs = [await stack.enter_async_context(listening(services, ACCOUNT)) for _ in range(50)]
        pairs[0][0].behaviour = hang
        one = await stack.enter_async_context(sending(services))
        await converted(services, ACCOUNT, 20)
        stop = asyncio.Event()
        began = time.monotonic()
        running = asyncio.create_task(one.run(stop))
        while any(len(receiver.received) < 20 for receiver, _ in pairs[1:]):
            await asyncio.sleep(0.01)
            assert time.monotonic() - began < 12  # the one hangs for 15
        assert len(pairs[0][0].received) <= 4
        stop.set()
        await running


@pytest.mark.parametrize("tried", [True, False])
async def test_many_receivers_that_hang_leave_slots_for_those_that_answer(
    services: Services, monkeypatch: pytest.MonkeyPatch, tried: bool
) -> None:
    monkeypatch.setattr("tracker.webhooks.store.MAX_PER_ACCOUNT", 15)
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(sending(services))
        one._limiter = ConcurrencyLimiter(20)
        accounts = [new_id() for _ in range(3 if tried else 1)]
        dead = []
        for number in range(15):
            account = accounts[number % len(accounts)]
            receiver, webhook = await stack.enter_async_context(listening(services, account))
            receiver.behaviour = hang
            dead.append(receiver)
            if tried:
                one._limiter.acquire(webhook.id, account, "127.0.0.1", 1)
                one._limiter.record_outcome(webhook.id, delivered=False, milliseconds=15_000)
                one._limiter.release(webhook.id, 1)
        other = new_id()
        good, _ = await stack.enter_async_context(listening(services, other))
        for account in accounts:
            await converted(services, account, 5)
        stop = asyncio.Event()
        running = asyncio.create_task(one.run(stop))
        most = 10 if tried else 2
        async with asyncio.timeout(12):  # those that hang do for 15 seconds
            while sum(len(hanging.received) for hanging in dead) < most:
                await asyncio.sleep(0.01)
            await converted(services, other, 30)
            while len(good.received) < 30:
                await asyncio.sleep(0.01)
        assert sum(len(hanging.received) for hanging in dead) == most
        stop.set()
        await running


async def test_untested_webhooks_wait_for_others_that_hang_only_until_these_are_slow(
    services: Services,
) -> None:
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(sending(services))
        one._limiter = ConcurrencyLimiter(8)
        accounts = [new_id() for _ in range(2)]
        dead = []
        for account in accounts:
            receiver, _ = await stack.enter_async_context(listening(services, account))
            receiver.behaviour = hang
            dead.append(receiver)
            await converted(services, account)
        stop = asyncio.Event()
        running = asyncio.create_task(one.run(stop))
        async with asyncio.timeout(12):  # those that hang do for 15 seconds
            while not all(hanging.received for hanging in dead):
                await asyncio.sleep(0.01)
            other = new_id()
            good, _ = await stack.enter_async_context(listening(services, other))
            await converted(services, other)
            while not good.received:
                await asyncio.sleep(0.01)
        stop.set()
        await running


async def test_slow_receivers_do_not_delay_others(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.webhooks.store.MAX_PER_ACCOUNT", 50)

    async def slow(handler: Handler) -> None:
        await asyncio.sleep(1.5)
        handler.finish()

    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(sending(services))
        one._limiter = ConcurrencyLimiter(16)
        slow_account, other = new_id(), new_id()
        busy = [
            await stack.enter_async_context(listening(services, slow_account)) for _ in range(12)
        ]
        for receiver, _ in busy:
            receiver.behaviour = slow
        good, _ = await stack.enter_async_context(listening(services, other))
        await converted(services, slow_account, 20)
        stop = asyncio.Event()
        running = asyncio.create_task(one.run(stop))
        while sum(len(receiver.received) for receiver, _ in busy) < 20:
            await asyncio.sleep(0.01)
        assert one._limiter.free >= 12
        await converted(services, other, 10)
        async with asyncio.timeout(10):  # sixteen at a time, the others would take 22
            while len(good.received) < 10:
                await asyncio.sleep(0.01)
        stop.set()
        await running


async def test_several_senders_share_the_work_and_send_each_once(services: Services) -> None:
    async with AsyncExitStack() as stack:
        receiver, _ = await stack.enter_async_context(listening(services, ACCOUNT))
        senders = [await stack.enter_async_context(sending(services)) for _ in range(4)]
        await converted(services, ACCOUNT, 200)
        shares = await asyncio.gather(*(one.burst() for one in senders))
        while await senders[0].burst():
            pass
    assert sum(shares) <= 200
    assert len(receiver.received) == 200
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 200
    assert {row["status"] for row in await stored(services)} == {"delivered"}


async def test_deliveries_of_a_killed_sender_are_sent_when_their_lease_has_run_out(
    services: Services,
) -> None:
    clock = Clock()
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services, clock) as one:
        [event_id] = await converted(services, ACCOUNT)
        [held] = await services.deliveries.claim({webhook.id: 5}, moment(clock.ms))
        await services.deliveries.keep_payloads([(held, '{"as":"before"}')])
        assert await one.burst() == 0
        clock.pass_seconds(LEASE.total_seconds() + 1)
        assert await one.burst() == 1
    [received] = receiver.received
    assert received.body == b'{"as":"before"}'
    assert received.headers["webhook-id"] == f"msg_{delivery_id(webhook.id, event_id).hex}"
    assert (await the_one(services))["status"] == "delivered"


async def test_a_stop_waits_for_attempts_that_end_soon_and_releases_the_others(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "STOP_SECONDS", 0.5)
    release = asyncio.Event()

    async def soon(handler: Handler) -> None:
        await release.wait()
        handler.finish()

    async with AsyncExitStack() as stack:
        slow, _ = await stack.enter_async_context(listening(services, ACCOUNT))
        dead, webhook = await stack.enter_async_context(listening(services, ACCOUNT))
        slow.behaviour, dead.behaviour = soon, hang
        one = await stack.enter_async_context(sending(services))
        await converted(services, ACCOUNT)
        stop = asyncio.Event()
        running = asyncio.create_task(one.run(stop))
        while not (slow.received and dead.received):
            await asyncio.sleep(0.01)
        stop.set()
        release.set()
        await running
        by_webhook = {row["webhook_id"]: row for row in await stored(services)}
        given_back = by_webhook.pop(webhook.id)
        assert (given_back["status"], given_back["attempts"]) == ("due", [])
        assert "holder" not in given_back
        [finished] = by_webhook.values()
        assert finished["status"] == "delivered"
        dead.behaviour = answer()
        another = await stack.enter_async_context(sending(services))
        assert await another.burst() == 1


async def test_a_stop_does_not_release_deliveries_that_are_being_recorded(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "STOP_SECONDS", 0.5)
    record, recording = services.deliveries.record, asyncio.Event()

    async def slowly(results: Any) -> None:
        recording.set()
        await asyncio.sleep(0.75)
        await record(results)

    monkeypatch.setattr(services.deliveries, "record", slowly)
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        await converted(services, ACCOUNT)
        stop = asyncio.Event()
        running = asyncio.create_task(one.run(stop))
        await recording.wait()
        stop.set()
        await running
    assert len(receiver.received) == 1
    assert (await the_one(services))["status"] == "delivered"


async def test_a_running_sender_sends_new_deliveries_and_stops_at_once_when_idle(
    services: Services,
) -> None:
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        stop = asyncio.Event()
        running = asyncio.create_task(one.run(stop))
        for number in range(1, 4):
            await converted(services, ACCOUNT)
            while len(receiver.received) < number:
                await asyncio.sleep(0.01)
        stop.set()
        began = time.monotonic()
        await running
        assert time.monotonic() - began < sender_module.STOP_SECONDS


async def test_deliveries_that_this_process_makes_due_are_sent_at_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "IDLE_SECONDS", 60)
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        looked = looks(services, monkeypatch)
        stop = asyncio.Event()
        running = asyncio.create_task(one.run(stop))
        while len(looked) < 1:
            await asyncio.sleep(0.01)
        async with asyncio.timeout(10):
            await converted(services, ACCOUNT)
            while not (receiver.received and (await the_one(services))["status"] == "delivered"):
                await asyncio.sleep(0.01)
            await services.deliveries.retry((await the_one(services))["_id"], now())
            while len(receiver.received) < 2:
                await asyncio.sleep(0.01)
        stop.set()
        await running


async def test_a_busy_drain_does_not_make_the_sender_poll_without_pause(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "IDLE_SECONDS", 60)
    monkeypatch.setattr(sender_module, "WAKE_SECONDS", 0.6)
    async with sending(services) as one:
        looked = looks(services, monkeypatch)
        stop = asyncio.Event()
        running = asyncio.create_task(one.run(stop))
        while len(looked) < 4:
            services.deliveries.made_due.set()
            await asyncio.sleep(0.01)
        stop.set()
        await running
    # The first is that of the start; a busy machine may note a look after it began.
    assert looked[3] - looked[1] >= 1.0


def looks(services: Services, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record when the sender looks for due deliveries."""
    due, times = services.deliveries.due, list[float]()

    async def timed(at: datetime) -> dict[UUID, datetime]:
        times.append(time.monotonic())
        return await due(at)

    monkeypatch.setattr(services.deliveries, "due", timed)
    return times


async def test_a_delivery_whose_event_is_gone_fails_alone_and_says_why(services: Services) -> None:
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        gone, there = await converted(services, ACCOUNT, 2)
        await services.database["events"].delete_one({"_id": gone})
        assert await one.burst() == 2
    rows = await stored(services)
    assert [row["status"] for row in rows] == ["failed", "delivered"]
    assert rows[0]["attempts"][0]["error"] == "payload: the event is no longer stored"
    assert [json.loads(got.body)["event_id"] for got in receiver.received] == [there]


async def test_a_payload_that_is_too_long_is_not_sent(services: Services) -> None:
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services) as one:
        template = {"all": ["{metadata}"] * 40}
        await services.webhooks.change(webhook.id, {"payload_template": template})
        large = json.dumps({"a": "x" * 10_000})
        await scene.applied(services, [make_event(1, account_id=ACCOUNT.bytes, metadata=large)])
        await one.burst()
    row = await the_one(services)
    assert row["attempts"][0]["error"] == "payload: longer than 65536 bytes"
    assert receiver.received == []


async def test_for_a_day_the_previous_secret_signs_too(services: Services) -> None:
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services) as one:
        await services.webhooks.rotate_secret(webhook.id)
        await converted(services, ACCOUNT)
        await one.burst()
    [received] = receiver.received
    assert received.error == ""
    assert len(received.headers["webhook-signature"].split()) == 2


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


async def test_no_result_is_lost_while_mongodb_is_unavailable(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = services.deliveries.record
    fails = [True, True]

    async def failing(results: Any) -> None:
        if fails:
            fails.pop()
            raise scene.AWAY
        await record(results)

    monkeypatch.setattr(services.deliveries, "record", failing)
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        await converted(services, ACCOUNT)
        await one.burst()
    assert len(receiver.received) == 1
    assert (await the_one(services))["status"] == "delivered"


async def test_payloads_that_cannot_be_stored_are_sent_soon_afterwards(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = services.deliveries.keep_payloads
    clock, fails = Clock(), [True]

    async def failing(payloads: Any) -> None:
        if fails:
            fails.pop()
            raise scene.AWAY
        await keep(payloads)

    monkeypatch.setattr(services.deliveries, "keep_payloads", failing)
    async with listening(services, ACCOUNT) as (receiver, _), sending(services, clock) as one:
        await converted(services, ACCOUNT)
        with pytest.raises(type(scene.AWAY)):
            await one.burst()
        clock.pass_seconds(LEASE.total_seconds() / 10)
        assert await one.burst() == 1
    assert len(receiver.received) == 1


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

    failing = services.webhooks.failing

    async def see(webhook_id: UUID, since: datetime) -> None:
        await failing(webhook_id, since)
        failed.set()

    monkeypatch.setattr(services.webhooks, "failing", see)
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services) as one:
        receiver.behaviour = first_fails
        await converted(services, ACCOUNT, 4)
        assert await one.burst() == 4
    assert failed.is_set()
    assert (await webhook_now(services, webhook)).failing_since is None


async def test_the_state_of_a_webhook_is_recorded_once_mongodb_is_available_again(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    disable = services.webhooks.disable
    statuses: list[str] = []

    async def failing(webhook: Webhook, reason: Disabled, at: datetime) -> bool:
        statuses.append((await the_one(services))["status"])
        if len(statuses) == 1:
            raise scene.AWAY
        return await disable(webhook, reason, at)

    monkeypatch.setattr(services.webhooks, "disable", failing)
    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services) as one:
        receiver.behaviour = answer(410)
        await converted(services, ACCOUNT)
        await one.burst()
    assert statuses == ["failed", "failed"]
    assert not (await webhook_now(services, webhook)).active
    assert len((await the_one(services))["attempts"]) == 1


async def test_only_webhooks_that_get_a_slot_are_read_whole(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_all = services.webhooks.find_all
    read: list[int] = []

    async def counted(ids: Collection[UUID]) -> dict[UUID, Webhook]:
        read.append(len(ids))
        return await find_all(ids)

    monkeypatch.setattr(services.webhooks, "find_all", counted)
    monkeypatch.setattr(sender_module, "_MAX_WEBHOOKS_PER_CLAIM", 2)
    for _ in range(5):
        await create_webhook(services, ACCOUNT, "http://127.0.0.1:1/")
    async with sending(services) as one:
        await converted(services, ACCOUNT)
        assert await one.burst() == 5
    assert max(read) == 2


async def test_slots_of_a_webhook_that_is_deleted_meanwhile_are_released(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_all = services.webhooks.find_all

    async def too_late(ids: Collection[UUID]) -> dict[UUID, Webhook]:
        for webhook_id in ids:
            await services.webhooks.delete(webhook_id)
        return await find_all(ids)

    monkeypatch.setattr(services.webhooks, "find_all", too_late)
    await create_webhook(services, ACCOUNT)
    async with sending(services) as one:
        await converted(services, ACCOUNT)
        free = one._limiter.free
        assert await one.burst() == 0
        assert one._limiter.free == free
        assert await one.burst() == 0
    assert (await the_one(services))["status"] == "cancelled"
