"""Webhooks are notified of each event once: when it is settled, or its click is late."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.conversions import scene
from tests.factories import TARGET, create_webhook, make_click, make_conversion
from tests.ingest import ledger
from tests.ingest.dying import Died, Steps, dying_mongodb
from tests.stores.mongodb.profiler import profiled
from tracker.clock import now, now_ms
from tracker.ids import new_id
from tracker.ingest import notification
from tracker.service.services import Services
from tracker.stores.redis import keys
from tracker.webhooks.delivery import delivery_id

pytestmark = pytest.mark.redis

ACCOUNT, OTHER = new_id(), new_id()
CONFIG: dict[str, Any] = {
    "account_id": ACCOUNT.bytes,
    "event_config_id": new_id().bytes,
    "value": "5",
}


async def test_every_active_webhook_of_the_account_is_notified_and_no_other(
    services: Services,
) -> None:
    notified = [await create_webhook(services, ACCOUNT) for _ in range(2)]
    off = await create_webhook(services, ACCOUNT)
    await services.webhooks.webhooks.change(off.id, {"active": False})
    await services.webhooks.webhooks.create(ACCOUNT, "later", TARGET, "POST", {})
    await create_webhook(services, OTHER)
    before = now()
    await scene.applied(services, [make_conversion(7, **CONFIG)])
    rows = await services.stores.mongodb["deliveries"].find().to_list(None)
    assert {row["webhook_id"] for row in rows} == {one.id for one in notified}
    for row in rows:
        assert row["_id"] == delivery_id(row["webhook_id"], 7)
        assert (row["account_id"], row["event_id"], row["status"]) == (ACCOUNT, 7, "due")
        assert before <= row["created_at"] == row["due_at"] <= now()


async def test_a_webhook_made_in_the_same_millisecond_is_notified(services: Services) -> None:
    made = await services.webhooks.webhooks.create(ACCOUNT, "A", TARGET, "POST", {})
    at = int(made.created_at.timestamp() * 1000)
    early, now_ = (make_conversion(n, at=at - 2 + n, **CONFIG) for n in (1, 2))
    await scene.applied(services, [early, now_])
    assert await ledger.notified(services) == [(made.id, 2)]


async def test_a_batch_of_clicks_reads_no_webhook(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which ones ask for clicks is read once a second, however many batches there are."""
    monkeypatch.setattr("tracker.webhooks.subscriptions.clicks.REFRESH_SECONDS", 60.0)
    await create_webhook(services, ACCOUNT)
    drain = scene.drain_of(services)
    await drain.apply([make_click(ACCOUNT)])
    clicks = [make_click(ACCOUNT) for _ in range(3)]
    pending = make_conversion(1, new_id().bytes, **CONFIG)
    async with profiled(services.stores.mongodb.database) as commands:
        await drain.apply([*clicks, pending])
    asked = {row["ns"].partition(".")[2] for row in commands}
    assert "clicks" in asked
    assert not asked & {"webhooks", "deliveries"}


async def an_hour_passes(services: Services) -> None:
    waiting_ = {"tell_at": {"$gt": now()}}
    passed = [{"$set": {"tell_at": {"$subtract": ["$tell_at", 3600 * 1000]}}}]
    await services.stores.mongodb["events"].update_many(waiting_, passed)


@pytest.mark.parametrize("stream", [keys.JOURNAL, keys.OVERFLOW, keys.journal(7)])
async def test_while_the_journal_is_behind_late_clicks_are_waited_for(
    services: Services, stream: str
) -> None:
    """Also while entries are left in a partition of before, when there were more."""
    webhook, drain = await create_webhook(services, ACCOUNT), scene.drain_of(services)
    await drain.apply([make_conversion(1, new_id().bytes, **CONFIG)])
    [event] = await scene.stored_events(services)
    assert timedelta(minutes=59) < event["tell_at"] - now() <= timedelta(hours=1)
    await an_hour_passes(services)
    old = await services.stores.redis.xadd(stream, {"r": b""}, id=f"{now_ms() - 70_000}-0")
    assert await drain.notify_overdue() == 0
    assert await ledger.notified(services) == []
    await services.stores.redis.xdel(stream, old)
    await services.stores.redis.xadd(stream, {"r": b""})
    assert await drain.notify_overdue() == 1
    assert await ledger.notified(services) == [(webhook.id, 1)]


async def test_a_notification_while_a_drain_joins_the_click_is_not_repeated(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    click, drain = make_click(ACCOUNT), scene.drain_of(services)
    webhook = await create_webhook(services, ACCOUNT)
    await drain.apply([make_conversion(1, click.id, **CONFIG)])
    await an_hour_passes(services)
    move = drain._move

    async def notified_meanwhile(pending: Any, clicks: Any) -> None:
        await scene.drain_of(services).notify_overdue()
        assert await ledger.notified(services) == [(webhook.id, 1)]
        await services.stores.mongodb["deliveries"].delete_many({})
        await move(pending, clicks)

    monkeypatch.setattr(drain, "_move", notified_meanwhile)
    await drain.apply([click])
    assert [row["status"] for row in await scene.stored_events(services)] == ["attributed"]
    assert await ledger.notified(services) == []


async def test_one_drain_stores_and_notifies_at_the_same_time(services: Services) -> None:
    """Both use the one session of the drain."""
    webhook = await create_webhook(services, ACCOUNT)
    drain = scene.drain_of(services)
    await drain.apply(
        [make_conversion(number, new_id().bytes, **CONFIG) for number in range(1, 301)]
    )
    await an_hour_passes(services)
    clicks = [make_click(ACCOUNT) for _ in range(50)]
    await asyncio.gather(drain.notify_overdue(), *(drain.apply([click]) for click in clicks))
    while await drain.notify_overdue():
        pass
    assert await ledger.notified(services) == [(webhook.id, number) for number in range(1, 301)]
    await ledger.check(services)


async def test_a_death_during_a_notification_leaves_all_of_it_to_the_next(
    services: Services,
) -> None:
    webhook = await create_webhook(services, ACCOUNT)
    drain = scene.drain_of(services)
    await drain.apply([make_conversion(number, new_id().bytes, **CONFIG) for number in (1, 2)])
    await an_hour_passes(services)
    before = await scene.dump(services)
    for at in range(4):
        dying: Any = services.ingest.drain(drain._writer._drain_number)
        dying._writer._database = dying_mongodb(services.stores.mongodb, Steps(at)).database
        with pytest.raises(Died):
            await dying.notify_overdue()
        assert await scene.dump(services) == before
    await drain.notify_overdue()
    assert await ledger.notified(services) == [(webhook.id, 1), (webhook.id, 2)]


async def test_the_loop_goes_on_after_an_error_and_ends_when_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notification, "MAX_PAUSE_SECONDS", 0.01)
    stop = asyncio.Event()
    answers = iter([3, RedisConnectionError("Redis is unavailable"), 2, 0, 0])

    async def notify() -> int:
        answer: Any = next(answers, None)
        if answer is None:
            stop.set()
            return 5
        if isinstance(answer, Exception):
            raise answer
        return int(answer)

    await notification.notify_overdue_loop(notify, stop)
    assert next(answers, None) is None


async def test_an_existing_delivery_is_left_as_it_is(services: Services) -> None:
    """That happens if an event was deleted by hand and its journal entry arrives again."""
    webhook = await create_webhook(services, ACCOUNT)
    batch = [make_conversion(number, **CONFIG) for number in (1, 2)]
    await scene.applied(services, batch)
    done = {"$set": {"status": "delivered"}}
    await services.stores.mongodb["deliveries"].update_one({"event_id": 1}, done)
    await services.stores.mongodb["events"].delete_many({})
    await scene.applied(services, batch)
    rows = await services.stores.mongodb["deliveries"].find().sort("event_id").to_list(None)
    assert [(row["webhook_id"], row["status"]) for row in rows] == [
        (webhook.id, "delivered"),
        (webhook.id, "due"),
    ]
