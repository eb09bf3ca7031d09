"""Deliveries in MongoDB: claims, the log, and retries by hand."""

import asyncio
from datetime import timedelta

import msgspec

from tests.factories import create_webhook
from tests.webhooks.sending.scene import converted, stored
from tracker.clock import now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.deliveries import (
    LEASE,
    MAX_STORED_ATTEMPTS,
    SHOWN_CHARACTERS,
    AttemptResult,
    DeliveryBacklog,
)
from tracker.webhooks.delivery import Attempt, Delivery, DeliveryStatus
from tracker.webhooks.limits import MAX_PAYLOAD_BYTES

ACCOUNT = new_id()
SECOND = timedelta(seconds=1)


def result(
    one: Delivery, status: str = "delivered", code: int = 200, milliseconds: int = 3
) -> AttemptResult:
    attempt = Attempt(at=now(), milliseconds=milliseconds, code=code, answer="", error=None)
    return AttemptResult(one, attempt, DeliveryStatus(status), None)


async def claimed(services: Services, number: int = 1) -> list[Delivery]:
    webhook = await create_webhook(services, ACCOUNT)
    await converted(services, ACCOUNT, number)
    return await services.webhooks.deliveries.claim({webhook.id: number}, now())


async def test_a_claim_takes_the_oldest_of_each_webhook_and_no_more(services: Services) -> None:
    first, second = [await create_webhook(services, ACCOUNT) for _ in range(2)]
    for _ in range(3):
        await converted(services, ACCOUNT, 2)
    at = now()
    mine = await services.webhooks.deliveries.claim({first.id: 2, second.id: 3}, at)
    taken = {one.id for one in mine}
    assert len(taken) == 5
    rows = [row for row in await stored(services) if row["webhook_id"] == first.id]
    oldest = sorted(rows, key=lambda row: row["created_at"])[:2]
    assert {row["event_id"] for row in oldest} == {
        one.event_id for one in mine if one.webhook_id == first.id
    }
    assert {one.due_at for one in mine} == {at + LEASE}
    assert len({one.holder for one in mine}) == 1


async def test_simultaneous_claims_never_share_a_delivery(services: Services) -> None:
    webhook = await create_webhook(services, ACCOUNT)
    await converted(services, ACCOUNT, 60)
    at = now()
    claims = await asyncio.gather(
        *(services.webhooks.deliveries.claim({webhook.id: 20}, at) for _ in range(6))
    )
    ids = [one.id for claim in claims for one in claim]
    assert len(ids) == len(set(ids)) > 0


async def test_a_sender_that_lost_its_claim_records_nothing(services: Services) -> None:
    [one] = await claimed(services)
    assert one.due_at is not None
    before = one.due_at - SECOND / 1000
    assert await services.webhooks.deliveries.claim({one.webhook_id: 1}, before) == []
    [again] = await services.webhooks.deliveries.claim({one.webhook_id: 1}, one.due_at)
    await services.webhooks.deliveries.store_content([(one, {"payload": "{}"})])
    await services.webhooks.deliveries.record([result(one, "failed", code=500)])
    [row] = await stored(services)
    assert (row["status"], row["attempts"], row.get("payload")) == ("due", [], None)
    for _ in range(2):
        await services.webhooks.deliveries.record([result(again)])
    [row] = await stored(services)
    assert (row["status"], len(row["attempts"])) == ("delivered", 1)


async def test_a_release_ends_only_claims_that_are_still_held(services: Services) -> None:
    done, open_ = await claimed(services, 2)
    await services.webhooks.deliveries.record([result(done)])
    at = now()
    await services.webhooks.deliveries.release([done, open_], at)
    rows = {row["_id"]: row for row in await stored(services)}
    assert rows[done.id]["status"] == "delivered"
    assert rows[open_.id]["due_at"] == at
    assert await services.webhooks.deliveries.next_due([open_.webhook_id]) == {open_.webhook_id: at}


async def test_only_the_newest_attempts_are_kept(services: Services) -> None:
    [one] = await claimed(services)
    for number in range(MAX_STORED_ATTEMPTS + 3):
        await services.webhooks.deliveries.record([result(one, "failed", milliseconds=number)])
        await services.webhooks.deliveries.retry(one.id, now())
        [one] = await services.webhooks.deliveries.claim({one.webhook_id: 1}, now())
    kept = [row["milliseconds"] for row in (await stored(services))[0]["attempts"]]
    assert kept == list(range(3, MAX_STORED_ATTEMPTS + 3))


async def test_a_retry_leaves_a_delivery_that_is_being_sent_alone(services: Services) -> None:
    [one] = await claimed(services)
    await services.webhooks.deliveries.retry(one.id, now())
    [row] = await stored(services)
    assert (row["holder"], row["due_at"]) == (one.holder, one.due_at)


async def test_the_backlog_counts_claimable_deliveries_and_dates_the_oldest(
    services: Services,
) -> None:
    assert await services.webhooks.deliveries.backlog(now()) == DeliveryBacklog(0, None)
    await create_webhook(services, ACCOUNT)
    before = now()
    await converted(services, ACCOUNT, 3)
    assert await services.webhooks.deliveries.backlog(before - SECOND) == DeliveryBacklog(0, None)
    backlog = await services.webhooks.deliveries.backlog(now())
    assert backlog.due == 3
    assert backlog.oldest is not None
    assert before <= backlog.oldest <= now()


async def test_finished_deliveries_are_deleted_by_an_index(services: Services) -> None:
    expiry = (await services.stores.mongodb["deliveries"].index_information())["expiry"]
    assert (expiry["key"], expiry["expireAfterSeconds"]) == ([("expires_at", 1)], 0)


async def test_values_of_macros_do_not_make_a_command_too_long(services: Services) -> None:
    """A delivery may keep more of them with each retry, if its webhook changes between."""
    [one] = await claimed(services)
    longest = {"payload": "x" * MAX_PAYLOAD_BYTES, "macros": "ü" * (2 * MAX_PAYLOAD_BYTES)}
    await services.webhooks.deliveries.store_content([(one, longest)] * 100)
    assert (await stored(services))[0]["macros"] == longest["macros"]


async def test_a_delivery_that_is_being_sent_is_cancelled_only_after_its_lease(
    services: Services,
) -> None:
    held, waiting = await claimed(services, 2)
    await services.webhooks.deliveries.release([waiting], now())
    await services.webhooks.deliveries.cancel([held.webhook_id], now())
    await services.webhooks.deliveries.record([result(held)])
    rows = {row["_id"]: row for row in await stored(services)}
    assert (rows[held.id]["status"], len(rows[held.id]["attempts"])) == ("delivered", 1)
    assert rows[waiting.id]["status"] == "cancelled"
    await services.webhooks.deliveries.retry(waiting.id, now())
    [dead] = await services.webhooks.deliveries.claim({held.webhook_id: 1}, now())
    assert dead.due_at is not None
    await services.webhooks.deliveries.cancel([held.webhook_id], dead.due_at)
    assert {row["status"] for row in await stored(services)} == {"delivered", "cancelled"}


async def test_a_page_shows_only_the_beginning_of_each_payload(
    services: Services,
) -> None:
    new, long = await claimed(services, 2)
    text = "é" * (SHOWN_CHARACTERS + 1)
    await services.webhooks.deliveries.store_content([(long, {"payload": text})])
    shown, total = await services.webhooks.deliveries.page(
        new.webhook_id, list(DeliveryStatus), 1, 9
    )
    assert total == 2
    expected = {
        new.id: new,
        long.id: msgspec.structs.replace(long, payload=text[:SHOWN_CHARACTERS]),
    }
    assert {one.id: one for one in shown} == expected
    whole = await services.webhooks.deliveries.find(long.id)
    assert whole is not None
    assert whole.payload == text
