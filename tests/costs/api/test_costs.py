"""Costs of periods by API: entered, replaced, listed, restored and deleted."""

from typing import Any

import orjson
import pytest

from tests.conversions.scene import applied
from tests.factories import create_link, make_click
from tests.web.client import Response
from tests.web.world import World
from tracker.clock import start_of
from tracker.costs import store

ROW = {
    "from": "2026-11-28",
    "to": "2026-11-28",
    "filter": {"utm_campaign": "spring"},
    "amount": 120.5,
}


async def put(world: World, *rows: dict[str, Any]) -> Response:
    body = {"accountId": str(world.account.id), "rows": list(rows)}
    return await world.api.send("PUT", "/api/costs", orjson.dumps(body))


async def listed(world: World, **query: str) -> list[dict[str, Any]]:
    texts = "".join(f"&{name}={value}" for name, value in query.items())
    answer = await world.api.get(f"/api/costs?accountId={world.account.id}{texts}")
    rows: list[dict[str, Any]] = answer.json()["rows"]
    return rows


async def test_a_running_total_replaces_the_earlier_amount_and_the_same_changes_nothing(
    world: World,
) -> None:
    other = {**ROW, "filter": {"utm_campaign": "summer"}}
    first = (await put(world, ROW, other)).json()["rows"]
    assert [one["outcome"] for one in first] == ["created", "created"]
    again = (await put(world, other, {**ROW, "amount": 130})).json()["rows"]
    assert [one["outcome"] for one in again] == ["unchanged", "replaced"]
    assert [one["id"] for one in again] == [first[1]["id"], first[0]["id"]]
    [_, found] = await listed(world)
    assert (found["amount"], found["revision"], found["clicks"]) == (130, 2, 0)
    assert (found["filter"], found["name"]) == ({"utm_campaign": "spring"}, "spring")
    [earlier] = found["history"]
    assert (earlier["amount"], earlier["revision"]) == (120.5, 1)
    audit = await world.api.get(f"/api/audit?accountId={world.account.id}&action=cost.stored")
    shown = [(one["target"]["name"], one["changes"]) for one in audit.json()["rows"]]
    assert shown == [
        ("2 costs", {"replaced": {"before": None, "after": 1}}),
        ("2 costs", {"created": {"before": None, "after": 2}}),
    ]


async def test_an_earlier_amount_is_restored_as_a_change(world: World) -> None:
    [made] = (await put(world, ROW)).json()["rows"]
    await put(world, {**ROW, "amount": 0})
    path, account = f"/api/costs/{made['id']}", {"accountId": str(world.account.id)}
    restored = (await world.api.post(f"{path}/restore", **account, revision=1)).json()
    assert (restored["amount"], restored["revision"]) == (120.5, 3)
    assert [one["amount"] for one in restored["history"]] == [120.5, 0]
    assert (await world.api.get(f"{path}?accountId={world.account.id}")).json() == restored
    unknown = await world.api.post(f"{path}/restore", **account, revision=9)
    assert unknown.error == "revision: must be one of the cost's history"


async def test_a_cost_keeps_a_bounded_history(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_HISTORY", 2)
    for amount in range(5):
        await put(world, {**ROW, "amount": amount})
    [found] = await listed(world)
    assert [one["amount"] for one in found["history"]] == [2, 3]


async def test_costs_are_listed_by_period_with_the_clicks_that_each_meets(world: World) -> None:
    link = await create_link(world.services, world.account.id, "a")
    by_link = {"filter": {"link": str(link.id)}}
    hours = {"from": "2026-11-29T09", "to": "2026-11-30T00"}
    await put(world, ROW | by_link, ROW | by_link | hours)
    assert len(await listed(world, **{"from": "2026-11-28", "to": "2026-11-28"})) == 1
    [found] = await listed(world, **{"from": "2026-11-30"})
    assert (found["from"], found["to"]) == ("2026-11-29T09", "2026-11-30T00")
    assert found["name"] == link.internal_name
    assert await listed(world, **{"from": "2026-12-01"}) == []


async def test_an_invalid_row_is_named_with_its_number_and_nothing_is_stored(world: World) -> None:
    foreign = await create_link(world.services, world.other_account.id, "b")
    unknown = "00000000-0000-4000-8000-000000000000"
    day = "must be a day such as 2026-11-28, or an hour such as 2026-11-28T09"
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"amount": -1}, "rows[1].amount: must be from 0 to 1000000000000"),
        ({"amount": 0.1234567}, "rows[1].amount: at most 6 decimals"),
        ({"amount": "1"}, "rows[1].amount: must be a number"),
        ({"amount": True}, "rows[1].amount: must be a number"),
        ({"from": "yesterday"}, f"rows[1].from: {day}"),
        ({"to": "2026-11-28T24"}, f"rows[1].to: {day}"),
        ({"to": "2026-11-28T23"}, "rows[1].to: must be a day if from is one, else an hour"),
        ({"to": "2026-11-27"}, "rows[1].from: must not be after to"),
        ({"to": "2029-11-27"}, "rows[1].to: at most 731 days, from and to included"),
        ({"filter": {}}, "rows[1].filter: "),
        ({"filter": {"country": "DE"}}, "rows[1].filter: must have one of link, tag, referrer"),
        ({"filter": {"link": "x"}}, "rows[1].filter.link: must be an id"),
        ({"filter": {"link": unknown}}, "rows[1].filter.link: not found"),
        ({"filter": {"tag": unknown}}, "rows[1].filter.tag: not found"),
        ({"filter": {"link": str(foreign.id)}}, "rows[1].filter.link: belongs to another account"),
        ({"filter": {"utm_term": " "}}, "rows[1].filter.utm_term: 1 to 255 characters"),
        ({"currency": "euro"}, "rows[1].currency: must be three letters such as EUR"),
        ({"currency": "eur"}, "rows[1].currency: the account has no currency; set it first"),
        ({"currencies": "EUR"}, "rows[1].currencies: "),
        ({"filter": {"utm_campaign": "a"}}, "rows[1]: an earlier row has the same period"),
    )

    for changed, error in cases:
        answer = await put(world, {**ROW, "filter": {"utm_campaign": "a"}}, ROW | changed)
        assert answer.status in (400, 403, 404)
        assert answer.error.startswith(error), answer.error
    assert await listed(world) == []


async def test_other_currencies_are_kept_and_the_own_one_is_the_default(world: World) -> None:
    accounts = world.services.stores.mongodb["accounts"]
    await accounts.update_one({"_id": world.account.id}, {"$set": {"currency": "EUR"}})
    other = {**ROW, "filter": {"utm_campaign": "a"}, "currency": "usd"}
    await put(world, {**ROW, "currency": "EUR"}, other)
    assert [one["currency"] for one in await listed(world)] == ["USD", None]
    assert (await put(world, ROW)).json()["rows"][0]["outcome"] == "unchanged"


async def test_an_account_has_a_limit_of_costs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_OF_ACCOUNT", 1)
    await put(world, ROW)
    more = await put(world, ROW, {**ROW, "from": "2026-11-27"})
    assert more.error == "rows: an account has at most 1 costs"
    assert (await put(world, {**ROW, "amount": 7})).status == 200


async def test_a_cost_may_be_of_clicks_by_one_of_the_accounts_own_parameters(world: World) -> None:
    row: dict[str, Any] = {**ROW, "filter": {"parameter:sub1": "red"}}
    accounts = world.services.accounts.accounts
    await accounts.set_parameters(world.account.id, ["sub1"])
    at = int(start_of(row["from"]).timestamp() * 1000)
    queries = [f"sub1={value}" for value in ("red", "red", "blue", "")]
    clicks = [make_click(world.account.id, at=at, query=query) for query in queries]
    await applied(world.services, clicks)
    [made] = (await put(world, row)).json()["rows"]
    assert made["outcome"] == "created"
    [found] = await listed(world)
    assert (found["filter"], found["name"], found["clicks"]) == (row["filter"], "red", 2)
    await accounts.set_parameters(world.account.id, ["place"])
    [found] = await listed(world)
    assert (found["filter"], found["name"], found["clicks"]) == (row["filter"], "red", 0)
    assert (await put(world, row)).error == ("rows[0].filter: the account has no parameter sub1")
    longest = {**row, "filter": {"parameter:place": "a" * 256}}
    assert (await put(world, longest)).status == 200
    assert "1 to 256" in (await put(world, {**row, "filter": {"parameter:place": "a" * 257}})).error
