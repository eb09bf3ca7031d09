"""Deliveries are claimed, sent, signed and recorded, each by one sender."""

import asyncio
import json
import resource
from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

import pytest

from tests.conversions import scene
from tests.factories import (
    create_event_config,
    create_link,
    create_webhook,
    make_click,
    make_conversion,
)
from tests.waiting import eventually
from tests.web.each import each_case
from tests.webhooks.receiver import Handler, answer
from tests.webhooks.sending.scene import Clock, converted, listening, sending, stored, the_one
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.deliveries import LOG_DAYS
from tracker.webhooks.delivery import delivery_id
from tracker.webhooks.limits import MAX_IN_FLIGHT
from tracker.webhooks.store import Webhook

ACCOUNT = new_id()


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
    [attempt] = row["attempts"]
    assert row["payload"].encode() == received.body
    assert row["expires_at"] == attempt["at"] + timedelta(days=LOG_DAYS)
    assert (attempt["code"], attempt["answer"], attempt["error"]) == (201, "thanks", None)
    assert 0 <= attempt["milliseconds"] < 15_000


async def test_a_payload_has_the_values_of_the_click_and_its_link(services: Services) -> None:
    link = await create_link(services, ACCOUNT)
    config = await create_event_config(services, ACCOUNT)
    click = make_click(ACCOUNT, link_id=link.id.bytes)
    own = {"account_id": ACCOUNT.bytes, "event_config_id": config.id.bytes}
    event = make_conversion(1, click.id, metadata='{"order":{"id":7}}', **own)
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        await scene.applied(services, [click, event])
        await one.burst()
    body = json.loads(receiver.received[0].body)
    names = ("slug", "event_name", "browser", "metadata", "tags")
    expected = ["abc", "Purchase", "Chrome", {"order": {"id": 7}}, []]
    assert [body[name] for name in names] == expected


async def test_a_delivery_whose_event_is_gone_fails_alone_and_says_why(services: Services) -> None:
    async with listening(services, ACCOUNT) as (receiver, _), sending(services) as one:
        gone, there = await converted(services, ACCOUNT, 2)
        await services.stores.mongodb["events"].delete_one({"_id": gone})
        assert await one.burst() == 2
    rows = await stored(services)
    assert [row["status"] for row in rows] == ["failed", "delivered"]
    assert rows[0]["attempts"][0]["error"] == "payload: the event is no longer stored"
    assert [json.loads(got.body)["event_id"] for got in receiver.received] == [there]


@each_case(
    "files, slots",
    [(1024, 256), (65_536, MAX_IN_FLIGHT), (resource.RLIM_INFINITY, MAX_IN_FLIGHT)],
)
async def test_requests_in_flight_take_a_quarter_of_the_open_files_at_most(
    services: Services, monkeypatch: pytest.MonkeyPatch, files: int, slots: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    async with sending(services) as one:
        assert one._limiter._max == slots


async def test_slots_of_a_webhook_that_is_deleted_meanwhile_are_released(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_all = services.webhooks.webhooks.find_all

    async def too_late(ids: Collection[UUID]) -> dict[UUID, Webhook]:
        for webhook_id in ids:
            await services.webhooks.webhooks.delete(webhook_id)
        return await find_all(ids)

    monkeypatch.setattr(services.webhooks.webhooks, "find_all", too_late)
    await create_webhook(services, ACCOUNT)
    async with sending(services) as one:
        await converted(services, ACCOUNT)
        free = one._limiter.free_permits
        assert await one.burst() == 0
        assert one._limiter.free_permits == free
        assert await one.burst() == 0
    assert (await the_one(services))["status"] == "cancelled"


async def test_a_request_counts_with_its_bytes_until_it_is_written(services: Services) -> None:
    answered = asyncio.Event()

    async def late(handler: Handler) -> None:
        await answered.wait()
        handler.finish()

    async with listening(services, ACCOUNT) as (receiver, webhook), sending(services) as one:
        receiver.behaviour = late
        await converted(services, ACCOUNT)
        async with asyncio.TaskGroup() as group:
            group.create_task(one.burst())
            await eventually(lambda: receiver.received)
            await eventually(lambda: not one._limiter._bytes["all"])
            assert one._limiter.in_flight(ACCOUNT, webhook.id) == (1, 1)
            answered.set()
        assert not one._limiter._bytes
