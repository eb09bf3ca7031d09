"""What visitors answer who are asked for consent: with a conversion, and by `/api/consent`."""

import asyncio
from datetime import timedelta

import orjson
import pytest

from config.settings import Settings
from tests.conversions import scene
from tests.conversions.api.reporting import EVERY_WAY, Send
from tests.conversions.outage import without_mongodb
from tests.factories import create_click, create_event_config
from tests.web.client import Client, Response
from tests.web.each import each_case
from tests.web.world import World
from tracker.clock import now
from tracker.conversions.consent import KNOWN_DAYS, UNKNOWN_DAYS, Consents, consents_of
from tracker.errors import Unavailable
from tracker.ids import new_id
from tracker.limits.allowance import Allowance
from tracker.service.services import Services
from tracker.stores.mongodb import drivers

SHOP = "https://shop.example"
ID = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"


async def answered(client: Client, click_id: object, consent: str, **headers: str) -> Response:
    body = orjson.dumps({"click_id": str(click_id), "consent": consent})
    return await client.post("/api/consent", body, **headers)


async def test_the_last_answer_about_a_click_counts_whatever_is_stored_of_it(world: World) -> None:
    known, unknown = await create_click(world.services, world.account.id), new_id()
    for consent in ("granted", "denied"):
        for click_id in (known, unknown):
            sent = await answered(world.client, click_id, consent, Content_Type="text/plain")
            assert (sent.status, sent.json()) == (200, {"success": True})
    ids = [known.bytes, unknown.bytes, new_id().bytes]
    mongodb = world.services.stores.mongodb
    assert await consents_of(mongodb.reads, ids) == dict.fromkeys(ids[:2], "denied")
    assert await consents_of(mongodb.reads, []) == {}
    listed = await world.api.get(f"/api/clicks?accountId={world.account.id}")
    assert [row["consent"] for row in listed.json()["rows"]] == ["denied"]
    for click_id, days in ((known, KNOWN_DAYS), (unknown, UNKNOWN_DAYS)):
        stored = await mongodb["consents"].find_one({"_id": click_id})
        assert stored
        left = stored["expires_at"] - now()
        assert timedelta(days=days, minutes=-10) < left <= timedelta(days=days)


async def test_answers_of_one_moment_are_written_together_in_their_order(
    services: Services,
) -> None:
    record, one, other = services.conversions.consents.record, new_id(), new_id()
    answers = [(one, "granted"), (other, "denied"), (one, "denied")]
    await asyncio.gather(*(record(*answer, "203.0.113.7") for answer in answers))
    found = await consents_of(services.stores.mongodb.reads, [one.bytes, other.bytes])
    assert found == {one.bytes: "denied", other.bytes: "denied"}


@EVERY_WAY
async def test_a_conversion_keeps_the_consent_that_it_tells(world: World, send: Send) -> None:
    config = await create_event_config(world.services, world.account.id)
    for consent in ("granted", "denied", ""):
        sent = await send(world.client, {"pbk": config.pbk, "consent": consent})
        assert sent.status == 200
    await scene.drained(world.services)
    listed = await world.api.get(f"/api/conversions?accountId={world.account.id}")
    rows = sorted(listed.json()["rows"], key=lambda row: row["event_id"])
    assert [row["consent"] for row in rows] == ["granted", "denied", None]


@each_case(
    "body, status, error",
    [
        (b"", 400, "body: must be valid JSON"),
        (b"click_id=x&consent=granted", 400, "body: must be valid JSON"),
        (b'{"consent":"granted"}', 400, "click_id: required"),
        (b'{"click_id":"%b"}' % ID.encode(), 400, "consent: required"),
        (b'{"click_id":"x","consent":"granted"}', 400, "click_id: must be a UUID"),
        (
            b'{"click_id":"%b","consent":"yes"}' % ID.encode(),
            400,
            "consent: must be denied or granted",
        ),
        (b'{"click_id":"%b","consent":"denied","a":1}' % ID.encode(), 400, "a: unknown field"),
        (b" " * 9000, 413, "body: at most 8192 bytes"),
    ],
)
async def test_an_answer_that_breaks_a_rule_is_refused(
    world: World, body: bytes, status: int, error: str
) -> None:
    refused = await world.client.post("/api/consent", body, Origin=SHOP)
    assert (refused.status, refused.error[: len(error)]) == (status, error)
    assert refused.headers["Access-Control-Allow-Origin"] == SHOP
    assert await world.services.stores.mongodb["consents"].find_one() is None


async def test_pages_of_any_origin_may_send_answers(client: Client) -> None:
    asked = {"Origin": SHOP, "Access_Control_Request_Method": "POST"}
    allowed = await client.request("OPTIONS", "/api/consent", asked)
    assert (allowed.status, allowed.headers["Access-Control-Allow-Origin"]) == (204, SHOP)
    assert allowed.headers["Access-Control-Allow-Methods"] == "POST, OPTIONS"


async def test_a_sender_s_share_is_that_of_conversions_without_an_account(world: World) -> None:
    known = await create_click(world.services, world.account.id)
    allowance: Allowance = world.services.conversions.consents._pending
    assert allowance is world.services.conversions.recorder._pending
    allowance._capacity, allowance._now = 2.0, lambda: 0.0
    statuses = [(await answered(world.client, new_id(), "granted")).status for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert (await answered(world.client, known, "granted")).status == 200
    refused = await answered(world.client, new_id(), "denied")
    assert int(refused.headers["Retry-After"]) > 0


async def test_an_answer_that_cannot_be_stored_is_not_taken(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 1.5)
    async with scene.process(without_mongodb(settings)) as services:
        consents: Consents = services.conversions.consents
        for _ in range(2):
            with pytest.raises(Unavailable):
                await consents.record(new_id(), "granted", "203.0.113.7")
