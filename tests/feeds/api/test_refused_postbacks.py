"""Refused postbacks: kept for their account, counted by reason, bounded, and without secrets."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.conversions.api.reporting import clicked, drained
from tests.factories import create_event_config
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.conversions import refusals
from tracker.errors import (
    BadRequest,
    MethodNotAllowed,
    PayloadTooLarge,
    RateLimited,
    TrackerError,
    Unavailable,
)
from tracker.ids import new_id
from tracker.metrics import POSTBACKS_NOT_STORED
from tracker.service.services import Services


async def listed(
    services: Services, api: KeyedClient, account: Account, query: str = ""
) -> dict[str, Any]:
    await services.conversions.refusals.store()
    response = await api.get(f"/api/refused-postbacks?accountId={account.id}{query}")
    assert response.status == 200, response.body
    found: dict[str, Any] = response.json()
    return found


async def test_a_refused_postback_is_kept_with_its_reason_and_what_was_sent(world: World) -> None:
    config = await create_event_config(world.services, world.account.id, name="Purchase")
    refused = await world.client.get(
        f"/api/event?pbk={config.pbk}&click_id=%7Bclick_id%7D&token=s3cret&value=12"
    )
    [row] = (await listed(world.services, world.api, world.account))["rows"]
    assert (
        row.items()
        >= {
            "method": "GET",
            "reason": "click_id",
            "status": 400,
            "error": refused.error,
            "query": f"pbk={config.pbk[:4]}…&click_id=%7Bclick_id%7D&token=…&value=12",
            "body": "",
            "event_config": {"id": str(config.id), "name": "Purchase"},
            "click_id": None,
        }.items()
    )
    stored = await world.services.stores.mongodb["refused_postbacks"].find_one({})
    assert config.pbk not in str(stored)


async def test_requests_on_the_fast_path_are_kept_too(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    await world.services.conversions.event_configs.change(config.id, {"active": False})
    reader, writer = await asyncio.open_connection("127.0.0.1", world.client.port)
    writer.write(f"GET /api/event?pbk={config.pbk} HTTP/1.1\r\nHost: a.example\r\n\r\n".encode())
    assert b" 404 " in await reader.readline()
    writer.close()
    [row] = (await listed(world.services, world.api, world.account))["rows"]
    assert (row["reason"], row["status"]) == ("pbk", 404)


async def test_one_without_a_known_key_belongs_to_the_account_of_its_click(world: World) -> None:
    click_id = await clicked(world.services, world.client, world.account)
    await drained(world.services)
    await world.client.post("/api/event", f'{{"pbk": "wrong", "click_id": "{click_id}"}}'.encode())
    await world.client.get("/api/event?pbk=wrong")
    await world.client.get("/api/event?value=1")
    foreign = await create_event_config(world.services, world.other_account.id)
    await world.client.get(f"/api/event?pbk={foreign.pbk}&click_id={click_id}")
    [row] = (await listed(world.services, world.api, world.account))["rows"]
    assert (row["reason"], row["click_id"], row["body"]) == (
        "pbk",
        click_id,
        f'{{"pbk": "wron…", "click_id": "{click_id}"}}',
    )
    assert await world.services.stores.mongodb["refused_postbacks"].count_documents({}) == 2


async def test_all_are_counted_by_reason_and_the_newest_are_kept(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refusals, "MAX_STORED", 3)
    config = await create_event_config(world.services, world.account.id)
    for number in range(5):
        await world.client.get(f"/api/event?pbk={config.pbk}&value=a{number}")
        await world.services.conversions.refusals.store()
    await world.client.get(f"/api/event?pbk={config.pbk}&txid=%5BTID%5D")
    found = await listed(world.services, world.api, world.account)
    assert [row["reason"] for row in found["rows"]] == ["transaction_id", "value", "value"]
    assert found["counts"] == [
        {"reason": "value", "count": 5},
        {"reason": "transaction_id", "count": 1},
    ]
    by_reason = await listed(world.services, world.api, world.account, "&reason=value&pageSize=1")
    assert by_reason["pagination"]["totalRows"] == 2
    assert by_reason["rows"][0]["query"].endswith("value=a4")


async def test_a_part_of_the_request_finds_it_however_it_was_encoded(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    click_id = str(new_id())
    for sent in (f"click_id={click_id.upper()}", "txid=A.1%20b&order=(5", "txid=A21+b"):
        await world.client.get(f"/api/event?pbk={config.pbk}&value=x&{sent}")
    await world.client.post("/api/event", f'{{"pbk": "{config.pbk}", "value": "in body"}}'.encode())
    for search, found in (
        (click_id, [click_id.upper()]),
        ("a.1%20B", ["A.1"]),  # no pattern: its dot is a dot
        ("a21%20B", ["A21"]),
        ("%285", ["A.1"]),
        ("in%20body", [""]),
        ("%00", None),
        (config.pbk, []),
    ):
        query = f"&search={search}"
        if found is None:
            refused = await world.api.get(
                f"/api/refused-postbacks?accountId={world.account.id}{query}"
            )
            assert refused.status == 400
            continue
        rows = (await listed(world.services, world.api, world.account, query))["rows"]
        assert [one in row["query"] for one, row in zip(found, rows, strict=True)] == [True] * len(
            found
        ), search


async def test_seven_days_are_kept_and_counted(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    today = now()
    monkeypatch.setattr(refusals, "now", lambda: today)
    for days_ago in (7, 6, 0):
        at = today - timedelta(days=days_ago)
        monkeypatch.setattr(refusals, "now_ms", lambda at=at: int(at.timestamp() * 1000))
        await world.client.get(f"/api/event?pbk={config.pbk}&value=a")
        await world.services.conversions.refusals.store()
    found = await listed(world.services, world.api, world.account)
    assert found["counts"] == [{"reason": "value", "count": 2}]
    indexes = await world.services.stores.mongodb["refused_postbacks"].index_information()
    assert (indexes["expiry"]["key"], indexes["expiry"]["expireAfterSeconds"]) == (
        [("at", 1)],
        timedelta(days=refusals.STORED_DAYS).total_seconds(),
    )


async def test_what_was_sent_under_an_alias_counts_as_its_parameter(world: World) -> None:
    aliases = {"cid": "click_id", "rate": "value", "tid": "transaction_id"}
    config = await create_event_config(world.services, world.account.id, parameter_aliases=aliases)
    for query in ("cid={x}", "rate=much", "rate=1&value=2", "tid={tid}"):
        refused = await world.client.get(f"/api/event?pbk={config.pbk}&{query}")
        assert refused.status == 400
    assert (await listed(world.services, world.api, world.account))["counts"] == [
        {"reason": "value", "count": 2},
        {"reason": "click_id", "count": 1},
        {"reason": "transaction_id", "count": 1},
    ]


async def test_what_the_service_could_not_do_and_other_accounts_are_not_listed(
    world: World,
) -> None:
    other = await create_event_config(world.services, world.other_account.id)
    await world.client.get(f"/api/event?pbk={other.pbk}&value=x")
    await world.client.request("PUT", "/api/event")
    own = await create_event_config(world.services, world.account.id)
    for error in (Unavailable("database: unavailable"), MethodNotAllowed("GET")):
        world.services.conversions.refusals.record("GET", f"pbk={own.pbk}".encode(), b"", error)
    assert (await listed(world.services, world.api, world.account))["rows"] == []
    response = await world.api.get(f"/api/refused-postbacks?accountId={world.other_account.id}")
    assert response.status == 403


async def test_beyond_its_bound_requests_are_dropped_and_counted(services: Services) -> None:
    before = POSTBACKS_NOT_STORED._value.get()
    for _ in range(refusals.MAX_WAITING + 2):
        services.conversions.refusals.record("GET", b"pbk=a", b"", BadRequest("value: no"))
    assert POSTBACKS_NOT_STORED._value.get() == before + 2


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (BadRequest("pbk: unknown"), "pbk"),
        (BadRequest("txid: an unfilled macro"), "transaction_id"),
        (BadRequest("pbk or click_id: at least one is required"), "request"),
        (BadRequest("body: must be a JSON object"), "request"),
        (BadRequest("{$where}: x"), "request"),
        (RateLimited("pbk: too many", 60), "rate"),
        (PayloadTooLarge("value: too long"), "request"),
    ],
    ids=repr,
)
def test_the_reason_is_one_of_a_closed_list(error: TrackerError, reason: str) -> None:
    assert refusals.reason_of(error) == reason
