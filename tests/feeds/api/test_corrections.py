"""Corrections: what a request states, what is appended, and the conversion as it will be."""

from typing import Any

import orjson
import pytest
from bson import Decimal128

from tests.conversions.scene import applied, burst, drain_of, drained, stored_events
from tests.factories import create_event_config, make_click, make_conversion, make_event_document
from tests.web.each import each_case
from tests.web.records import journaled
from tests.web.world import World
from tracker.clock import day_of, moment
from tracker.conversions.conversion import Correction
from tracker.conversions.corrections.status import click_key
from tracker.errors import Unavailable
from tracker.feeds.corrections.statement import MAX_CORRECTING
from tracker.ids import new_id
from tracker.ingest.consumer import Consumer
from tracker.journal.appender import Appender
from tracker.stores.redis.keys import JOURNAL, OVERFLOW

SENT = {"reason": "customer_refund", "note": "By phone"}


async def store(world: World, number: int, **fields: Any) -> None:
    document = make_event_document(number, **{"account_id": world.account.id, **fields})
    events = world.services.stores.mongodb["events"]
    await events.replace_one({"_id": number}, document, upsert=True)


async def stated(world: World) -> list[tuple[int, Any]]:
    """Return what the corrections in the journal state."""
    records = await journaled(world.services)
    return [
        (one.event_id, orjson.loads(one.stated)) for one in records if isinstance(one, Correction)
    ]


async def test_a_correction_is_appended_and_answered_as_it_will_be(world: World) -> None:
    await store(world, 1)
    first = await world.api.patch("/api/conversions/1", value=12.5, payout=2, **SENT)
    assert first.status == 200, first.body
    answer = (
        await world.api.patch(
            "/api/conversions/1", status="refunded", refunded_value=2.5, reason="chargeback"
        )
    ).json()
    shown = ("status", "value", "payout", "refunded_value", "attribution")
    assert [answer[one] for one in shown] == ["refunded", 12.5, 2, 2.5, "no_click"]
    assert await stated(world) == [
        (1, {"value": "12.5", "payout": "2"}),
        (1, {"reported": "refunded", "refunded_value": "2.5"}),
    ]
    original, by_phone, charged = answer["changes"]
    assert original["actor"] == {"kind": "postback", "id": None, "name": None}
    assert original["stated"] == {"status": "approved"}
    assert by_phone["actor"] | {"id": 0} == {"kind": "key", "id": 0, "name": "a key"}
    assert (by_phone["reason"], by_phone["note"]) == ("customer_refund", "By phone")
    assert (by_phone["stated"], by_phone["before"]) == (
        {"value": 12.5, "payout": 2},
        {"value": None, "payout": None},
    )
    assert charged["before"] == {"status": "approved", "refunded_value": None}
    assert by_phone["at"] < charged["at"]


async def test_the_answer_is_what_the_drain_makes_of_it_and_followers_get_it(world: World) -> None:
    click = make_click(world.account.id)
    own = {"account_id": world.account.id.bytes, "value": "10", "payout": "2"}
    await applied(world.services, [click, make_conversion(1, click.id, **own)])
    page = f"/api/conversions?accountId={world.account.id}"
    since = (await world.api.get(page)).json()["since_cursor"]
    person = await world.person()
    sent = {"status": "refunded", "refunded_value": 4, **SENT}
    answer = await person.send_raw("PATCH", "/api/conversions/1", orjson.dumps(sent))
    assert answer.json()["changes"][1]["actor"]["kind"] == "person"
    await world.api.patch("/api/conversions/1", status="rejected", refunded_value=None, **SENT)
    answer = await world.api.patch("/api/conversions/1", payout=1, **SENT)
    await drained(world.services)
    assert (await world.api.get("/api/conversions/1")).json() == answer.json()
    assert len(answer.json()["changes"]) == 4
    followed = (await world.api.get(f"{page}&since={since}")).json()["rows"]
    shown = [(row["event_id"], row["status"], row["payout"]) for row in followed]
    assert shown == [(1, "rejected", 1)]


@pytest.mark.parametrize("way", ["spool", "overflow"])
async def test_a_correction_that_goes_another_way_and_comes_twice_is_applied_once(
    world: World, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    services = world.services
    click = make_click(world.account.id)
    own = {"account_id": world.account.id.bytes, "value": "10", "payout": "2"}
    await applied(services, [click, make_conversion(1, click.id, **own)])
    journal = services.journal.journal
    with monkeypatch.context() as patched:
        if way == "spool":  # as while Redis is away
            patched.setattr(Appender, "is_usable", False)
        else:
            patched.setattr(journal.overflow, "is_counting", True)
            patched.setattr(journal.overflow, "takes", lambda _: True)
        assert (await world.api.patch("/api/conversions/1", value=7, **SENT)).status == 200
        assert bool(journal.spool.bytes_waiting) == (way == "spool")
    [correction] = await journaled(services)
    stream = JOURNAL if way == "spool" else OVERFLOW
    assert await services.stores.redis.xlen(stream) == 1
    redis = services.stores.redis, services.stores.redis_blocking
    assert await burst(Consumer(*redis, drain_of(services).apply, stream=stream)) == 1
    await applied(services, [correction, correction])
    [event] = await stored_events(services)
    assert (str(event["value"]), len(event["changes"]), event["revision"]) == ("7", 2, 1)
    day = day_of(moment(click.at))
    body = {"dateRange": {"from": day, "to": day}, "groupBy": "day"}
    report = await world.api.post("/api/reports", accountId=str(world.account.id), **body)
    assert report.json()["totals"]["value"] == 7


async def test_what_changes_nothing_appends_nothing(world: World) -> None:
    await store(world, 1)
    for fields in ({"value": 5}, {"value": 5}, {"status": "approved"}, {"refunded_value": None}):
        answer = await world.api.patch("/api/conversions/1", **SENT, **fields)
        assert (answer.status, answer.json()["value"]) == (200, 5)
    assert await stated(world) == [(1, {"value": "5"})]


async def test_a_value_is_taken_back_before_its_correction_is_stored(world: World) -> None:
    await store(world, 1)
    for value in (5, None, 5):
        await world.api.patch("/api/conversions/1", value=value, **SENT)
    assert await stated(world) == [(1, {"value": one}) for one in ("5", None, "5")]


async def test_a_value_is_taken_back_after_more_corrections_than_are_kept(world: World) -> None:
    await store(world, 1)
    await world.api.patch("/api/conversions/1", value=5, **SENT)
    for payout in range(MAX_CORRECTING):
        await world.api.patch("/api/conversions/1", payout=payout, **SENT)
    await world.api.patch("/api/conversions/1", value=None, **SENT)
    await drained(world.services)
    assert (await world.api.get("/api/conversions/1")).json()["value"] is None


@each_case(
    "sent, error",
    [
        ({}, "status or value or payout or refunded_value: at least one is required"),
        ({"value": "12"}, "value: must be a finite number such as 12.50"),
        ({"value": True}, "value: must be a finite number such as 12.50"),
        ({"payout": 10**16}, "payout: at most 10^15, and 30 digits"),
        ({"refunded_value": -1}, "refunded_value: must be 0 or more"),
        ({"status": "refunded", "value": -1}, "value: of a refunded conversion at least 0"),
        ({"refunded_value": 11}, "refunded_value: at most the value of the conversion"),
        ({"refunded_value": 9, "value": 8}, "refunded_value: at most the value of the conversion"),
        (
            {"refunded_value": 1, "status": "rejected"},
            "refunded_value: only of an approved or refunded conversion; send null",
        ),
        ({"status": "lost"}, "status: must be approved or pending or refunded or rejected"),
        ({"value": 1, "reason": "because"}, "reason: must be chargeback or customer_refund or "),
        ({"value": 1, "note": "a" * 501}, "note: 1 to 500 characters, no control characters"),
    ],
)
async def test_a_wrong_correction_is_400_and_names_field_and_rule(
    world: World, sent: dict[str, Any], error: str
) -> None:
    await store(world, 1, value=Decimal128("10"))
    answer = await world.api.patch("/api/conversions/1", **{**SENT, **sent})
    assert (answer.status, answer.error[: len(error)]) == (400, error)
    assert await stated(world) == []


@each_case("state", ["refused", "duplicate", "test"])
async def test_what_does_not_count_is_not_corrected(world: World, state: str) -> None:
    await store(world, 1, status=state)
    answer = await world.api.patch("/api/conversions/1", value=1, **SENT)
    assert answer.error == f"conversion: is {state} and does not count"


async def test_a_transaction_id_of_several_configurations_needs_the_configuration(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    order = {"transaction_id": "a/b ä"}
    await store(world, 1, **order, transaction_scope=world.account.id)
    await store(world, 2, **order, transaction_scope=config.id, event_config_id=config.id)
    await store(world, 3, **order, transaction_scope=new_id(), account_id=new_id())
    path = "/api/conversions/by-transaction/a%2Fb%20%C3%A4"
    given = {"accountId": str(world.account.id), "status": "rejected", **SENT}
    several = await world.api.patch(path, **given)
    assert several.error == (
        "event: required; conversions of several event configurations have the id"
    )
    for event, found in ((config.id, 2), ("none", 1)):
        answer = await world.api.patch(f"{path}?event={event}", **given)
        assert (answer.status, answer.json()["event_id"]) == (200, found)
    assert (await world.api.patch(f"{path}?event={new_id()}", **given)).status == 404
    assert (await world.api.patch(path + "x", **given)).status == 404


async def test_the_click_that_stands_for_a_transaction_id_is_no_name(world: World) -> None:
    key = click_key(new_id())
    scoped = {"transaction_id": key, "transaction_scope": world.account.id}
    await store(world, 1, **scoped)
    assert (await world.api.get("/api/conversions/1")).json()["transaction_id"] is None
    encoded = key.replace("\x1f", "%1F")
    listed = f"/api/conversions?accountId={world.account.id}"
    found = (await world.api.get(f"{listed}&transaction_id={encoded}")).json()
    assert found["rows"] == []
    assert [row["transaction_id"] for row in (await world.api.get(listed)).json()["rows"]] == [None]
    given = {"accountId": str(world.account.id), "value": 1, **SENT}
    refused = await world.api.patch(f"/api/conversions/by-transaction/{encoded}", **given)
    assert refused.status == 404
    many = {
        "accountId": str(world.account.id),
        "rows": [{"transaction_id": key, "value": 1, **SENT}],
    }
    answered = (await world.api.post("/api/conversions/bulk", **many)).json()["rows"]
    assert [one["code"] for one in answered] == ["not_found"]


async def test_each_row_of_many_is_answered_in_order(world: World) -> None:
    await store(world, 1)
    await store(world, 2, transaction_id="T-2", transaction_scope=world.account.id)
    await store(world, 3, account_id=world.other_account.id)
    rows: list[dict[str, Any]] = [
        {"event_id": 1, "value": 5},
        {"transaction_id": "T-2", "status": "rejected"},
        {"event_id": 3, "value": 1},
        {"transaction_id": "T-9", "value": 1},
        {"event_id": 1, "value": 6},
        {"event_id": 2, "value": "x"},
        {"transaction_id": "T-2", "event": "none", "value": "x"},
    ]
    answer = await world.api.post(
        "/api/conversions/bulk",
        accountId=str(world.account.id),
        rows=[{**SENT, **row} for row in rows],
    )
    assert answer.status == 200, answer.body
    shown = [
        (row["conversion"] and row["conversion"]["event_id"], row["error"])
        for row in answer.json()["rows"]
    ]
    no_number = "value: must be a finite number such as 12.50"
    assert shown == [
        (1, None),
        (2, None),
        (None, "conversion: belongs to another account"),
        (None, "conversion: not found"),
        (None, "event_id: repeated in this request"),
        (None, no_number),
        (None, no_number),
    ]
    assert await stated(world) == [(1, {"value": "5"}), (2, {"reported": "rejected"})]
    audited = await world.services.stores.mongodb["audit"].find().to_list(None)
    assert [one["target"]["name"] for one in audited] == ["1", "2"]
    assert audited[0]["changes"]["fields"]["after"] == "value"


async def test_a_correction_that_is_not_durable_is_503_and_leaves_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store(world, 1)

    def full(_: object) -> None:
        raise Unavailable("storage is unavailable; try again")

    with monkeypatch.context() as patched:
        patched.setattr(world.services.journal.journal, "append", full)
        answer = await world.api.patch("/api/conversions/1", value=5, **SENT)
        assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
        assert await world.services.stores.mongodb["audit"].count_documents({}) == 0
    again = await world.api.patch("/api/conversions/1", value=5, **SENT)
    assert again.status == 200
    assert await stated(world) == [(1, {"value": "5"})]


async def test_conversions_are_found_by_status_attribution_and_currency(world: World) -> None:
    await store(world, 1)
    await store(world, 2, reported="pending", status="pending")
    await store(world, 3, reported="rejected", currency="EUR")

    async def found(query: str) -> list[int]:
        path = f"/api/conversions?accountId={world.account.id}{query}"
        return sorted(row["event_id"] for row in (await world.api.get(path)).json()["rows"])

    assert await found("&status=approved") == [1]
    assert await found("&status=pending") == [2]
    assert await found("&attribution=pending") == [2]
    assert await found("&status=no_click") == [1, 3]
    assert await found("&status=no_click&status=rejected") == [3]
    assert await found("&currency=eur") == [3]
    assert await found("&currency=units") == [1, 2]
    await world.api.patch("/api/account", accountId=str(world.account.id), currency="USD")
    assert await found("&currency=usd") == [1, 2]
    shown = [(await world.api.get(f"/api/conversions/{one}")).json() for one in (1, 3)]
    assert [one["currency"] for one in shown] == ["USD", "EUR"]
