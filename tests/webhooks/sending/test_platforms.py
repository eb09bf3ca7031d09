"""Ad platforms are told of conversions in their form, several at once, and each event by itself
once a platform has refused some."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from bson import Decimal128

from tests.factories import Document, make_click_document
from tests.webhooks.presets.platforms import BAD, HEADERS, PLATFORMS, SETTINGS, platform
from tests.webhooks.receiver import Receiver, answer
from tests.webhooks.sending.scene import (
    Clock,
    SteppedSender,
    listening,
    sending,
    stored,
    webhook_now,
)
from tests.webhooks.telling import ask, change, conversion, settle
from tracker.clock import now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.delivery import Preset
from tracker.webhooks.presets.ads import MAX_EVENTS, expanded
from tracker.webhooks.store import Webhook

ACCOUNT = new_id()
pytestmark = pytest.mark.usefixtures("any_time")
IDS = {"fbclid": "Fb", "ttclid": "Tt", "gclid": "G", "gbraid": "Gb", "msclkid": "M"}
MONEY = {"value": Decimal128("19.99"), "currency": "EUR"}


@asynccontextmanager
async def telling(
    services: Services, preset: Preset, clock: Clock | None = None
) -> AsyncIterator[tuple[Receiver, Webhook, SteppedSender]]:
    """Yield a platform of ours, a webhook that tells it, and its sender."""
    async with (
        listening(services, ACCOUNT) as (receiver, webhook),
        sending(services, clock) as sender,
    ):
        receiver.behaviour = platform(preset)
        made = expanded(preset, SETTINGS[preset])
        fields = {"preset": preset, "headers": HEADERS[preset]}
        fields["payload_template"] = made["payload_template"]
        await services.webhooks.webhooks.change(webhook.id, fields)
        yield receiver, webhook, sender


async def click(services: Services, **fields: Any) -> UUID:
    given = {"account_id": ACCOUNT, "ad_ids": IDS, "user_agent": "Firefox", "referrer": ""}
    document = make_click_document(**{**given, "query": "", "at": now(), **fields})
    await services.stores.mongodb["clicks"].insert_one(document)
    key: UUID = document["_id"]
    return key


def sale(click_id: UUID, transaction_id: str, **fields: Any) -> Document:
    given = {"click_id": click_id.bytes, "transaction_id": transaction_id, "at": now(), **MONEY}
    return conversion(ACCOUNT, **{**given, **fields})


def events_of(receiver: Receiver) -> list[list[Any]]:
    bodies = [json.loads(one.body) for one in receiver.received]
    return [body.get("events") or body["data"] for body in bodies]


ID_FIELDS = dict.fromkeys(PLATFORMS, "event_id") | {
    Preset.GOOGLE: "transactionId",
    Preset.MICROSOFT: "eventId",
}


@pytest.mark.parametrize("preset", PLATFORMS)
async def test_several_conversions_are_one_request_and_a_bad_one_fails_alone(
    services: Services, preset: Preset
) -> None:
    clock = Clock()
    async with telling(services, preset, clock) as (receiver, webhook, sender):
        key = await click(services)
        await settle(services, *(sale(key, f"T{number}") for number in range(MAX_EVENTS + 2)))
        await sender.burst()
        sizes = [len(one) for one in events_of(receiver)]
        assert sorted(sizes) == [2, MAX_EVENTS]
        assert {row["status"] for row in await stored(services)} == {"delivered"}
        receiver.received.clear()
        await settle(services, *(sale(key, one) for one in ("A", BAD, "B")))
        await sender.burst()
        assert [len(one) for one in events_of(receiver)] == [3]
        rows = [row for row in await stored(services) if row["status"] == "due"]
        assert [len(row["attempts"]) for row in rows] == [1, 1, 1]
        page, _ = await services.webhooks.deliveries.page(webhook.id, ["failing"], 1, 25)
        assert len(page) == 3
        clock.pass_seconds(6)
        await sender.burst()
        assert [len(one) for one in events_of(receiver)] == [3, 1, 1, 1]
        rows = [row for row in await stored(services) if len(row["attempts"]) == 2]
        assert sorted(row["status"] for row in rows) == ["delivered", "delivered", "due"]
        [bad] = [row for row in rows if row["status"] == "due"]
        [event] = json.loads(bad["payload"]).get("events") or json.loads(bad["payload"])["data"]
        assert event[ID_FIELDS[preset]] == BAD


async def test_each_platform_gets_what_it_documents(services: Services) -> None:
    at = now().replace(microsecond=0)
    seconds = int(at.timestamp())
    found = {}
    for preset in PLATFORMS:
        async with telling(services, preset) as (receiver, webhook, sender):
            key = await click(services, at=at, consent="granted", address="192.0.2.7")
            metadata = '{"email": "Ann@Example.com", "phone": "+49 30"}'
            await settle(services, {**sale(key, preset, at=at), "metadata": metadata})
            await sender.burst()
            [[found[preset]]] = events_of(receiver)
            await services.webhooks.webhooks.delete(webhook.id)
    meta, tiktok, google, microsoft = (found[preset] for preset in PLATFORMS)
    assert meta["user_data"].pop("fbc") == f"fb.1.{seconds * 1000}.Fb"
    assert {len(one) for [one] in (meta["user_data"].pop(name) for name in ("em", "ph"))} == {64}
    assert meta == {
        "event_name": "Purchase",
        "event_time": seconds,
        "event_id": "meta",
        "action_source": "website",
        "user_data": {"client_ip_address": "192.0.2.7", "client_user_agent": "Firefox"},
        "custom_data": {"value": 19.99, "currency": "EUR"},
    }
    assert (tiktok["event"], tiktok["event_time"]) == ("Purchase", seconds)
    assert (tiktok["user"]["ttclid"], tiktok["user"]["ip"]) == ("Tt", "192.0.2.7")
    assert google["adIdentifiers"] == {"gclid": "G"}
    assert set(google["consent"].values()) == {"CONSENT_GRANTED"}
    assert google["eventTimestamp"] == at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert len(google["userData"]["userIdentifiers"]) == 2
    assert (microsoft["userData"]["msclkid"], microsoft["adStorageConsent"]) == ("M", "G")


async def test_what_is_too_old_none_of_the_platforms_or_denied_is_not_sent(
    services: Services,
) -> None:
    async with telling(services, Preset.META) as (receiver, webhook, sender):
        key = await click(services)
        old = now() - timedelta(days=7, seconds=1)
        await settle(services, sale(key, "A", at=old, received_at=now()))
        await settle(services, sale(await click(services, ad_ids={}, address="192.0.2.7"), "B"))
        await settle(services, sale(await click(services, consent="denied"), "C"))
        asked = await click(services, consent="granted")
        answer_later = {"_id": asked, "consent": "denied"}
        await services.stores.mongodb["consents"].insert_one(answer_later)
        await settle(services, sale(asked, "D"))
        await sender.burst()
        assert receiver.received == []
        ends = [(row["status"], row["attempts"][-1]["error"]) for row in await stored(services)]
        assert ends == [
            ("failed", "expired: too old for meta, which takes 7 days"),
            ("cancelled", "untold: neither an id of meta, nor email or phone"),
            *[("cancelled", "untold: consent is denied, and meta has no field for that")] * 2,
        ]
        assert (await webhook_now(services, webhook)).failing_since is None


async def test_what_is_not_sent_for_one_reason_takes_one_permit(services: Services) -> None:
    async with telling(services, Preset.META) as (receiver, _, sender):
        key = await click(services, ad_ids={})
        await settle(services, *(sale(key, f"T{number}") for number in range(5)))
        assert await sender._start() == 5
        await asyncio.gather(*sender._in_flight)
        assert receiver.received == []
        assert {row["status"] for row in await stored(services)} == {"cancelled"}


async def test_consent_about_a_click_of_another_account_is_not_passed_on(
    services: Services,
) -> None:
    async with telling(services, Preset.GOOGLE) as (receiver, _, sender):
        metadata = '{"email": "ann@example.com"}'
        for owner, name in ((ACCOUNT, "own"), (new_id(), "foreign")):
            key = await click(services, account_id=owner)
            await services.stores.mongodb["consents"].insert_one({"_id": key, "consent": "denied"})
            await settle(services, {**sale(key, name), "metadata": metadata})
        await sender.burst()
        told = {one["transactionId"]: one for events in events_of(receiver) for one in events}
        assert ("consent" in told["own"], "consent" in told["foreign"]) == (True, False)


async def test_google_is_told_of_a_refund_as_another_value_of_the_same_transaction(
    services: Services,
) -> None:
    async with telling(services, Preset.GOOGLE) as (receiver, webhook, sender):
        both = ("conversion", "conversion.updated")
        await ask(services, webhook.id, *both, statuses=("approved", "refunded"))
        one = sale(await click(services), "T")
        await settle(services, one)
        two = await change(services, one, reported="refunded", refunded_value=Decimal128("5"))
        await change(services, two, reported="rejected")
        await sender.burst()
        told = [event for events in events_of(receiver) for event in events]
        assert [(event["transactionId"], event["conversionValue"]) for event in told] == [
            ("T", 19.99),
            ("T", 14.99),
        ]


async def test_an_outage_or_a_refused_token_splits_no_batch(services: Services) -> None:
    clock = Clock()
    async with telling(services, Preset.META, clock) as (receiver, _, sender):
        key = await click(services)
        await settle(services, *(sale(key, one) for one in "AB"))
        for behaviour in (answer(503), answer(401), answer(200, b"no JSON")):
            receiver.behaviour = behaviour
            await sender.burst()
            clock.pass_seconds(400)
        assert [len(one) for one in events_of(receiver)] == [2, 2, 2]
        errors = [row["attempts"][-1]["error"] for row in await stored(services)]
        assert errors == ["refused: meta has not taken it"] * 2


async def test_after_hours_without_an_answer_for_the_batch_each_event_is_sent_alone(
    services: Services,
) -> None:
    clock = Clock()
    async with telling(services, Preset.META, clock) as (receiver, _, sender):
        key = await click(services)
        await settle(services, *(sale(key, one) for one in "AB"))
        receiver.behaviour = answer(500)
        for hours in (1, 1, 1, 3, 6):
            await sender.burst()
            clock.pass_seconds(hours * 3600)
        receiver.behaviour = platform(Preset.META)
        await sender.burst()
        assert [len(one) for one in events_of(receiver)] == [2] * 5 + [1, 1]
