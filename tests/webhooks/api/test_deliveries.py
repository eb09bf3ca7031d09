"""Listing and retrying deliveries, and testing a receiver."""

import asyncio
from datetime import timedelta

import pytest

from tests.factories import create_webhook
from tests.waiting import eventually
from tests.web.world import World
from tests.webhooks.receiver import Handler, answer
from tests.webhooks.sending.scene import Clock, converted, listening, sending, stored
from tests.webhooks.telling import ask, change, conversion, settle
from tracker.clock import iso, now
from tracker.ids import new_id
from tracker.stores.secret_box import Purpose, SecretBox
from tracker.webhooks.limits import MAX_TESTS_PER_ACCOUNT
from tracker.webhooks.store import Webhooks

DELIVERY = [
    *(
        "id",
        "kind",
        "event_id",
        "clicks",
        "status",
        "failing",
        "created_at",
        "next_attempt_at",
        "payload",
    ),
    *("url", "attempts"),
]
ATTEMPT = ["at", "milliseconds", "code", "answer", "error"]


async def test_deliveries_are_listed_newest_first_with_all_attempts(world: World) -> None:
    clock = Clock()
    async with (
        listening(world.services, world.account.id) as (receiver, webhook),
        sending(world.services, clock) as one,
    ):
        receiver.behaviour = answer(500, b"x" * 5000)
        [first] = await converted(world.services, world.account.id)
        await one.burst()
        receiver.behaviour = answer(200, b"ok")
        [second] = await converted(world.services, world.account.id)
        await one.burst()
    log = f"/api/webhooks/{webhook.id}/deliveries"
    newest, oldest = (await world.api.get(log)).json()["rows"]
    assert list(newest) == DELIVERY
    assert (newest["event_id"], oldest["event_id"]) == (second, first)
    assert (newest["status"], newest["failing"], newest["next_attempt_at"]) == (
        *("delivered", False, None),
    )
    assert (oldest["status"], oldest["failing"]) == ("due", True)
    assert oldest["next_attempt_at"] > oldest["created_at"]
    assert oldest["payload"].encode() == receiver.received[0].body
    [attempt] = oldest["attempts"]
    assert list(attempt) == ATTEMPT
    assert (attempt["code"], attempt["error"]) == (500, None)
    assert attempt["answer"] == "x" * 1024


async def test_deliveries_are_listed_by_page_and_status(world: World) -> None:
    async with listening(world.services, world.account.id) as (_, webhook):
        ids = await converted(world.services, world.account.id, 5)
    await world.services.stores.mongodb["deliveries"].update_many(
        {"event_id": {"$in": ids[:2]}}, {"$set": {"status": "failed"}}
    )
    log = f"/api/webhooks/{webhook.id}/deliveries"
    failed = (await world.api.get(f"{log}?status=failed")).json()
    assert {row["event_id"] for row in failed["rows"]} == set(ids[:2])
    page = (await world.api.get(f"{log}?page=2&pageSize=2")).json()
    assert len(page["rows"]) == 2
    assert page["pagination"] == {"page": 2, "pageSize": 2, "totalRows": 5, "totalPages": 3}
    refused = await world.api.get(f"{log}?status=lost")
    assert refused.status == 400
    assert refused.error == "status: must be cancelled or delivered or due or failed or failing"


async def test_failing_deliveries_are_listed_and_counted_with_the_state_of_their_webhook(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = now()
    codes: dict[str, list[int | None]] = {
        "waiting": [],
        "failing": [500],
        "unanswered": [200, None],
        "by hand": [500, 200],
    }
    async with listening(world.services, world.account.id) as (_, webhook):
        ids = dict(zip(codes, await converted(world.services, world.account.id, 4), strict=True))
    await world.services.webhooks.webhooks.record_failure(webhook.id, at)
    deliveries = world.services.stores.mongodb["deliveries"]
    for name, found in codes.items():
        attempts = [
            {"at": at, "milliseconds": 1, "code": one, "answer": "", "error": None} for one in found
        ]
        await deliveries.update_one({"event_id": ids[name]}, {"$set": {"attempts": attempts}})
    log = f"/api/webhooks/{webhook.id}/deliveries"
    listed = (await world.api.get(f"{log}?status=failing")).json()
    assert {row["event_id"] for row in listed["rows"]} == {ids["failing"], ids["unanswered"]}
    assert [row["failing"] for row in listed["rows"]] == [True, True]
    assert listed["pagination"]["totalRows"] == 2
    assert listed["webhook"] == {
        "active": True,
        "disabled_reason": None,
        "disabled_at": None,
        "failing_since": iso(at),
        "due": 4,
        "failing": 2,
        "skipped": 0,
    }
    monkeypatch.setattr("tracker.webhooks.deliveries.MAX_COUNTED", 1)
    state = (await world.api.get(log)).json()["webhook"]
    assert (state["due"], state["failing"]) == (1, 1)


async def test_all_that_waits_is_sent_now_up_to_a_limit_and_not_what_is_being_sent(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = now() + timedelta(hours=1)
    async with listening(world.services, world.account.id) as (_, webhook):
        ids = await converted(world.services, world.account.id, 4)
    rows = world.services.stores.mongodb["deliveries"]
    for number, event_id in enumerate(ids):
        due = {"due_at": later + timedelta(minutes=number)}
        held = {"holder": new_id()} if number == 0 else {}
        await rows.update_one({"event_id": event_id}, {"$set": {**due, **held}})
    monkeypatch.setattr("tracker.webhooks.deliveries.MAX_SENT_NOW", 2)
    send = f"/api/webhooks/{webhook.id}/deliveries/send"
    assert (await world.api.post(send)).json() == {"deliveries": 2}
    due_now = {"due_at": {"$lte": now()}}
    assert {row["event_id"] async for row in rows.find(due_now)} == set(ids[1:3])
    [entry] = (await world.api.get(f"/api/audit?accountId={world.account.id}")).json()["rows"]
    assert (entry["action"], entry["changes"]["deliveries"]["after"]) == (
        "webhook.deliveries_retried",
        2,
    )
    await world.services.webhooks.webhooks.change(webhook.id, {"active": False})
    assert (await world.api.post(send)).status == 400


async def test_deliveries_that_failed_since_a_time_are_due_again_which_is_audited_once(
    world: World,
) -> None:
    async with listening(world.services, world.account.id) as (_, webhook):
        await converted(world.services, world.account.id, 3)
    deliveries = world.services.stores.mongodb["deliveries"]
    await deliveries.update_many({}, {"$set": {"status": "failed"}})
    old, *_ = await stored(world.services)
    two_days_ago = {"$set": {"created_at": now() - timedelta(days=2)}}
    await deliveries.update_one({"_id": old["_id"]}, two_days_ago)
    target = f"/api/webhooks/{webhook.id}/deliveries/retry"
    since = iso(now() - timedelta(hours=1))
    for number in (2, 0):
        assert (await world.api.post(target, since=since)).json() == {"deliveries": number}
    assert {row["_id"] for row in await stored(world.services) if row["status"] == "failed"} == {
        old["_id"]
    }
    [entry] = (await world.api.get(f"/api/audit?accountId={world.account.id}")).json()["rows"]
    assert (entry["action"], entry["target"]["id"]) == (
        "webhook.deliveries_retried",
        str(webhook.id),
    )
    assert entry["changes"]["deliveries"]["after"] == 2
    refused = await world.api.post(target, since="0001-01-01T00:00:00+14:00")
    assert (refused.status, refused.error) == (
        400,
        "since: must be in the years 1 to 9999 of UTC",
    )


async def test_a_retried_delivery_is_shown_as_due_and_an_inactive_webhook_has_none(
    world: World,
) -> None:
    async with listening(world.services, world.account.id) as (_, webhook):
        await converted(world.services, world.account.id)
    await world.services.webhooks.deliveries.cancel([webhook.id], now())
    log = f"/api/webhooks/{webhook.id}/deliveries"
    [row] = (await world.api.get(log)).json()["rows"]
    before = iso(now())
    again = (await world.api.post(f"{log}/{row['id']}/retry")).json()
    assert again == row | {"status": "due", "next_attempt_at": again["next_attempt_at"]}
    assert before <= again["next_attempt_at"] <= iso(now())
    await world.services.webhooks.webhooks.change(webhook.id, {"active": False})
    for response in (
        await world.api.post(f"{log}/{row['id']}/retry"),
        await world.api.post(f"{log}/retry", since=iso(now())),
    ):
        assert response.status == 400
        assert response.error == "webhook: is inactive; make it active first"


async def test_a_delivery_of_another_webhook_is_not_found(world: World) -> None:
    async with listening(world.services, world.account.id) as (_, webhook):
        await converted(world.services, world.account.id)
    [row] = await stored(world.services)
    other = await world.services.webhooks.webhooks.create(
        world.account.id, "B", "https://8.8.8.8", "POST", {}
    )
    for webhook_id, delivery_id in ((other.id, row["_id"]), (webhook.id, new_id())):
        target = f"/api/webhooks/{webhook_id}/deliveries/{delivery_id}/retry"
        response = await world.api.post(target)
        assert (response.status, response.error) == (404, "delivery: not found")


@pytest.mark.usefixtures("private_allowed")
@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_test_sends_a_sample_and_returns_the_answer_of_the_receiver(
    world: World, method: str
) -> None:
    async with listening(world.services, world.account.id) as (receiver, webhook):
        template = {"id": "{event_id}", "money": "{value}", "tags": "{tags}", "x": "{query.a}"}
        fields = {"payload_template": template, "method": method, "active": False}
        await world.services.webhooks.webhooks.change(webhook.id, fields)
        receiver.behaviour = answer(418, b"I am a teapot")
        response = await world.api.post(f"/api/webhooks/{webhook.id}/test")
    assert response.status == 200
    result = response.json()
    assert list(result) == ["delivered", "payload", "url", "headers", "attempt"]
    assert result["delivered"] is False
    assert list(result["attempt"]) == ATTEMPT
    assert (result["attempt"]["code"], result["attempt"]["answer"]) == (418, "I am a teapot")
    [received] = receiver.received
    assert (received.error, received.method) == ("", method)
    payload = '{"id":0,"money":19.99,"tags":["sample"],"x":null}'
    assert result["payload"] == payload
    assert received.body.decode() == ("" if method == "GET" else payload)
    assert result["url"] == f"{receiver.url}{received.path}" + f"?{received.query}".rstrip("?")
    assert await stored(world.services) == []


@pytest.mark.usefixtures("private_allowed")
async def test_a_test_sends_the_event_that_it_is_asked_for_else_the_first_of_the_webhook(
    world: World,
) -> None:
    async with listening(world.services, world.account.id) as (_, webhook):
        template = {"now": "{status}", "was": "{previous_status}", "why": "{reason}"}
        changed = '{"now":"refunded","was":"approved","why":"customer_refund"}'
        new = '{"now":"approved","was":null,"why":null}'
        for events, event, payload in (
            (["conversion", "conversion.updated"], "", new),
            (["conversion", "conversion.updated"], "?event=conversion.updated", changed),
            (["conversion.updated"], "", changed),
            (["conversion.updated"], "?event=conversion.recorded", new),
        ):
            fields = {"payload_template": template, "events": events}
            await world.services.webhooks.webhooks.change(webhook.id, fields)
            tested = await world.api.post(f"/api/webhooks/{webhook.id}/test{event}")
            assert (tested.json()["delivered"], tested.json()["payload"]) == (True, payload)


@pytest.mark.usefixtures("private_allowed")
async def test_tests_in_progress_are_limited_for_each_account(world: World) -> None:
    release = asyncio.Event()

    async def wait(handler: Handler) -> None:
        await release.wait()
        handler.finish()

    async with listening(world.services, world.account.id) as (receiver, webhook):
        receiver.behaviour = wait
        test = f"/api/webhooks/{webhook.id}/test"
        running = [asyncio.create_task(world.api.post(test)) for _ in range(MAX_TESTS_PER_ACCOUNT)]
        await eventually(lambda: len(receiver.received) >= MAX_TESTS_PER_ACCOUNT)
        refused = await world.api.post(test)
        release.set()
        answered = await asyncio.gather(*running)
        assert (refused.status, refused.headers["Retry-After"]) == (429, "15")
        assert refused.error == "webhook: 4 tests of the account are under way; try again"
        assert [one.json()["delivered"] for one in answered] == [True] * MAX_TESTS_PER_ACCOUNT
        assert (await world.api.post(test)).status == 200
    assert len(receiver.received) == MAX_TESTS_PER_ACCOUNT + 1


async def test_a_test_is_unavailable_while_the_secret_cannot_be_read(world: World) -> None:
    box = SecretBox([bytes(range(32))], Purpose.WEBHOOK)
    made = await Webhooks(world.services.stores.mongodb, box, world.services.webhooks.queue).create(
        world.account.id, "A", "https://8.8.8.8", "POST", {}
    )
    refused = await world.api.post(f"/api/webhooks/{made.id}/test")
    assert (refused.status, refused.error) == (
        503,
        "webhook: its secrets cannot be read; the operator has to set SECRET_KEY",
    )
    assert (await world.api.get(f"/api/webhooks/{made.id}")).status == 200


async def test_a_conversion_shows_the_deliveries_of_its_changes(world: World) -> None:
    account_id = world.account.id
    webhook = await create_webhook(world.services, account_id)
    await ask(world.services, webhook.id, "conversion", "conversion.updated")
    one = conversion(account_id)
    await settle(world.services, one)
    await change(world.services, one, reported="rejected")
    shown = (await world.api.get(f"/api/conversions/{one['_id']}")).json()
    assert [row["kind"] for row in shown["deliveries"]] == ["conversion", "conversion.updated"]
